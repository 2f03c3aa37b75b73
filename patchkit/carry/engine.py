"""Carry a patch from an old upstream to a new one: each hunk through the stages, each result judged."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from patchkit.carry import conflicts
from patchkit.carry.cases import Case, read_cases
from patchkit.carry.companions import bring_imports
from patchkit.carry.compose import compose, marked_text, overlaps
from patchkit.carry.decisions import decide
from patchkit.carry.follow import Library, homes, successors
from patchkit.carry.halves import drop_nearly_landed
from patchkit.carry.imports import carry_imports
from patchkit.carry.judge import judge, suspected
from patchkit.carry.merge import merge_edit
from patchkit.carry.needless import drop_needless
from patchkit.carry.neighbours import carry_beside
from patchkit.carry.nouns import (
    Action,
    Carried,
    Cause,
    Conflict,
    Edit,
    Outcome,
    Piece,
    Settle,
    Source,
    Stage,
    Tree,
    join,
)
from patchkit.carry.results import settled_pieces
from patchkit.carry.scene import Scene
from patchkit.carry.settling import conflict_of, settle_conflicts
from patchkit.carry.tokens import merge_tokens
from patchkit.carry.upstreamed import ask_upstream
from patchkit.patch.hunks import FilePatch
from patchkit.source.scopes import MODULE

NAMES = ("new upstream", "old upstream", "patch")

StageRule = Callable[[Edit, Scene], Outcome | None]
STAGES: tuple[StageRule, ...] = (ask_upstream, merge_edit, carry_beside, carry_imports, merge_tokens)


def carry_patch(sections: Sequence[FilePatch], old: Tree, new: Tree, settle: Sequence[Settle] = ()) -> Carried:
    """Carry every section; each hunk ends in exactly one decision.

    settle: asked in turn for a text for each conflict: the ledger, a resolver.
    Raises: ConflictError where the patch does not fit the old upstream.
    """
    cases = read_cases(sections, old, new)
    library = Library(new, {case.path: case.scene.new for case in cases if case.scene is not None})
    for case in cases:
        if not case.outcomes:
            case.outcomes = [_carry_edit(edit, case, library) for edit in case.edits]
    bring_imports(cases, library)
    drop_nearly_landed(cases)
    drop_needless(cases)
    _part_overlaps(cases)
    for case in cases:
        if case.scene is not None and not case.new_missing:
            case.outcomes, case.spans = conflicts.settle_spans(case.outcomes, case.scene)
            settle_conflicts(case, settle)
    judge(cases, library, Library(old))
    return _written(cases, new)


def _carry_edit(edit: Edit, case: Case, library: Library) -> Outcome:
    """Return the first stage's answer, in the edit's own file and then wherever its scope went."""
    scene = case.scene
    assert scene is not None
    if scene.base.data == scene.new.data:
        carried = merge_edit(edit, scene)
        assert carried is not None
        return carried
    if not case.new_missing:
        outcome = _first_answer(edit, scene)
        if outcome is not None:
            return outcome
    found = homes(edit, scene, library)
    if len(found) == 1:
        outcome = _first_answer(edit, found[0])
        if outcome is not None:
            return _followed(outcome, case, found[0])
    if case.new_missing and scene.scope_of(edit) == MODULE:
        outcome = _with_its_file(edit, case, library)
        if outcome is not None:
            return outcome
    if case.new_missing:
        return conflicts.unresolved(edit, Cause.FILE_GONE, "the new upstream has no such file", *_went_to(found))
    if not scene.has_scope(scene.scope_of(edit)):
        return conflicts.unresolved(
            edit, Cause.GONE, f"upstream no longer has {scene.scope_of(edit)} here", *_went_to(found)
        )
    return conflicts.unresolved(edit, Cause.OVERLAP, "upstream changed the same lines")


def _with_its_file(edit: Edit, case: Case, library: Library) -> Outcome | None:
    """Carry an import or module-level edit into the file that most of its file's code went to.

    Where other files got some of the code, it may belong to one of these: a person must look.
    """
    assert case.scene is not None
    paths = successors(case.scene, library)
    if not paths:
        return None
    scene = replace(case.scene, path=paths[0], new=library.source(paths[0]), is_elsewhere=True)
    outcome = _first_answer(edit, scene)
    if outcome is None:
        return None
    action = Action.MOVED if outcome.action is Action.CARRIED else outcome.action
    outcome = replace(outcome, action=action, stage=Stage.FOLLOW)
    outcome = replace(outcome, evidence=(f"most of {case.path} is now {paths[0]}", *outcome.evidence))
    if action is Action.MOVED and len(paths) > 1:
        return suspected(outcome, Cause.AMBIGUOUS, f"other parts of it are now {', '.join(paths[1:4])}")
    return outcome


def _first_answer(edit: Edit, scene: Scene) -> Outcome | None:
    for stage in STAGES:
        outcome = stage(edit, scene)
        if outcome is not None:
            return outcome
    return None


def _followed(outcome: Outcome, case: Case, home: Scene) -> Outcome:
    assert home.region is not None
    where = f"{home.region.scope} is now {home.path}:{home.region.new_lo + 1} {home.region.new_scope}"
    action = outcome.action
    if action is Action.CARRIED and home.path != case.path:
        action = Action.MOVED
    stage = outcome.stage if outcome.action is Action.DROPPED else Stage.FOLLOW
    return replace(outcome, action=action, stage=stage, evidence=(where, *outcome.evidence))


def _went_to(found: Sequence[Scene]) -> list[str]:
    return [f"candidate: {one.path}:{one.region.new_lo + 1} {one.region.new_scope}" for one in found if one.region]


def _part_overlaps(cases: Sequence[Case]) -> None:
    """Make unresolved what wants the same lines as another edit."""
    placed: dict[str, list[Piece]] = {}
    for case in cases:
        for outcome in case.outcomes:
            for piece in outcome.pieces:
                placed.setdefault(piece.path, []).append(piece)
    twice = {piece for pieces in placed.values() for pair in overlaps(pieces) for piece in pair}
    for case in cases:
        case.outcomes = [
            conflicts.unresolved(outcome.edit, Cause.OVERLAP, "two edits want the same lines")
            if any(piece in twice for piece in outcome.pieces)
            else outcome
            for outcome in case.outcomes
        ]


def _written(cases: Sequence[Case], new: Tree) -> Carried:
    """Return the outcome with every file's text."""
    pieces: dict[str, list[Piece]] = {}
    marks: dict[str, list[Piece]] = {}
    for case in cases:
        for outcome in case.outcomes:
            for piece in outcome.pieces:
                pieces.setdefault(piece.path, []).append(piece)
        for mark in _marks(case):
            marks.setdefault(mark.path, []).append(mark)
    clean: dict[str, bytes | None] = {case.path: None for case in cases if case.deleted}
    files = dict(clean)
    settled = settled_pieces(cases)
    for path in sorted(set(pieces) | set(marks)):
        data = new.read(path)
        lines = Source(data).lines if data is not None else ()
        clean[path] = join(compose(lines, settled.get(path, [])))
        files[path] = join(compose(lines, [*pieces.get(path, []), *marks.get(path, [])]))
    return Carried(
        files=files,
        clean={path: text for path, text in clean.items() if text != new.read(path)},
        decisions=tuple(decision for case in cases for decision in decide(case)),
        conflicts=tuple(_conflicts(cases)),
        marked=frozenset(marks),
    )


def _marks(case: Case) -> Iterable[Piece]:
    if case.scene is None:
        return
    for span in case.spans:
        shown = conflicts.marked(span, case.edits, case.scene)
        yield conflicts.marked_piece(span, marked_text(case.scene.new.lines, shown, NAMES), case.path)


def _conflicts(cases: Iterable[Case]) -> Iterable[Conflict]:
    for case in cases:
        for outcome in case.outcomes:
            if outcome.action is Action.UNRESOLVED and case.scene is not None:
                yield conflict_of(outcome, case, case.scene)
