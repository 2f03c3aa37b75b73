"""Which lines of one text live on in another: git's histogram diff on lines."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

# xhistogram.c: a line that occurs more often than this is no anchor; such a stretch goes to the fallback.
MAX_OCCURRENCES = 64
FALLBACK_CELLS = 250_000  # the fallback is quadratic: a larger stretch counts as rewritten


@dataclass(frozen=True, slots=True)
class Block:
    """One changed stretch: old[lo:hi] became new[new_lo:new_hi]; either may be empty."""

    lo: int
    hi: int
    new_lo: int
    new_hi: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where each old line is in the new text: to_new[i], or -1. Matches never cross."""

    to_new: tuple[int, ...]
    new_length: int

    def new_index(self, at: int) -> int:
        """Return the new index of an old one; -1 if gone. Before the first: -1; past the last: the new length."""
        if at < 0:
            return -1
        return self.to_new[at] if at < len(self.to_new) else self.new_length

    def keeps(self, at: int) -> bool:
        """Whether an old line is still there; both ends of the file count as lines that are."""
        return not 0 <= at < len(self.to_new) or self.to_new[at] >= 0

    def around(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the nearest kept old lines around old[lo:hi]: one before lo, one at or after hi."""
        before, after = lo - 1, hi
        while not self.keeps(before):
            before -= 1
        while not self.keeps(after):
            after += 1
        return before, after


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> Alignment:
    """Align two texts, line by line."""
    to_new = [-1] * len(old)
    old_at, new_at = 0, 0
    for block in changed_blocks(old, new):
        for at in range(old_at, block.lo):
            to_new[at] = new_at + at - old_at
        old_at, new_at = block.hi, block.new_hi
    for at in range(old_at, len(old)):
        to_new[at] = new_at + at - old_at
    return Alignment(tuple(to_new), len(new))


def changed_blocks(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Block]:
    """Return the changed stretches in order, as `git diff --histogram` finds them.

    Source: git's xdiff/xhistogram.c (the longest common stretch around the rarest line, then both sides of it).
    """
    ids: dict[Hashable, int] = {}
    left = [ids.setdefault(line, len(ids)) for line in old]
    right = [ids.setdefault(line, len(ids)) for line in new]
    found: list[Block] = []
    pending = [Block(0, len(left), 0, len(right))]
    while pending:
        part = _trimmed(left, right, pending.pop())
        if part.lo == part.hi and part.new_lo == part.new_hi:
            continue
        anchor = None
        if part.lo < part.hi and part.new_lo < part.new_hi:
            anchor, too_common = _rarest_stretch(left, right, part)
            if anchor is None and too_common:
                found.extend(_fallback(left, right, part))
                continue
        if anchor is None:
            found.append(part)
            continue
        pending.append(Block(anchor.hi, part.hi, anchor.new_hi, part.new_hi))
        pending.append(Block(part.lo, anchor.lo, part.new_lo, anchor.new_lo))
    return _joined(sorted(found, key=lambda block: (block.lo, block.new_lo)))


def _trimmed(left: list[int], right: list[int], part: Block) -> Block:
    lo, hi, new_lo, new_hi = part.lo, part.hi, part.new_lo, part.new_hi
    while lo < hi and new_lo < new_hi and left[lo] == right[new_lo]:
        lo, new_lo = lo + 1, new_lo + 1
    while lo < hi and new_lo < new_hi and left[hi - 1] == right[new_hi - 1]:
        hi, new_hi = hi - 1, new_hi - 1
    return Block(lo, hi, new_lo, new_hi)


def _rarest_stretch(left: list[int], right: list[int], part: Block) -> tuple[Block | None, bool]:
    """Return the common stretch to split at, and whether there were common lines that occur too often."""
    places: dict[int, list[int]] = {}
    for at in range(part.lo, part.hi):
        places.setdefault(left[at], []).append(at)
    best: Block | None = None
    rarest, too_common = MAX_OCCURRENCES + 1, False
    at = part.new_lo
    while at < part.new_hi:
        following = at + 1
        occurrences = places.get(right[at], ())
        if len(occurrences) > rarest:
            too_common = too_common or len(occurrences) > MAX_OCCURRENCES
            occurrences = ()
        passed = -1
        for start in occurrences:
            if start < passed:
                continue
            stretch, count = _extended((left, right), part, places, (start, at))
            passed = stretch.hi
            following = max(following, stretch.new_hi)
            if best is None or best.hi - best.lo < stretch.hi - stretch.lo or count < rarest:
                best, rarest = stretch, count
        at = following
    return best, too_common


def _extended(
    texts: tuple[list[int], list[int]], part: Block, places: dict[int, list[int]], pair: tuple[int, int]
) -> tuple[Block, int]:
    """Return the whole common stretch through a pair of equal lines, and how often its rarest line occurs."""
    left, right = texts
    start, at = pair
    lo, new_lo, hi, new_hi = start, at, start + 1, at + 1
    count = len(places[left[start]])
    while part.lo < lo and part.new_lo < new_lo and left[lo - 1] == right[new_lo - 1]:
        lo, new_lo = lo - 1, new_lo - 1
        count = min(count, len(places[left[lo]]))
    while hi < part.hi and new_hi < part.new_hi and left[hi] == right[new_hi]:
        count = min(count, len(places[left[hi]]))
        hi, new_hi = hi + 1, new_hi + 1
    return Block(lo, hi, new_lo, new_hi), count


def _fallback(left: list[int], right: list[int], part: Block) -> list[Block]:
    old, new = left[part.lo : part.hi], right[part.new_lo : part.new_hi]
    if len(old) * len(new) > FALLBACK_CELLS:
        return [part]
    return [
        Block(part.lo + i, part.lo + j, part.new_lo + k, part.new_lo + m)
        for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _joined(blocks: list[Block]) -> list[Block]:
    """Join blocks that touch on both sides."""
    joined: list[Block] = []
    for block in blocks:
        if joined and joined[-1].hi == block.lo and joined[-1].new_hi == block.new_lo:
            joined[-1] = Block(joined[-1].lo, block.hi, joined[-1].new_lo, block.new_hi)
        else:
            joined.append(block)
    return joined
