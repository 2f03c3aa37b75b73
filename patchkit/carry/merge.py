"""Three-way merge of one edit: clean where upstream changed nothing next to it, as git's merge has it."""

from patchkit.carry.blocks import other_block
from patchkit.carry.nouns import Action, Edit, Outcome, Piece, Stage
from patchkit.carry.placement import fits
from patchkit.carry.scene import Scene
from patchkit.carry.sites import Contact, find_sites


def merge_edit(edit: Edit, scene: Scene) -> Outcome | None:
    """Return the edit carried to its place; None where upstream changed lines that touch it."""
    site = find_sites(edit, scene.base.lines, scene.alignment)[0]
    if site.contact is not Contact.CLEAN:
        return None
    piece = Piece(scene.path, site.lo, site.hi, site.edit.new, edit.at)
    if site.edit != edit and (fits(site.edit, piece, scene) or other_block(site.edit, piece, scene, exact=True)):
        return None  # an equal form stands free, but there it would tear upstream's own code apart
    moved = site.lo - edit.lo
    stage = Stage.UNCHANGED if scene.base.data == scene.new.data else Stage.MERGE
    evidence = "the lines around it are unchanged" + (f", {moved:+d} lines" if moved else "")
    return Outcome(site.edit, Action.CARRIED, stage, (evidence,), (piece,))
