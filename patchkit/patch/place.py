"""Where a hunk lands in a text: exact, offset, nowhere, ambiguous; and a file's bytes after its hunks."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.patch.binary import apply_block
from patchkit.patch.hunks import ChangeKind, FilePatch, Hunk, LineKind, Place, Placement
from patchkit.patch.patchtext import blob_id, split_lines


class Landing(NamedTuple):
    """Where the hunks above this one have landed in the same file.

    floor: index from 0 of the first line below the last of them.
    growth: lines that they added less lines that they removed.
    drift: the last one's offset.
    """

    floor: int = 0
    growth: int = 0
    drift: int = 0


TOP = Landing()


class FileResult(NamedTuple):
    """One file after its section of a patch.

    before, after: whole; None where the file does not exist on that side. Where something failed, after = before.
    placements: one a hunk, in order; each is against `before`.
    fault: why the section as a whole does not apply ("no such file", ...); empty where hunks decide.
    """

    section: FilePatch
    before: bytes | None
    after: bytes | None
    placements: tuple[Placement, ...] = ()
    fault: str = ""

    @property
    def ok(self) -> bool:
        """Whether the section applies as a whole."""
        return not self.fault and not self.failed

    @property
    def failed(self) -> tuple[Hunk, ...]:
        """The hunks without a place."""
        pairs = zip(self.section.hunks, self.placements, strict=False)
        return tuple(hunk for hunk, placement in pairs if placement.at is None)


def place_hunk(
    hunk: Hunk,
    lines: Sequence[bytes],
    landing: Landing = TOP,
    *,
    allowed: Collection[int] | None = None,
    twins: bool = True,
) -> Placement:
    """Return where the hunk lands in a file's lines, given where those above it did.

    Every preimage line must match byte for byte: fuzz is 0. A hunk that starts at line 0 or 1 must match at the
    beginning, one without trailing context at the end of the file. The nearest match to the stated line wins.
    AMBIGUOUS where two are equally near (git takes the lower without a word), where "nearest" depends on
    whether the drift of the hunk above is counted in (GNU patch does, git does not) or on which of the two
    stated line numbers is believed, and where the nearest stands above the hunk before it.

    lines: the file's lines before the patch, with their line feeds; lines[0] is line 1.
    allowed: the indexes that may be taken, such as those within the scope that a manifest records; None: all.
    twins: tell every other index at which the preimage stands, also where the stated one is beyond doubt; that
        takes a search through the whole file.
    Source: git apply.c, find_pos() and match_fragment(); the tie was measured on git 2.39.5.
    """
    preimage = hunk.preimage
    stated = _stated(hunk, landing)
    if not twins and allowed is None and _is_beyond_doubt(hunk, preimage, lines, landing):
        return Placement(Place.EXACT, stated, 0, (stated,))
    candidates = tuple(at for at in _matches(hunk, preimage, lines) if allowed is None or at in allowed)
    below = tuple(at for at in candidates if at >= landing.floor)
    if not below:
        return Placement(Place.NOWHERE, candidates=candidates)
    at: int | None = candidates[0]
    if len(candidates) > 1:
        old = hunk.old_start - 1 if preimage else hunk.old_start
        nearest = {_nearest(candidates, wanted + drift) for wanted in (stated, old) for drift in (0, landing.drift)}
        at = nearest.pop()
        if nearest or at is None or at < landing.floor:
            return Placement(Place.AMBIGUOUS, candidates=candidates)
    assert at is not None
    return Placement(Place.EXACT if at == stated else Place.OFFSET, at, at - stated, candidates)


def land(hunk: Hunk, placement: Placement, landing: Landing) -> Landing:
    """Return the landing for the next hunk, after this one was placed (or has no place)."""
    if placement.at is None or placement.offset is None:
        return landing
    growth = landing.growth + hunk.new_count - hunk.old_count
    return Landing(placement.at + hunk.old_count, growth, placement.offset)


def place_hunks(hunks: Sequence[Hunk], lines: Sequence[bytes], *, twins: bool = True) -> tuple[Placement, ...]:
    """Return a placement for each hunk of one file, in order; one that fails does not stop the others."""
    placements = []
    landing = TOP
    for hunk in hunks:
        placement = place_hunk(hunk, lines, landing, twins=twins)
        landing = land(hunk, placement, landing)
        placements.append(placement)
    return tuple(placements)


def replace_lines(hunks: Sequence[Hunk], placements: Sequence[Placement], lines: Sequence[bytes]) -> bytes:
    """Return the file's bytes with each placed hunk in it; hunks without a place are left out."""
    pieces: list[bytes] = []
    done = 0
    for hunk, placement in zip(hunks, placements, strict=True):
        if placement.at is None:
            continue
        pieces += lines[done : placement.at]
        pieces += hunk.postimage
        done = placement.at + hunk.old_count
    return b"".join([*pieces, *lines[done:]])


