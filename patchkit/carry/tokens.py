"""Merge changes of the same lines token by token. Always flagged: nobody wrote the text that comes out."""

import re
from collections.abc import Iterator, Sequence

from patchkit.carry.align import Block, changed_blocks
from patchkit.carry.nouns import Action, Cause, Edit, Lines, Outcome, Piece, Stage
from patchkit.carry.scene import Scene

MOST_LINES = 12  # of a block that both sides rewrote
RENAMES = 2  # so often the same identifier must have become the same other one

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*$")


def merge_tokens(edit: Edit, scene: Scene) -> Outcome | None:
    """Return both changes of the same lines in one text; None where they meet or the block is too long."""
    low, high = scene.alignment.around(edit.lo, edit.hi)
    lo, hi = scene.alignment.new_index(low) + 1, scene.alignment.new_index(high)
    if high - low - 1 == hi - lo:  # line for line: the edit's own lines are enough
        lo, hi = lo + edit.lo - low - 1, hi - (high - edit.hi)
        low, high = edit.lo - 1, edit.hi
    if not 0 < edit.hi - edit.lo <= MOST_LINES or not 0 < hi - lo <= MOST_LINES:
        return None
    span = scene.base.lines[low + 1 : high]
    theirs = (*scene.base.lines[low + 1 : edit.lo], *edit.new, *scene.base.lines[edit.hi : high])
    base, ours, wanted = (_tokens(lines) for lines in (span, scene.new.lines[lo:hi], theirs))
    upstream, patch = changed_blocks(base, ours), changed_blocks(base, wanted)
    if not upstream or any(_meet(one, other) for one in upstream for other in patch):
        return None
    text = tuple("".join(_merged(base, (ours, upstream), (wanted, patch))).split("\n"))
    renamed = _renamed(base, ours, upstream)
    evidence = (
        f"upstream renamed {renamed} in the same lines" if renamed else "both changed other words of the same lines"
    )
    piece = Piece(scene.path, lo, hi, text, edit.at)
    return Outcome(edit, Action.CARRIED, Stage.TOKENS, (evidence,), (piece,), suspect=True, cause=Cause.OVERLAP)


def _tokens(lines: Lines) -> list[str]:
    return _TOKEN.findall("\n".join(lines))


def _meet(one: Block, other: Block) -> bool:
    return one.lo <= other.hi and other.lo <= one.hi


def _merged(
    base: Sequence[str], ours: tuple[Sequence[str], list[Block]], theirs: tuple[Sequence[str], list[Block]]
) -> Iterator[str]:
    changes = sorted(
        ((block, text) for text, blocks in (ours, theirs) for block in blocks), key=lambda change: change[0].lo
    )
    at = 0
    for block, text in changes:
        yield from base[at : block.lo]
        yield from text[block.new_lo : block.new_hi]
        at = block.hi
    yield from base[at:]


def _renamed(base: Sequence[str], ours: Sequence[str], blocks: Sequence[Block]) -> str:
    """Return "a to b" where all that upstream did is to call an identifier by another name, more than once."""
    pairs = {("".join(base[one.lo : one.hi]), "".join(ours[one.new_lo : one.new_hi])) for one in blocks}
    if len(pairs) != 1 or len(blocks) < RENAMES:
        return ""
    ((old, new),) = pairs
    return f"{old} to {new}" if _IDENTIFIER.match(old) and _IDENTIFIER.match(new) else ""
