"""Write a file out of the new upstream text, the carried pieces and the conflicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from patchkit.carry.nouns import Lines, Piece

OURS, BASE, MIDDLE, THEIRS = "<<<<<<< ", "||||||| ", "=======", ">>>>>>> "


@dataclass(frozen=True, slots=True)
class Marked:
    """A conflict to be shown: the new text's [lo:hi] beside the old base and the patch."""

    lo: int
    hi: int
    base: Lines
    theirs: Lines


def overlaps(pieces: Sequence[Piece]) -> list[tuple[Piece, Piece]]:
    """Return each pair of neighbouring pieces that want the same lines."""
    ordered = sorted(pieces, key=_place)
    return [(a, b) for a, b in pairwise(ordered) if b.lo < a.hi]


def compose(new: Lines, pieces: Sequence[Piece]) -> Lines:
    """Return the new text with all pieces in it. They must not overlap."""
    out: list[str] = []
    at = 0
    for piece in sorted(pieces, key=_place):
        out.extend(new[at : piece.lo])
        out.extend(piece.text)
        at = max(at, piece.hi)
    out.extend(new[at:])
    return tuple(out)


def marked_text(new: Lines, conflict: Marked, names: tuple[str, str, str]) -> Lines:
    """Return a conflict with git's diff3 markers: ours is the new upstream, theirs the patch."""
    ours, base, theirs = names
    return (
        OURS + ours,
        *new[conflict.lo : conflict.hi],
        BASE + base,
        *conflict.base,
        MIDDLE,
        *conflict.theirs,
        THEIRS + theirs,
    )


def _place(piece: Piece) -> tuple[int, int, int]:
    return piece.lo, piece.hi, piece.order