def apply_file(
    section: FilePatch, before: bytes | None, *, target: bytes | None = None, twins: bool = True
) -> FileResult:
    """Return the file after its section: all of it, or unchanged and with the reason.

    before: the content at the section's old path (for a created file: at its path).
    target: for a rename or copy, the content that already stands at the new path.
    twins: as for place_hunk().
    """
    fault = _existence_fault(section, before, target)
    if fault:
        return FileResult(section, before, before, fault=fault)
    if section.binary:
        return _apply_binary(section, before)
    lines = split_lines(before or b"")
    placements = place_hunks(section.hunks, lines, twins=twins)
    if any(placement.at is None for placement in placements):
        return FileResult(section, before, before, placements)
    after = replace_lines(section.hunks, placements, lines)
    if section.kind is ChangeKind.DELETE:
        if after:
            return FileResult(section, before, before, placements, "the file has more lines than the patch deletes")
        return FileResult(section, before, None, placements)
    return FileResult(section, before, after, placements)


def apply_sections(
    sections: Sequence[FilePatch], files: Mapping[str, bytes | None], *, twins: bool = False
) -> tuple[FileResult, ...]:
    """Return each section's result; every one is against `files` as given, as git does it.

    files: the content of every path that the sections name; None or missing: there is no such file.
    twins: as for place_hunk().
    """
    vacated = {section.old_path for section in sections if section.kind in (ChangeKind.DELETE, ChangeKind.RENAME)}
    results = []
    for section in sections:
        is_created = section.kind is ChangeKind.CREATE and section.path in vacated
        before = None if is_created else files.get(section.old_path)
        target = None if section.new_path in vacated else files.get(section.new_path)
        results.append(apply_file(section, before, target=target, twins=twins))
    return tuple(results)


