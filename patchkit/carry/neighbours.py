"""Carry an edit whose own lines upstream left alone, though it changed what touches them."""

import re
from itertools import pairwise

from patchkit.carry.nouns import Action, Edit, Outcome, Piece, Stage
from patchkit.carry.placement import fits
from patchkit.carry.scene import Scene
from patchkit.carry.sites import Contact, Site, find_sites, gaps

_IN_ORDER = re.compile(r"from \S+ import [^(]+$|\w+,$")  # what a formatter keeps sorted: imports, imported names


def carry_beside(edit: Edit, scene: Scene) -> Outcome | None:
    """Return the edit beside upstream's change; None where its own lines are changed, or it fits on neither side."""
    for site in find_sites(edit, scene.base.lines, scene.alignment):
        if site.contact is not Contact.TOUCHING:
            continue
        for lo, hi in _places(site, scene):
            piece = Piece(scene.path, lo, hi, site.edit.new, edit.at)
            if not fits(site.edit, piece, scene):
                return Outcome(site.edit, Action.CARRIED, Stage.NEIGHBOURS, (_evidence(lo, hi),), (piece,))
    return None


def _places(site: Site, scene: Scene) -> list[tuple[int, int]]:
    if site.hi > site.lo:
        return [(site.lo, site.hi)]
    found = gaps(site, scene.alignment)
    if len(found) > 1:
        between = sorted_place(scene.new.lines[found[0] : found[-1]], site.edit.new)
        if between >= 0:
            found = [found[0] + between]
        elif hugs_below(site.edit, scene.base.lines):
            found.reverse()
    return [(at, at) for at in found]


def sorted_place(lines: tuple[str, ...], new: tuple[str, ...]) -> int:
    """Return where new lines belong among some that are kept sorted; -1 where these are not, or are no imports."""
    said, wanted = ([line.strip() for line in text] for text in (lines, new))
    if not all(_IN_ORDER.match(line) for line in (*said, *wanted)):
        return -1
    if any(before > after for text in (said, wanted) for before, after in pairwise(text)):
        return -1
    places = {sum(line < one for line in said) for one in wanted}
    return places.pop() if len(places) == 1 else -1


def hugs_below(edit: Edit, base: tuple[str, ...]) -> bool:
    """Whether an insertion stands right above a line, and a blank line parts it from what is above."""
    above, below = base[edit.lo - 1 : edit.lo], base[edit.hi : edit.hi + 1]
    ends = edit.new[:1] + edit.new[-1:]
    return bool(above and below) and not above[0].strip() and all(line.strip() for line in (*below, *ends))


def _evidence(lo: int, hi: int) -> str:
    if hi > lo:
        return "the lines it replaces are unchanged, upstream changed their neighbours"
    return f"upstream changed what stands next to it; inserted in front of line {lo + 1}"
