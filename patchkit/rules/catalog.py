"""Every rule id with what it means, why it is one, and how to mend what breaks it; `explain` shows it."""

from typing import NamedTuple


class Rule(NamedTuple):
    """One rule. title: what is wrong. why: what happened to those who let it pass. mend: what to do."""

    title: str
    why: str
    mend: str


TEXT = {
    "PK101": Rule(
        "no diff in the file",
        "An empty file, a web page, a Git LFS pointer or an indented copy holds nothing to apply; unidiff reads each "
        "of them as a patch of 0 files, and a loop over 0 files succeeds.",
        "Fetch the file again, as it is (raw, unpacked), or make it with `git diff --full-index`.",
    ),
    "PK102": Rule(
        "a hunk does not fit the counts in its header",
        "git drops what lies beyond the counts without a word: an added line is lost and the exit status is 0. Counts "
        "edited by hand are the most frequent defect of committed patches.",
        "Write the header that the message proposes, or make the patch again with `git diff`.",
    ),
    "PK103": Rule(
        "a hunk header is damaged",
        "git takes it for garbage and skips the hunk with exit 0; numbers too large for it wrap around and apply.",
        "Write it as `@@ -START,COUNT +START,COUNT @@`.",
    ),
    "PK104": Rule(
        "text that belongs to no section",
        "git skips it without a word, and with it the hunk or section that it has cut off.",
        "Delete the line. A message belongs before the first `diff --git`, a signature after `-- `.",
    ),
    "PK105": Rule(
        "the last line has no line feed",
        "The patch was cut off, or an editor stripped its end; git calls it corrupt.",
        "End it with a line feed; if the file is cut off, fetch it again.",
    ),
    "PK106": Rule("a hunk changes nothing", "It has context only; git calls the patch corrupt.", "Delete the hunk."),
    "PK107": Rule(
        "a combined diff",
        "The diff of a merge against both parents cannot be applied; git skips it without a word.",
        "Make it against one parent: `git diff A B`.",
    ),
    "PK108": Rule(
        "a context diff",
        "git skips it without a word where a good section follows.",
        "Make it with `diff -u` or `git diff`.",
    ),
    "PK109": Rule(
        "a section changes nothing",
        "It has neither hunk, mode nor name to change: a hunk was lost, or the section should not be there.",
        "Delete the section, or make the patch again.",
    ),
    "PK110": Rule(
        "the head of a section contradicts itself, or names no file",
        "Depending on the line, git refuses it, renames the file, writes a file named dev/null, or aborts (SIGABRT).",
        "Make the patch again with `git diff`; never edit names by hand.",
    ),
    "PK111": Rule(
        "a path leads out of the tree",
        "Absolute, with a drive letter or with `..`; git reads `copy from ../x` from outside of the tree.",
        "Take the section out; patches name files below the checkout.",
    ),
    "PK112": Rule(
        "a path leads into .git, .gitmodules or .patchkit",
        "Hooks and settings run code. Some file systems take other spellings for .git: any case, ignored characters, "
        "short names, streams.",
        "Take the section out of the patch.",
    ),
    "PK113": Rule(
        "one file is patched twice",
        "The second section was made for a state that nobody can name; git lets the second creation win.",
        "One section a file: make the patch again, or make two topics of it.",
    ),
    "PK114": Rule(
        "hunks overlap or are out of order",
        "The later one matches text that the earlier one has written, or its look-alike further up.",
        "Make the patch again with `git diff`.",
    ),
    "PK115": Rule(
        "a conflict marker",
        "Between sections every tool ignores it, in added lines every tool applies it; seven equal signs alone are "
        "legitimate text.",
        "Resolve the conflict and make the patch again.",
    ),
    "PK116": Rule(
        "a mode other than 100644 and 100755",
        "A symbolic link redirects later writes, a submodule changes nothing and exits 0, setuid has no place in "
        "source, and git lets umask decide over odd modes.",
        "Take the section out; make links and modes in the Dockerfile.",
    ),
    "PK117": Rule(
        "binary data is missing or damaged",
        "After a text section git prints a warning, exits 0 and leaves the binary file as it was.",
        "Make the patch with `git diff --binary --full-index`.",
    ),
    "PK118": Rule(
        "a unicode direction control",
        "It makes a line read otherwise than it runs (CVE-2021-42574).",
        "Delete it, or write it as an escape.",
    ),
    "PK119": Rule("a NUL byte in a name", "git cuts the name there and writes another file.", "Correct the name."),
    "PK120": Rule(
        "a header line is too long",
        "No path is that long; such lines are made to keep a reader busy (unidiff takes seconds for 12 KB).",
        "Do not trust the patch; fetch it again.",
    ),
    "PK130": Rule(
        "abbreviated blob ids",
        "What is unique in one repository is not in another, and two equal patches differ in bytes.",
        "Make the patch with `git diff --full-index`, or `patchkit refresh`.",
    ),
    "PK131": Rule(
        "no index line",
        "Without blob ids nothing proves which upstream the patch was written for, nor that the result is right.",
        "Make the patch with `git diff --full-index`, or `patchkit refresh`.",
    ),
    "PK132": Rule(
        "unidiff reads the patch otherwise than git",
        "Reviewers' bots and scripts are built on it: they would show or count something else than is applied.",
        "Make the patch again with `git diff`; a plain one is read alike.",
    ),
}

RULES: dict[str, Rule] = {**TEXT}