def files_after(results: Sequence[FileResult], files: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the files with the results in place; sections that failed change nothing."""
    after = dict(files)
    done = [result for result in results if result.ok]
    for result in done:
        if result.section.kind in (ChangeKind.DELETE, ChangeKind.RENAME):
            after[result.section.old_path] = None
    for result in done:
        if result.section.kind is not ChangeKind.DELETE:
            after[result.section.new_path] = result.after
    return after


# -- placing ------------------------------------------------------------------------------------------------


def _stated(hunk: Hunk, landing: Landing) -> int:
    """Return the index where the patch says that the hunk begins, in the lines before the patch; as git reads it."""
    return (hunk.new_start - 1 if hunk.new_start else 0) - landing.growth


def _is_beyond_doubt(hunk: Hunk, preimage: Sequence[bytes], lines: Sequence[bytes], landing: Landing) -> bool:
    """Whether all opinions on where to look agree on an index, and the hunk stands right there."""
    stated = _stated(hunk, landing)
    if landing.drift or not preimage or stated != hunk.old_start - 1 or stated < landing.floor:
        return False
    if hunk.lines[-1].kind is not LineKind.CONTEXT and stated + len(preimage) != len(lines):
        return False
    return _stands_at(lines, preimage, stated)


def _nearest(candidates: Sequence[int], wanted: int) -> int | None:
    """Return the candidate nearest to an index; None if two are equally near."""
    distance = min(abs(at - wanted) for at in candidates)
    found = [at for at in candidates if abs(at - wanted) == distance]
    return found[0] if len(found) == 1 else None


def _matches(hunk: Hunk, preimage: Sequence[bytes], lines: Sequence[bytes]) -> Iterator[int]:
    """Yield each index at which the whole preimage stands and the hunk's anchors hold."""
    last = len(lines) - len(preimage)
    if last < 0:
        return
    at_start = hunk.old_start <= 1
    at_end = not hunk.lines or hunk.lines[-1].kind is not LineKind.CONTEXT
    starts: Iterable[int] = range(last + 1)
    if at_start:
        starts = [0] if not at_end or last == 0 else []
    elif at_end:
        starts = [last]
    elif preimage:
        starts = _positions(lines, preimage[0], last)
    for at in starts:
        if _stands_at(lines, preimage, at):
            yield at


def _positions(lines: Sequence[bytes], wanted: bytes, last: int) -> Iterator[int]:
    """Yield each index up to `last` at which the line stands; list.index is several times faster than a loop."""
    at = -1
    while at < last:
        try:
            at = lines.index(wanted, at + 1, last + 1)
        except ValueError:
            return
        yield at


def _stands_at(lines: Sequence[bytes], preimage: Sequence[bytes], at: int) -> bool:
    return tuple(lines[at : at + len(preimage)]) == preimage


# -- whole files --------------------------------------------------------------------------------------------


def _existence_fault(section: FilePatch, before: bytes | None, target: bytes | None) -> str:
    """Return why the section cannot apply to a file that is there, or is not."""
    match section.kind:
        case ChangeKind.CREATE:
            return "the file exists already" if before is not None else ""
        case ChangeKind.RENAME | ChangeKind.COPY:
            if target is not None and section.new_path != section.old_path:
                return "the file exists already"
        case ChangeKind.MODIFY | ChangeKind.DELETE | ChangeKind.MODE:
            pass
    return "no such file" if before is None else ""


def _apply_binary(section: FilePatch, before: bytes | None) -> FileResult:
    """A binary section applies only to the very content that its index line names. Source: apply_binary()."""
    present = blob_id(before) if before is not None else "0" * 40
    if len(section.preimage_id) != 40 or len(section.postimage_id) != 40:
        return FileResult(section, before, before, fault="a binary change without full ids on its index line")
    if section.preimage_id != present:
        return FileResult(section, before, before, fault="the binary content is not the one the patch is written for")
    if not section.binary_blocks:
        return FileResult(section, before, before, fault="binary data is missing")
    if section.kind is ChangeKind.DELETE:
        return FileResult(section, before, None)
    after = apply_block(section.binary_blocks[0], before or b"")
    if after is None or blob_id(after) != section.postimage_id:
        return FileResult(section, before, before, fault="the binary data does not give the content it promises")
    return FileResult(section, before, after)


# -- telling why --------------------------------------------------------------------------------------------


def describe_miss(hunk: Hunk, lines: Sequence[bytes]) -> str:
    """Return why a hunk has no place, in the user's words: the first line that differs where it should stand."""
    if hunk.preimage and not hunk.preimage[-1].endswith(b"\n"):
        at = _first_stand(lines, (*hunk.preimage[:-1], hunk.preimage[-1] + b"\n"))
        if at is not None:
            return f"the patch expects no final line feed after line {at + hunk.old_count}; git would join lines"
    for alike, what in ((bytes, ""), (_without_cr, "line endings"), (_without_space, "white space")):
        wanted = tuple(alike(text) for text in hunk.preimage)
        at = _first_stand([alike(text) for text in lines], wanted)
        if at is not None and what:
            return f"only the {what} of lines {at + 1} to {at + len(wanted)} differ from it"
        if at is not None and tuple(_matches(hunk, hunk.preimage, lines)):
            return f"stands at line {at + 1}, above the hunk before it"
        if at is not None:
            return f"stands at line {at + 1}, but must be at the beginning or the end of the file"
    at = max(hunk.old_start - 1, 0)
    for number, text in enumerate(hunk.preimage, start=at):
        if number >= len(lines):
            return f"the file ends at line {len(lines)}, the patch expects {_shown(text)}"
        if lines[number] != text:
            return f"line {number + 1} is {_shown(lines[number])}, the patch expects {_shown(text)}"
    return "has nothing to hold on to: no line of context"


def _first_stand(lines: Sequence[bytes], wanted: Sequence[bytes]) -> int | None:
    """Return the first index at which all wanted lines stand."""
    if not wanted:
        return None
    starts = _positions(lines, wanted[0], len(lines) - len(wanted))
    return next((at for at in starts if _stands_at(lines, wanted, at)), None)


def _without_cr(text: bytes) -> bytes:
    return text.rstrip(b"\r\n")


def _without_space(text: bytes) -> bytes:
    return b"".join(text.split())


def _shown(text: bytes) -> str:
    return '"' + text.decode("utf-8", "backslashreplace").strip()[:100] + '"'
