"""PK1xx: is the patch text sound and safe? Patch in, findings out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from patchkit.errors import PatchError
from patchkit.model import ChangeKind, FilePatch, Finding, Hunk, HunkLine, LineKind, Patch, Severity
from patchkit.patchtext import read_patch

_PLAIN_MODES = ("", "100644", "100755")
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_DIRECTION = re.compile(b"\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")  # U+202A to U+202E, U+2066 to U+2069
_MARKER = re.compile(rb"(<{7}|>{7}|\|{7})( |\r?\n)")
_DRIVE = re.compile(r"[A-Za-z]:")
_FULL_ID = 40


def lint_text(raw: bytes, *, name: str = "") -> tuple[Patch | None, tuple[Finding, ...]]:
    """Read a patch file and return it, or None if it cannot be read, with every fault of its text."""
    try:
        patch = read_patch(raw, name=name)
    except PatchError as error:
        return None, (finding_of(error),)
    return patch, tuple(find_text_faults(patch, name=name))


def find_text_faults(patch: Patch, *, name: str = "") -> Iterator[Finding]:
    """Yield what is wrong with a patch that can be read: unsafe names and modes, doubles, markers, weak ids."""
    for section in patch.files:
        for rule, message, line, hint in _section_faults(section):
            yield Finding(
                rule, _severity(rule), message, path=section.path, patch_file=name, patch_line=line, hint=hint
            )
    yield from _doubles(patch.files, name)


def refuse_faults(patch: Patch, *, name: str = "") -> None:
    """Raise the first fault that is an error, as a PatchError."""
    for finding in find_text_faults(patch, name=name):
        if finding.severity is Severity.ERROR:
            where = f"{finding.patch_file or '<patch>'}:{finding.patch_line}"
            raise PatchError(finding.message, rule=finding.rule, where=where, hint=finding.hint)


def finding_of(error: PatchError) -> Finding:
    """Return a PatchError of the reader as a finding."""
    file, _, line = error.where.rpartition(":")
    return Finding(
        error.rule,
        Severity.ERROR,
        error.what,
        patch_file=file,
        patch_line=int(line) if line.isdigit() else 0,
        found=error.found,
        hint=error.hint,
    )


Fault = tuple[str, str, int, str]  # rule, message, line of the patch, mend


def _section_faults(section: FilePatch) -> Iterator[Fault]:
    yield from _path_faults(section)
    yield from _mode_faults(section)
    yield from _order_faults(section)
    for hunk in section.hunks:
        yield from _line_faults(hunk)
    yield from _id_faults(section)


def _severity(rule: str) -> Severity:
    return Severity.WARNING if rule in ("PK130", "PK131") else Severity.ERROR


def unsafe_path(path: str) -> tuple[str, str] | None:
    """Return the rule that a path breaks and how, or None. Source: git path.c, verify_path(), and more."""
    if "\0" in path:
        return "PK119", "a NUL byte in a name"
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        return "PK111", f"refuses to write '{path}': an absolute path"
    parts = re.split(r"[/\\]" if ".." in path or ".git" in path.lower() else "/", path)
    if ".." in parts or "." in parts or "" in parts:
        return "PK111", f"refuses to write '{path}': outside the tree"
    if any(_is_git_folder(part) for part in parts):
        return "PK112", f"refuses to write '{path}': inside .git"
    if _DIRECTION.search(path.encode("utf-8", "surrogateescape")):
        return "PK118", f"a direction control in the name {path!r}"
    if any(part.startswith(".patchkit") for part in parts):
        return "PK112", f"refuses to write '{path}': patchkit's own folder"
    return None


def _is_git_folder(part: str) -> bool:
    """Whether a file system may take the name for .git: any case, HFS, NTFS streams and short names."""
    plain = _IGNORED_BY_HFS.sub("", part).lower()
    return bool(re.match(r"\.git([ .]*$|[ .]*:)|git~[0-9]+$", plain)) or plain in (".gitmodules",)


def _path_faults(section: FilePatch) -> Iterator[Fault]:
    for path in dict.fromkeys((section.old_path, section.new_path)):
        fault = unsafe_path(path)
        if fault:
            yield (*fault, section.patch_line, "take the section out of the patch")


def _mode_faults(section: FilePatch) -> Iterator[Fault]:
    for mode in (section.old_mode, section.new_mode):
        if mode not in _PLAIN_MODES:
            kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(mode, f"mode {mode}")
            yield (
                "PK116",
                f"{section.path}: {kind}; only files of mode 100644 and 100755 are patched",
                section.patch_line,
                "",
            )
            return


def _order_faults(section: FilePatch) -> Iterator[Fault]:
    for above, below in pairwise(section.hunks):
        if below.old_start < above.old_start + len(above.preimage):
            yield (
                "PK114",
                f"{below.name} overlaps the hunk above it",
                below.patch_line,
                "make the patch again with `git diff`",
            )


def _line_faults(hunk: Hunk) -> Iterator[Fault]:
    """Conflict markers and direction controls in what the hunk adds."""
    number = hunk.patch_line
    for line in hunk.lines:
        number += 1
        if line.kind is LineKind.ADDED:
            if _MARKER.match(line.text):
                yield (
                    "PK115",
                    f"{hunk.name} adds a conflict marker",
                    number,
                    "resolve the conflict and make the patch again",
                )
            if _DIRECTION.search(line.text):
                yield "PK118", f"{hunk.name} adds a direction control", number, "write it as an escape"
        number += _is_marked(line)


def _is_marked(line: HunkLine) -> bool:
    return line.spelling.startswith(b"\\ ")


def _id_faults(section: FilePatch) -> Iterator[Fault]:
    ids = (section.preimage_id, section.postimage_id)
    if not all(ids):
        if section.hunks:
            yield (
                "PK131",
                f"{section.path}: no index line, so its base cannot be proven",
                section.patch_line,
                _FULL_INDEX,
            )
    elif any(len(stated) < _FULL_ID for stated in ids):
        yield "PK130", f"{section.path}: abbreviated ids", section.patch_line, _FULL_INDEX


_FULL_INDEX = "make the patch with `git diff --full-index`"


def _doubles(sections: Sequence[FilePatch], name: str) -> Iterator[Finding]:
    """A file that two sections write, or that one moves away and another one changes."""
    written: dict[str, FilePatch] = {}
    for section in sections:
        for path in _written(section):
            first = written.setdefault(path, section)
            if first is not section and not _is_swap(first, section):
                yield Finding(
                    "PK113",
                    Severity.ERROR,
                    f"{path} is patched twice",
                    path=path,
                    patch_file=name,
                    patch_line=section.patch_line,
                    found=f"the first time in line {first.patch_line}",
                    hint="one section a file: make the patch again with `git diff`",
                )


def _written(section: FilePatch) -> Iterable[str]:
    return dict.fromkeys(
        (section.new_path,) if section.kind is ChangeKind.COPY else (section.old_path, section.new_path)
    )


def _is_swap(first: FilePatch, second: FilePatch) -> bool:
    """Whether one of two renames takes the place that the other leaves."""
    if not first.kind == second.kind == ChangeKind.RENAME:
        return False
    return first.old_path != second.old_path and first.new_path != second.new_path
