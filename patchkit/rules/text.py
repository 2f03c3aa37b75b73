"""PK1xx: is the patch text sound and safe? Patch in, findings out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from patchkit.counting import count
from patchkit.errors import PatchError
from patchkit.patch.hunks import ChangeKind, FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.patch.patchtext import count_by_unidiff, read_patch, split_lines

if TYPE_CHECKING:
    from patchkit.model import Finding

_PLAIN_MODES = ("", "100644", "100755")
_IGNORED_BY_HFS = "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]"
_DIRECTION = re.compile(b"\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")  # U+202A to U+202E, U+2066 to U+2069
_MARKER = re.compile(rb"(<{7}|>{7}|\|{7})( |\r?\n)")
_FULL_ID = 40
_FULL_INDEX = "patchkit refresh --canonical; outside of a store: `git diff --full-index`"


WEAK = ("PK130", "PK131")  # a warning: the patch is sound, but cannot be proven as well as it could


class Fault(NamedTuple):
    """One thing that is wrong, light enough for `apply`. line: of the patch file. hint: the mend."""

    rule: str
    message: str
    path: str
    line: int
    hint: str
    found: str = ""


def lint_text(raw: bytes, *, name: str = "") -> "tuple[Patch | None, tuple[Finding, ...]]":
    """Read a patch file and return it, or None if it cannot be read, with every fault of its text."""
    try:
        patch = read_patch(raw, name=name)
    except PatchError as error:
        return None, _unreadable_sections(raw, name) or (finding_of_error(error),)
    return patch, (*find_in_text(patch, name=name), *find_second_readings(patch, raw, name=name))


def find_second_readings(patch: Patch, raw: bytes, *, name: str = "") -> "tuple[Finding, ...]":
    """Return where unidiff reads another number of lines than git; quoted names and binary sections aside."""
    from patchkit.model import Finding, Severity

    counted = count_by_unidiff(raw)
    findings = []
    for section in patch.files:
        ours = (sum(len(hunk.added) for hunk in section.hunks), sum(len(hunk.removed) for hunk in section.hunks))
        theirs = (counted or {}).get(section.path)
        if not section.hunks or theirs == ours or not section.path.isascii() or '"' in section.path:
            continue
        findings.append(
            Finding(
                "PK132",
                Severity.WARNING,
                f"{section.path}: unidiff reads the patch otherwise than git",
                path=section.path,
                patch_file=name,
                patch_line=section.patch_line,
                found=f"unidiff: {_counts(theirs)}; git: {_counts(ours)}",
                hint="make the patch again with `git diff`",
            )
        )
    return tuple(findings)


def _counts(lines: tuple[int, int] | None) -> str:
    return "not in it" if lines is None else f"{lines[0]} added, {lines[1]} removed"


def _unreadable_sections(raw: bytes, name: str) -> "tuple[Finding, ...]":
    """Return the fault of each section that cannot be read by itself: the reader stops at the first."""
    from dataclasses import replace

    lines = split_lines(raw)
    starts = [number for number, line in enumerate(lines) if line.startswith(b"diff --git ")]
    findings = []
    for start, end in pairwise([*([0] if starts else []), *starts[1:], len(lines)]):
        try:
            read_patch(b"".join(lines[start:end]), name=name)
        except PatchError as error:
            finding = finding_of_error(error)
            findings.append(replace(finding, patch_line=finding.patch_line + start))
    return tuple(findings)


def find_in_text(patch: Patch, *, name: str = "") -> "tuple[Finding, ...]":
    """Return what is wrong with a patch that can be read: unsafe names and modes, doubles, markers, weak ids."""
    from patchkit.model import Finding, Severity

    return tuple(
        Finding(
            fault.rule,
            Severity.WARNING if fault.rule in WEAK else Severity.ERROR,
            fault.message,
            path=fault.path,
            patch_file=name,
            patch_line=fault.line,
            found=fault.found,
            hint=fault.hint,
        )
        for fault in find_faults(patch)
    )


def find_faults(patch: Patch) -> Iterator[Fault]:
    """Yield each fault of a patch that can be read."""
    for section in patch.files:
        yield from _section_faults(section)
    yield from _id_faults(patch.files)
    yield from _doubles(patch.files)


def refuse_faults(patch: Patch, *, name: str = "") -> None:
    """Raise the first fault that is more than weak, as a PatchError."""
    for fault in find_faults(patch):
        if fault.rule not in WEAK:
            where = f"{name or '<patch>'}:{fault.line}"
            raise PatchError(fault.message, rule=fault.rule, where=where, found=fault.found, hint=fault.hint)


def finding_of_error(error: PatchError) -> "Finding":
    """Return a PatchError of the reader as a finding."""
    from patchkit.model import Finding, Severity

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


def _section_faults(section: FilePatch) -> Iterator[Fault]:
    yield from _path_faults(section)
    yield from _mode_faults(section)
    yield from _order_faults(section)
    if section.hunks and all(hunk.removed == hunk.added for hunk in section.hunks):
        hint = "take the section out of the patch"
        yield Fault("PK109", f"{section.path}: the section changes nothing", section.path, section.patch_line, hint)
    for hunk in section.hunks:
        yield from _line_faults(hunk)


def unsafe_path(path: str) -> tuple[str, str] | None:
    """Return the rule that a path breaks and how, or None. Source: git path.c, verify_path(), and more."""
    if "\0" in path:
        return "PK119", "a NUL byte in a name"
    if path.startswith(("/", "\\")) or path[1:2] == ":":
        return "PK111", f"refuses to write '{path}': an absolute path"
    parts = path.replace("\\", "/").split("/")
    if ".." in parts or "." in parts or "" in parts:
        return "PK111", f"refuses to write '{path}': outside the tree"
    if any(_is_git_folder(part) for part in parts):
        return "PK112", f"refuses to write '{path}': inside .git"
    if not path.isascii() and _DIRECTION.search(path.encode("utf-8", "surrogateescape")):
        return "PK118", f"a direction control in the name {path!r}"
    if any(part.startswith(".patchkit") for part in parts):
        return "PK112", f"refuses to write '{path}': patchkit's own folder"
    return None


def _is_git_folder(part: str) -> bool:
    """Whether a file system may take the name for .git: any case, HFS, NTFS streams and short names."""
    if "git" not in part.lower() and part.isascii():
        return False
    plain = re.sub(_IGNORED_BY_HFS, "", part).lower()
    return bool(re.match(r"\.git([ .]*$|[ .]*:)|git~[0-9]+$", plain)) or plain in (".gitmodules",)


def _path_faults(section: FilePatch) -> Iterator[Fault]:
    for path in dict.fromkeys((section.old_path, section.new_path)):
        broken = unsafe_path(path)
        if broken:
            yield Fault(*broken, path, section.patch_line, "take the section out of the patch")


def _mode_faults(section: FilePatch) -> Iterator[Fault]:
    for mode in (section.old_mode, section.new_mode):
        if mode not in _PLAIN_MODES:
            kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(mode, f"mode {mode}")
            message = f"{section.path}: {kind}; only files of mode 100644 and 100755 are patched"
            yield Fault("PK116", message, section.path, section.patch_line, "take the section out of the patch")
            return


def _order_faults(section: FilePatch) -> Iterator[Fault]:
    for above, below in pairwise(section.hunks):
        if below.old_start < above.old_start + above.old_count:
            message = f"{below.name} overlaps the hunk above it"
            yield Fault("PK114", message, section.path, below.patch_line, "make the patch again with `git diff`")


def _line_faults(hunk: Hunk) -> Iterator[Fault]:
    """Conflict markers and direction controls in what the hunk adds."""
    for line in hunk.lines:
        if line.kind is not LineKind.ADDED:
            continue
        if _MARKER.match(line.text):
            hint = "resolve the conflict and make the patch again"
            yield Fault("PK115", f"{hunk.name} adds a conflict marker", hunk.path, _line_of(hunk, line), hint)
        if _DIRECTION.search(line.text):
            hint = "write it as an escape"
            yield Fault("PK118", f"{hunk.name} adds a direction control", hunk.path, _line_of(hunk, line), hint)


def _line_of(hunk: Hunk, line: HunkLine) -> int:
    """Return the line of the patch file that this very line of the hunk is."""
    number = hunk.patch_line + 1
    for above in hunk.lines:
        if above is line:
            break
        number += 2 if above.spelling.startswith(b"\\ ") else 1
    return number


def _id_faults(sections: Sequence[FilePatch]) -> Iterator[Fault]:
    """Yield one fault for all files: who made the patch made each section in the same way."""
    without = [each for each in sections if each.hunks and not (each.preimage_id and each.postimage_id)]
    if without:
        yield _of_all("PK131", without, "no index line, so the base cannot be proven")
    short = [each for each in sections if 0 < min(len(each.preimage_id or ""), len(each.postimage_id or "")) < _FULL_ID]
    if short:
        yield _of_all("PK130", short, "abbreviated ids")


def _of_all(rule: str, sections: Sequence[FilePatch], fault: str) -> Fault:
    first, *others = sections
    also = f" and {count(len(others), 'more file')}" if others else ""
    message = f"{first.path}{also}: {fault}"
    return Fault(rule, message, first.path, first.patch_line, _FULL_INDEX)


def _doubles(sections: Sequence[FilePatch]) -> Iterator[Fault]:
    """A file that two sections write, or that one moves away and another one changes."""
    written: dict[str, FilePatch] = {}
    for section in sections:
        for path in _written(section):
            first = written.setdefault(path, section)
            if first is not section and not _is_swap(first, section):
                found = f"the first time in line {first.patch_line}"
                hint = "one section a file: make the patch again with `git diff`"
                yield Fault("PK113", f"{path} is patched twice", path, section.patch_line, hint, found)


def _written(section: FilePatch) -> Iterable[str]:
    return dict.fromkeys(
        (section.new_path,) if section.kind is ChangeKind.COPY else (section.old_path, section.new_path)
    )


def _is_swap(first: FilePatch, second: FilePatch) -> bool:
    """Whether one of two renames takes the place that the other leaves."""
    if not first.kind == second.kind == ChangeKind.RENAME:
        return False
    return first.old_path != second.old_path and first.new_path != second.new_path
