"""One decision a hunk, out of what became of its edits; nothing is counted twice or left out."""

from collections.abc import Iterable, Sequence

from patchkit.carry.cases import Case
from patchkit.carry.nouns import Action, Decision, Outcome, Stage

_ORDER = {stage: at for at, stage in enumerate(Stage)}


def decide(case: Case) -> Iterable[Decision]:
    """Yield the decision of each hunk of a section, in order."""
    by_hunk: dict[int, list[Outcome]] = {}
    for outcome in case.outcomes:
        by_hunk.setdefault(outcome.edit.hunk, []).append(outcome)
    assert set(by_hunk) == ({hunk.number for hunk in case.section.hunks} or {0}), case.path
    for number, outcomes in sorted(by_hunk.items()):
        yield _decision(case, number, outcomes)


def _decision(case: Case, number: int, outcomes: Sequence[Outcome]) -> Decision:
    action = _action(outcomes)
    deciding = [outcome for outcome in outcomes if outcome.action is action] or list(outcomes)
    last = max(deciding, key=lambda outcome: _ORDER[outcome.stage])
    targets = sorted({piece.path for outcome in outcomes for piece in outcome.pieces})
    elsewhere = [path for path in targets if path != case.path]
    causes = [outcome.cause for outcome in outcomes if outcome.suspect] or [last.cause]
    return Decision(
        path=case.path,
        hunk=number,
        action=action,
        stage=last.stage,
        to=elsewhere[0] if elsewhere else case.path,
        suspect=any(outcome.suspect for outcome in outcomes),
        cause=causes[0],
        evidence=tuple(dict.fromkeys(line for outcome in outcomes for line in outcome.evidence)),
        scope=case.scene.scope_of(outcomes[0].edit) if case.scene else "",
    )


def _action(outcomes: Sequence[Outcome]) -> Action:
    actions = {outcome.action for outcome in outcomes}
    if Action.UNRESOLVED in actions:
        return Action.UNRESOLVED
    if actions == {Action.DROPPED}:
        return Action.DROPPED
    if Action.DROPPED in actions:
        return Action.SHRUNK
    return Action.MOVED if Action.MOVED in actions else Action.CARRIED
