"""Carry a patch from an old upstream to a new one: each hunk through the stages, each result judged."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from patchkit.carry import conflicts
from patchkit.carry.compose import compose, marked_text, overlaps
from patchkit.carry.edits import line_text, read_edits
from patchkit.carry.merge import merge_edit
from patchkit.carry.nouns import (
    Action,
    Carried,
    Cause,
    Conflict,
    Decision,
    Edit,
    Lines,
    Outcome,
    Piece,
    Source,
    Stage,
    Tree,
    join,
)
from patchkit.carry.scene import Scene
from patchkit.carry.upstreamed import ask_upstream
from patchkit.model import ChangeKind, FilePatch

NAMES = ("new upstream", "old upstream", "patch")

StageRule = Callable[[Edit, Scene], Outcome | None]
STAGES: tuple[StageRule, ...] = (ask_upstream, merge_edit)


@dataclass
class _Case:
    """One section of the patch on its way. outcomes: one an edit, in the section's order."""

    section: FilePatch
    scene: Scene | None
    outcomes: list[Outcome]
    spans: list[conflicts.Span]
    deleted: bool = False


def carry_patch(sections: Sequence[FilePatch], old: Tree, new: Tree) -> Carried:
    """Carry every section; each hunk ends in exactly one decision.

    Raises: ConflictError where the patch does not fit the old upstream.
    """
    cases = [_carry_section(section, old, new) for section in sections]
    pieces: dict[str, list[Piece]] = {}
    for case in cases:
        for outcome in case.outcomes:
            if outcome.action is not Action.UNRESOLVED:
                for piece in outcome.pieces:
                    pieces.setdefault(piece.path, []).append(piece)
    marks: dict[str, list[Piece]] = {}
    for case in cases:
        marks.setdefault(case.section.path, []).extend(_marks(case))
    clean: dict[str, bytes | None] = {case.section.path: None for case in cases if case.deleted}
    files = dict(clean)
    for path in sorted(set(pieces) | {path for path, found in marks.items() if found}):
        data = new.read(path)
        lines = Source(data).lines if data is not None else ()
        carried = pieces.get(path, [])
        assert not overlaps(carried), path
        clean[path] = join(compose(lines, carried))
        files[path] = join(compose(lines, [*carried, *marks.get(path, [])]))
    decisions = tuple(decision for case in cases for decision in _decisions(case))
    return Carried(
        files=files,
        clean={path: text for path, text in clean.items() if text != new.read(path)},
        decisions=decisions,
        conflicts=tuple(_conflicts(cases)),
        marked=frozenset(path for path, found in marks.items() if found),
    )


def _carry_section(section: FilePatch, old: Tree, new: Tree) -> _Case:
    base, ours = old.read(section.old_path), new.read(section.path)
    if section.kind is ChangeKind.CREATE:
        return _create(section, ours)
    if base is None:
        return _whole(section, Cause.FILE_GONE, "the old upstream has no such file")
    if section.binary:
        return _whole(section, Cause.BINARY, "a binary change is not merged")
    if section.kind is ChangeKind.DELETE:
        return _delete(section, base, ours)
    if ours is None:
        return _whole(section, Cause.FILE_GONE, "the new upstream has no such file")
    old_text = Source(base)
    edits, theirs = read_edits(section.hunks, old_text.lines)
    scene = Scene(section.path, old_text, Source(join(theirs)), Source(ours))
    outcomes = [_carry_edit(edit, scene) for edit in edits]
    outcomes, spans = conflicts.settle_spans(_without_overlaps(outcomes), scene)
    return _Case(section, scene, outcomes, spans)


def _carry_edit(edit: Edit, scene: Scene) -> Outcome:
    """Return the first stage's answer."""
    if scene.base.data == scene.new.data:
        carried = merge_edit(edit, scene)
        assert carried is not None
        return carried
    for stage in STAGES:
        outcome = stage(edit, scene)
        if outcome is not None:
            return outcome
    return conflicts.unresolved(edit, Cause.OVERLAP, "upstream changed the same lines")


def _without_overlaps(outcomes: list[Outcome]) -> list[Outcome]:
    """Return the outcomes with those unresolved that want the same lines as another."""
    placed = [piece for outcome in outcomes for piece in outcome.pieces]
    twice = {piece for pair in overlaps(placed) for piece in pair}
    return [
        conflicts.unresolved(outcome.edit, Cause.OVERLAP, "two edits want the same lines")
        if any(piece in twice for piece in outcome.pieces)
        else outcome
        for outcome in outcomes
    ]


