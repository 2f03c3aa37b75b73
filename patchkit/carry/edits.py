"""Read a file's hunks as edits of its old base, and write the patched text."""

from collections.abc import Iterator, Sequence

from patchkit.carry.nouns import Edit, Lines
from patchkit.errors import ConflictError
from patchkit.patch.hunks import Hunk, HunkLine, LineKind


def read_edits(hunks: Sequence[Hunk], base: Lines) -> tuple[list[Edit], Lines]:
    """Return the edits of a file in order, and the patched text.

    Raises: ConflictError where a hunk does not fit the old base: then the base is not the one it was made for.
    """
    edits: list[Edit] = []
    theirs: list[str] = []
    done = 0
    for hunk in hunks:
        start = _locate(hunk, base, done)
        for first, run in _runs(hunk):
            lo = start + first
            hi, new = _replacement(run, lo, base)
            theirs.extend(base[done:lo])
            edits.append(Edit(hunk.number, lo, hi, new, len(theirs)))
            theirs.extend(new)
            done = hi
    theirs.extend(base[done:])
    return edits, tuple(theirs)


def line_text(line: HunkLine) -> str:
    """Return a hunk line as the engine holds it: without its line feed."""
    return line.text.removesuffix(b"\n").decode("utf-8", "surrogateescape")


def _runs(hunk: Hunk) -> Iterator[tuple[int, list[HunkLine]]]:
    """Yield each run of changed lines with its place, counted in preimage lines from the hunk's first."""
    place, run = 0, list[HunkLine]()
    for line in hunk.lines:
        if line.kind is not LineKind.CONTEXT:
            run.append(line)
            continue
        if run:
            yield place, run
        place += 1 + sum(changed.kind is LineKind.REMOVED for changed in run)
        run = []
    if run:
        yield place, run


def _replacement(run: list[HunkLine], lo: int, base: Lines) -> tuple[int, Lines]:
    """Return where the run's old lines end, and its new lines.

    The engine's text has one more line, "", after the last line feed. A run that takes the file's last line
    feed away replaces that line too; one that brings it adds it.
    """
    removed = [line for line in run if line.kind is LineKind.REMOVED]
    added = [line for line in run if line.kind is LineKind.ADDED]
    hi = lo + len(removed)
    new = tuple(line_text(line) for line in added)
    ends_open = bool(added) and not added[-1].text.endswith(b"\n")
    ended_open = bool(removed) and not removed[-1].text.endswith(b"\n")
    if ends_open and not ended_open and hi == len(base) - 1:
        return hi + 1, new
    if ended_open and not ends_open:
        return hi, (*new, "")
    return hi, new


def _locate(hunk: Hunk, base: Lines, lowest: int) -> int:
    """Return the base index of a hunk's first line: where it says, or the only other place that fits."""
    wanted = tuple(line_text(line) for line in hunk.lines if line.kind is not LineKind.ADDED)
    stated = hunk.old_start - 1 if wanted else hunk.old_start
    if stated >= lowest and base[stated : stated + len(wanted)] == wanted:
        return stated
    places = [at for at in range(lowest, len(base) - len(wanted) + 1) if base[at : at + len(wanted)] == wanted]
    if len(places) == 1:
        return places[0]
    raise ConflictError(
        f"hunk {hunk.name} does not fit the old base",
        where=f"line {hunk.patch_line} of the patch",
        found="its text is nowhere" if not places else f"its text stands at {len(places)} places",
        hint="patchkit identify PATCH",
    )
