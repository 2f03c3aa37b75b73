"""Is each line of a result in the scope it was written for: upstream's lines in theirs, the patch's in theirs?"""

from patchkit.carry.blocks import other_block
from patchkit.carry.compose import compose
from patchkit.carry.nouns import Edit, Piece, Source, join
from patchkit.carry.scene import Scene
from patchkit.source.scopes import Scopes, scopes


def fits(edit: Edit, piece: Piece, scene: Scene) -> str:
    """Return "" where the piece, put into the new text, leaves every line in its scope; else what is wrong.

    What is no Python is not judged.
    """
    if not scene.path.endswith(".py") or scene.new.scopes.problem or scene.theirs.scopes.problem:
        return ""
    result = scopes(join(compose(scene.new.lines, [piece])))
    if result.problem:
        return f"the result does not compile: {result.problem} (line {result.problem_line})"
    return (
        _moved_upstream_line(piece, scene.new, result)
        or _moved_added_line(edit, piece, scene, result)
        or other_block(edit, piece, scene)
    )


def _moved_upstream_line(piece: Piece, new: Source, result: Scopes) -> str:
    shift = len(piece.text) - (piece.hi - piece.lo)
    for at, line in enumerate(new.lines):
        if piece.lo <= at < piece.hi or not line.strip():
            continue
        was, now = new.scope(at), result.at(at + 1 + (shift if at >= piece.hi else 0))
        if was != now:
            return f"it would put upstream's line {at + 1} ({line.strip()[:40]}) from {was} into {now}"
    return ""


def _moved_added_line(edit: Edit, piece: Piece, scene: Scene, result: Scopes) -> str:
    for offset, line in enumerate(piece.text):
        if not line.strip() or offset >= len(edit.new):
            continue
        was, now = scene.theirs.scope(edit.at + offset), result.at(piece.lo + offset + 1)
        if not scene.is_same_scope(was, now):
            return f"it was written for {was} and would land in {now}"
    return ""
