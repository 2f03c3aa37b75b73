"""Places that are not the only ones: upstream parted the neighbours, or adds to the same table."""

import re

from patchkit.carry.follow import Library
from patchkit.carry.nouns import Outcome, Stage
from patchkit.carry.scene import Scene
from patchkit.carry.wording import telling

FAR_APART = 100  # lines; a method or two between the neighbours is common, and harmless

_ELEMENT = re.compile(r'"[^"]*"$')


def parted_place(outcome: Outcome, scene: Scene, library: Library) -> str:
    """Upstream put much between the two lines that an insertion stood between: it may belong to the other one."""
    edit = outcome.edit
    if not outcome.pieces or edit.hi > edit.lo or outcome.stage is not Stage.MERGE:
        return ""
    lines, alignment = scene.base.lines, scene.alignment
    lo = edit.lo + outcome.pieces[0].order - edit.at  # where it stood as written, if it is carried in an equal form
    above = next((at for at in range(lo - 1, -1, -1) if lines[at].strip()), -1)
    below = next((at for at in range(lo, len(lines)) if lines[at].strip()), len(lines))
    if above < 0 or not alignment.keeps(above) or not alignment.keeps(below):
        return ""
    apart = alignment.new_index(below) - alignment.new_index(above) - (below - above)
    return f"upstream put {apart} lines between its two neighbours" if apart >= FAR_APART else ""


def both_extend(outcome: Outcome, scene: Scene, library: Library) -> str:
    """Upstream adds elements to the same table at the same place; whose come first is a person's choice."""
    edit = outcome.edit
    if outcome.stage is not Stage.NEIGHBOURS or edit.hi > edit.lo:
        return ""
    above, below = scene.alignment.new_index(edit.lo - 1), scene.alignment.new_index(edit.hi)
    ours, theirs = telling(scene.new.lines[above + 1 : below]) if 0 <= above < below else [], telling(edit.new)
    if ours and theirs and all(_ELEMENT.match(line) for line in (*ours, *theirs)):
        return f"upstream adds {ours[0]} to the same table"
    return ""
