"""The statements that a line stands in: `if`, `for`, `try` and the like, read by indentation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from keyword import kwlist

from patchkit.carry.nouns import Edit, Piece
from patchkit.carry.scene import Scene
from patchkit.carry.wording import plain, words

LONGEST = 12  # lines of a header
FEW_LINES = 3

_KEYWORDS = frozenset({*kwlist, "self"})
_DEFINES = re.compile(r"(?:async )?(?:def|class)\b")
_OPENS = re.compile(r"(?:if|elif|else|for|while|with|try|except|finally|match|case|async)\b")


@dataclass(frozen=True, slots=True)
class Header:
    """What opens a block: its line's index and, in one line and made plain, its text."""

    at: int
    text: str


def enclosing(lines: Sequence[str], at: int) -> list[Header]:
    """Return the headers of the blocks that a line stands in, innermost first, up to its function."""
    found = []
    depth = _depth(lines[at])
    for index in range(at - 1, -1, -1):
        text = lines[index].strip()
        if not text or text[0] in "#)]}" or _depth(lines[index]) >= depth:
            continue
        depth = _depth(lines[index])
        if _DEFINES.match(text):
            break
        if _OPENS.match(text):
            found.append(Header(index, _header(lines, index, at)))
        if not depth:
            break
    return found


def openers(lines: Sequence[str], at: int) -> list[str]:
    """Return what a line stands in, innermost first, made plain: each line above that is less deep than the last one.

    Of a statement over several lines that is its first; of one in a block the block's header, up to the class.
    """
    found = []
    depth = _depth(lines[at])
    for index in range(at - 1, -1, -1):
        text = lines[index].strip()
        if text and text[0] not in "#)]}" and _depth(lines[index]) < depth:
            depth = _depth(lines[index])
            found.append(plain(lines[index]))
        if not depth:
            break
    return found


def other_block(edit: Edit, piece: Piece, scene: Scene, *, exact: bool = False) -> str:
    """Return "" where a piece stands in the block that it was written for; else what is wrong.

    Upstream may have changed the block's condition. Without a name in common and at another place it is another block.
    exact: the blocks must be word for word the same.
    """
    result = (*scene.new.lines[: piece.lo], *piece.text)
    depth = 1 << 30
    for offset, line in enumerate(piece.text[: len(edit.new)]):
        if not line.strip() or line.strip()[0] in "#)]}" or _depth(line) >= depth:
            continue
        depth = _depth(line)
        was, now = enclosing(scene.theirs.lines, edit.at + offset), enclosing(result, piece.lo + offset)
        pairs = list(zip(was, now, strict=False))
        differ = [(old, new) for old, new in pairs if old.text != new.text]
        if (
            len(was) != len(now)
            or (exact and differ)
            or any(_is_other(old, new, edit.lo, scene) for old, new in differ)
        ):
            old, new = differ[0] if differ else (Header(0, ""), Header(0, ""))
            return f"it was written for the block `{old.text[:60]}` and would stand in `{new.text[:60]}`"
    return ""


def _is_other(was: Header, now: Header, lo: int, scene: Scene) -> bool:
    return not (words([was.text]) & words([now.text])) - _KEYWORDS and not _is_rewritten(was, now, lo, scene)


def _is_rewritten(was: Header, now: Header, lo: int, scene: Scene) -> bool:
    """Whether the new header stands between the same lines as the old one, the last above base line lo, did."""
    header = scene.theirs.lines[was.at]
    at = next((at for at in range(lo - 1, -1, -1) if scene.base.lines[at] == header), -1)
    if at < 0:
        return False
    low, high = scene.alignment.around(at, at + 1)
    before, after = scene.alignment.new_index(low), scene.alignment.new_index(high)
    return before < now.at < after and max(high - low, after - before) <= FEW_LINES + 1


def _header(lines: Sequence[str], at: int, below: int) -> str:
    """Return the header that begins at a line; of one that goes on past the line `below`, what is above that."""
    end = next((i for i in range(at, min(at + LONGEST, below)) if lines[i].rstrip().endswith(":")), below - 1)
    return plain(" ".join(line.strip() for line in lines[at : min(end + 1, at + LONGEST)]))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
