"""Carry an edit whose own lines upstream left alone, though it changed what touches them."""

from patchkit.carry.nouns import Action, Edit, Outcome, Piece, Stage
from patchkit.carry.placement import fits
from patchkit.carry.scene import Scene
from patchkit.carry.sites import Contact, Site, find_sites, gaps


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
    return [(at, at) for at in gaps(site, scene.alignment)]


def _evidence(lo: int, hi: int) -> str:
    if hi > lo:
        return "the lines it replaces are unchanged, upstream changed their neighbours"
    return f"upstream changed what stands next to it; inserted in front of line {lo + 1}"
