"""Judge whole resulting files: do they parse, is anything defined twice, is each line in its scope?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from patchkit.carry.blocks import other_block
from patchkit.carry.cases import Case
from patchkit.carry.compose import compose
from patchkit.carry.contracts import misfits
from patchkit.carry.follow import Library
from patchkit.carry.nouns import Action, Cause, Outcome, Piece, Source, Stage, join
from patchkit.carry.scene import Scene
from patchkit.carry.wording import words


def judge_results(cases: Sequence[Case], library: Library) -> None:
    """Mark as suspect what breaks its file, defines something twice, or stands in another scope than its own."""
    pieces = settled_pieces(cases)
    results = {
        path: Source(join(compose(library.source(path).lines, found)))
        for path, found in sorted(pieces.items())
        if path.endswith(".py")
    }
    for case in cases:
        for at, outcome in enumerate(case.outcomes):
            for cause, evidence in _faults(outcome, case, results, pieces, library):
                case.outcomes[at] = replace(outcome, suspect=True, cause=cause, evidence=(*outcome.evidence, evidence))
                break


def settled_pieces(cases: Sequence[Case]) -> dict[str, list[Piece]]:
    """Return the pieces by the path they go to, without those of hunks that are unresolved in part."""
    pieces: dict[str, list[Piece]] = {}
    for case in cases:
        held = {outcome.edit.hunk for outcome in case.outcomes if outcome.action is Action.UNRESOLVED}
        for outcome in case.outcomes:
            if outcome.edit.hunk not in held:
                for piece in outcome.pieces:
                    pieces.setdefault(piece.path, []).append(piece)
    return pieces


def _faults(
    outcome: Outcome, case: Case, results: dict[str, Source], pieces: dict[str, list[Piece]], library: Library
) -> Iterator[tuple[Cause, str]]:
    scene = case.scene
    if scene is None or outcome.stage is Stage.UNCHANGED:
        return
    for piece in outcome.pieces:
        result = results.get(piece.path)
        if result is None or piece not in pieces[piece.path]:
            continue
        new = library.source(piece.path)
        if result.scopes.problem:
            if not new.scopes.problem and not scene.theirs.scopes.problem:
                yield Cause.SYNTAX, f"the result does not compile: {result.scopes.problem}"
            continue
        at = piece.lo + sum(
            len(other.text) - (other.hi - other.lo)
            for other in pieces[piece.path]
            if (other.lo, other.hi, other.order) < (piece.lo, piece.hi, piece.order)
        )
        yield from _twice(piece, at, scene, new, result)
        yield from _unbound(outcome, scene, new, result)
        for misfit in misfits(result, scene.base, (at + 1, at + len(piece.text)), library):
            yield Cause.SIGNATURE, misfit
        yield from _torn(piece, at, new, result)
        if outcome.stage is Stage.MERGE:
            yield from _misplaced(outcome, piece, at, scene, result)
            strays = other_block(outcome.edit, piece, scene)
            if strays:
                yield Cause.PLACEMENT, strays


def _twice(piece: Piece, at: int, scene: Scene, new: Source, result: Source) -> Iterator[tuple[Cause, str]]:
    known = {one.name for source in (new, scene.theirs) for one in source.scopes.definitions}
    for one in result.scopes.definitions:
        if at < one.first <= at + len(piece.text) and "#" in one.name.rpartition(".")[2] and one.name not in known:
            yield Cause.DUPLICATE, f"{one.name.rpartition('#')[0]} would be defined twice in {piece.path}"


def _unbound(outcome: Outcome, scene: Scene, new: Source, result: Source) -> Iterator[tuple[Cause, str]]:
    names = result.undefined & words(outcome.edit.new)
    if not names:
        return
    for name in sorted(names - new.undefined - scene.theirs.undefined):
        yield Cause.UNDEFINED, f"nothing binds {name} any more"


def _torn(piece: Piece, at: int, new: Source, result: Source) -> Iterator[tuple[Cause, str]]:
    """Tell when upstream's first line below a piece got into another scope."""
    below = next((index for index in range(piece.hi, len(new.lines)) if new.lines[index].strip()), None)
    if below is None:
        return
    there = at + len(piece.text) + below - piece.hi
    if there < len(result.lines) and result.lines[there] == new.lines[below]:
        was, now = new.scope(below), result.scope(there)
        if was.partition("#")[0] != now.partition("#")[0]:
            yield Cause.PLACEMENT, f"it would put upstream's line {below + 1} from {was} into {now}"


def _misplaced(outcome: Outcome, piece: Piece, at: int, scene: Scene, result: Source) -> Iterator[tuple[Cause, str]]:
    for offset, line in enumerate(outcome.edit.new[: len(piece.text)]):
        if not line.strip():
            continue
        was, now = scene.theirs.scope(outcome.edit.at + offset), result.scope(at + offset)
        if not scene.is_same_scope(was, now):
            yield Cause.PLACEMENT, f"it was written for {was} and lands in {now}"
            return
