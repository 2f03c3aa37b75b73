"""Conflicts that a recorded resolution or a resolver settles; what they give is judged like any other text."""

from collections.abc import Sequence
from dataclasses import replace

from patchkit.carry import conflicts
from patchkit.carry.cases import Case
from patchkit.carry.nouns import Action, Cause, Conflict, Lines, Outcome, Piece, Settle
from patchkit.carry.scene import Scene


def settle_conflicts(case: Case, settle: Sequence[Settle]) -> None:
    """Ask for a text for each span of a file, and put the first answer in its place."""
    scene = case.scene
    if scene is None:
        return
    for span in list(case.spans):
        inside = [at for at, one in enumerate(case.outcomes) if _is_in(one, span)]
        conflict = conflict_of(case.outcomes[inside[0]], case, scene)
        settled = next((answer for ask in settle if (answer := ask(conflict)) is not None), None)
        if settled is None:
            continue
        case.spans.remove(span)
        piece = Piece(scene.path, span.new_lo, span.new_hi, settled.text, case.outcomes[inside[0]].edit.at)
        for number, at in enumerate(inside):
            case.outcomes[at] = replace(
                case.outcomes[at],
                action=Action.CARRIED,
                stage=settled.stage,
                evidence=(settled.evidence,),
                pieces=() if number else (piece,),
                cause=Cause.NONE,
            )


def conflict_of(outcome: Outcome, case: Case, scene: Scene) -> Conflict:
    """Return what a person, the ledger or a resolver needs to know about an unresolved edit."""
    edit = outcome.edit
    span = next((one for one in case.spans if _is_in(outcome, one)), None)
    base, theirs = scene.base.lines[edit.lo : edit.hi], edit.new
    ours: Lines = ()
    if span is not None:
        shown = conflicts.marked(span, case.edits, scene)
        base, ours, theirs = shown.base, scene.new.lines[span.new_lo : span.new_hi], shown.theirs
    return Conflict(
        path=case.path,
        hunk=edit.hunk,
        cause=outcome.cause,
        scope=scene.scope_of(edit),
        base="\n".join(base),
        ours="\n".join(ours),
        theirs="\n".join(theirs),
        line=span.new_lo + 1 if span else 0,
        candidates=tuple(line for line in outcome.evidence if line.startswith("candidate: ")),
    )


def _is_in(outcome: Outcome, span: conflicts.Span) -> bool:
    edit = outcome.edit
    return outcome.action is Action.UNRESOLVED and span.lo <= edit.lo and edit.hi <= span.hi
