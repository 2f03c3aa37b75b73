"""Three-way merge of one edit: clean where upstream changed nothing next to it, as git's merge has it."""

from patchkit.carry.nouns import Action, Edit, Outcome, Piece, Stage
from patchkit.carry.scene import Scene
from patchkit.carry.sites import Contact, find_site


def merge_edit(edit: Edit, scene: Scene) -> Outcome | None:
    """Return the edit carried to its place; None where upstream changed lines that touch it."""
    site = find_site(edit, scene.base.lines, scene.alignment)
    if site.contact is not Contact.CLEAN:
        return None
    moved = site.lo - edit.lo
    stage = Stage.UNCHANGED if scene.base.data == scene.new.data else Stage.MERGE
    evidence = "the lines around it are unchanged" + (f", {moved:+d} lines" if moved else "")
    piece = Piece(scene.path, site.lo, site.hi, site.edit.new, edit.at)
    return Outcome(site.edit, Action.CARRIED, stage, (evidence,), (piece,))
