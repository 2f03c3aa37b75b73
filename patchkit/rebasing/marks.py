"""Conflicts between their markers: where one stands in a file, and what a person put in its place."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from patchkit.carry.align import align
from patchkit.carry.compose import BASE, MIDDLE, OURS, THEIRS
from patchkit.carry.nouns import Source


def resolutions(
    conflicts: Sequence[dict[str, Any]], marked: Mapping[str, bytes], settled: Mapping[str, bytes | None]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each conflict of a marked file with the text that a person put in its place."""
    done: set[tuple[str, str, str, str]] = set()
    for conflict in conflicts:
        key = (conflict["path"], conflict["base"], conflict["ours"], conflict["theirs"])
        text, result = marked.get(conflict["path"]), settled.get(conflict["path"])
        if key in done or text is None or result is None:
            continue
        done.add(key)
        before, after = Source(text).lines, Source(result).lines
        span = marked_span(before, conflict)
        if span is None:
            continue
        where = align(before, after)
        low, high = where.around(*span)
        lines = after[where.new_index(low) + 1 : where.new_index(high)]
        yield conflict, "".join(f"{line}\n" for line in lines)


def marked_span(lines: Sequence[str], conflict: dict[str, Any]) -> tuple[int, int] | None:
    """Return where a conflict stands between its markers in a file."""
    sides = [conflict[side].split("\n") if conflict[side] else [] for side in ("ours", "base", "theirs")]
    for at, line in enumerate(lines):
        if not line.startswith(OURS):
            continue
        end = at + sum(map(len, sides)) + 4
        block = list(lines[at:end])
        wanted = [block[0], *sides[0], _starting(block, BASE), *sides[1], MIDDLE, *sides[2], _starting(block, THEIRS)]
        if block == wanted:
            return at, end
    return None


def _starting(block: Sequence[str], marker: str) -> str:
    return next((line for line in block if line.startswith(marker)), "")