def _create(section: FilePatch, ours: bytes | None) -> _Case:
    """A file that the patch brings: new, or one that upstream now brings too."""
    lines = tuple(line_text(line) for hunk in section.hunks for line in hunk.lines)
    ends_open = section.hunks and not section.hunks[-1].lines[-1].text.endswith(b"\n")
    text: Lines = lines if ends_open else (*lines, "")
    edit = Edit(1 if section.hunks else 0, 0, 0, text, 0)
    if ours is None:
        piece = Piece(section.path, 0, 0, text)
        return _Case(
            section, None, [Outcome(edit, Action.CARRIED, Stage.MERGE, ("upstream has no such file",), (piece,))], []
        )
    if ours == join(text):
        same = Outcome(edit, Action.DROPPED, Stage.UPSTREAMED, ("upstream has the same file",), cause=Cause.UPSTREAMED)
        return _Case(section, None, [same], [])
    return _whole(section, Cause.BOTH_ADD, "upstream now has a file of this name, with other text")


def _delete(section: FilePatch, base: bytes, ours: bytes | None) -> _Case:
    edit = Edit(1 if section.hunks else 0, 0, 0, (), 0)
    if ours is None:
        gone = Outcome(
            edit, Action.DROPPED, Stage.UPSTREAMED, ("upstream deleted the file too",), cause=Cause.UPSTREAMED
        )
        return _Case(section, None, [gone], [])
    if ours != base:
        return _whole(section, Cause.DELETE_MODIFY, "the patch deletes the file, upstream changed it")
    return _Case(
        section, None, [Outcome(edit, Action.CARRIED, Stage.UNCHANGED, ("upstream left it alone",))], [], deleted=True
    )


def _whole(section: FilePatch, cause: Cause, evidence: str) -> _Case:
    """Return a section of which no hunk could be carried, for a reason that holds for the file."""
    numbers = [hunk.number for hunk in section.hunks] or [0]
    outcomes = [conflicts.unresolved(Edit(number, 0, 0, (), 0), cause, evidence) for number in numbers]
    return _Case(section, None, outcomes, [])


def _marks(case: _Case) -> Iterable[Piece]:
    if case.scene is None:
        return
    edits = [outcome.edit for outcome in case.outcomes]
    for span in case.spans:
        shown = conflicts.marked(span, edits, case.scene)
        yield conflicts.marked_piece(span, marked_text(case.scene.new.lines, shown, NAMES), case.scene.path)


def _conflicts(cases: Iterable[_Case]) -> Iterable[Conflict]:
    for case in cases:
        if case.scene is None:
            continue
        edits = [outcome.edit for outcome in case.outcomes]
        for outcome in case.outcomes:
            if outcome.action is not Action.UNRESOLVED:
                continue
            for span in case.spans:
                if span.lo <= outcome.edit.lo and outcome.edit.hi <= span.hi:
                    shown = conflicts.marked(span, edits, case.scene)
                    yield Conflict(
                        path=case.section.path,
                        hunk=outcome.edit.hunk,
                        cause=outcome.cause,
                        scope=case.scene.scope_of(outcome.edit),
                        base="\n".join(shown.base),
                        ours="\n".join(case.scene.new.lines[span.new_lo : span.new_hi]),
                        theirs="\n".join(shown.theirs),
                        line=span.new_lo + 1,
                    )
                    break


def _decisions(case: _Case) -> Iterable[Decision]:
    """Yield one decision a hunk, out of its edits' outcomes."""
    by_hunk: dict[int, list[Outcome]] = {}
    for outcome in case.outcomes:
        by_hunk.setdefault(outcome.edit.hunk, []).append(outcome)
    for number, outcomes in by_hunk.items():
        yield _decision(case, number, outcomes)


def _decision(case: _Case, number: int, outcomes: Sequence[Outcome]) -> Decision:
    actions = {outcome.action for outcome in outcomes}
    if Action.UNRESOLVED in actions:
        action = Action.UNRESOLVED
    elif actions == {Action.DROPPED}:
        action = Action.DROPPED
    elif Action.DROPPED in actions:
        action = Action.SHRUNK
    else:
        action = Action.MOVED if Action.MOVED in actions else Action.CARRIED
    order = list(Stage)
    telling = [outcome for outcome in outcomes if outcome.action is Action.UNRESOLVED] or list(outcomes)
    last = max(telling, key=lambda outcome: order.index(outcome.stage))
    targets = {piece.path for outcome in outcomes for piece in outcome.pieces} or {case.section.path}
    return Decision(
        path=case.section.path,
        hunk=number,
        action=action,
        stage=last.stage,
        to=max(targets),
        suspect=any(outcome.suspect for outcome in outcomes),
        cause=last.cause,
        evidence=tuple(dict.fromkeys(line for outcome in outcomes for line in outcome.evidence)),
        scope=case.scene.scope_of(outcomes[0].edit) if case.scene else "",
    )
