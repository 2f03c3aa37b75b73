"""Hunks of which upstream has nearly all: the rest is dropped with them, named in the evidence."""

from collections import Counter
from collections.abc import Sequence

from patchkit.carry.cases import Case
from patchkit.carry.likeness import is_like_fresh
from patchkit.carry.nouns import Action, Cause, Outcome, Stage
from patchkit.carry.scene import Scene
from patchkit.carry.upstreamed import keeps_replaced
from patchkit.carry.wording import bound_names, telling, words

NEARLY_ALL = 0.75
LEAST_LINES = 4


def drop_nearly_landed(cases: Sequence[Case]) -> None:
    """Drop hunks of which upstream newly has nearly every line in the same scope, and what only they bound."""
    for case in cases:
        scene = case.scene
        if scene is None or case.new_missing or scene.base.data == scene.new.data:
            continue
        for number in sorted({outcome.edit.hunk for outcome in case.outcomes}):
            at = [position for position, one in enumerate(case.outcomes) if one.edit.hunk == number]
            if all(case.outcomes[position].action is Action.DROPPED for position in at):
                continue
            evidence = _nearly_landed([case.outcomes[position] for position in at], scene)
            if evidence:
                for position in at:
                    case.outcomes[position] = _dropped(case.outcomes[position], evidence)
        _drop_unbound(case, scene)
        _drop_unread(case, scene)


def _nearly_landed(outcomes: Sequence[Outcome], scene: Scene) -> str:
    gain: Counter[str] = Counter()
    loss: Counter[str] = Counter()
    for outcome in outcomes:
        gain.update(telling(outcome.edit.new))
        loss.update(telling(scene.base.lines[outcome.edit.lo : outcome.edit.hi]))
    novel = gain - loss
    scope = scene.scope_of(outcomes[0].edit)
    if len(novel) < LEAST_LINES or not scene.has_scope(scope):
        return ""
    if any(keeps_replaced(outcome.edit, scene) for outcome in outcomes):
        return ""
    fresh = scene.counts(scene.new, scope) - scene.counts(scene.base, scope)
    common = [line for line in novel if fresh[line] or is_like_fresh(line, scene)]
    exact = [line for line in novel if fresh[line]]
    if len(common) < NEARLY_ALL * len(novel) or 2 * len(exact) < len(novel):
        return ""
    rest = [line for line in novel if line not in common]
    told = f"upstream newly has {len(common)} of its {len(novel)} lines in {scope} of {scene.path}, or nearly"
    return told + (f"; not: {'; '.join(rest[:3])}" if rest else "")


def _drop_unbound(case: Case, scene: Scene) -> None:
    """Drop edits that read a name which only edits bound that are dropped as upstream has them."""
    dropped = [one for one in case.outcomes if one.action is Action.DROPPED]
    alive = [one for one in case.outcomes if one.action is not Action.DROPPED]
    bound = frozenset().union(*(bound_names(one.edit.new) for one in dropped))
    bound -= frozenset().union(*(bound_names(one.edit.new) for one in alive)) | scene.new.words
    for at, outcome in enumerate(case.outcomes):
        read = words(outcome.edit.new) & bound
        if outcome.action is not Action.DROPPED and read:
            evidence = f"what binds {', '.join(sorted(read))} is dropped: upstream has it in another form"
            case.outcomes[at] = _dropped(outcome, evidence)


def _drop_unread(case: Case, scene: Scene) -> None:
    """Drop unresolved edits that only bind another name on the way, when all that read it is dropped."""
    for at, outcome in enumerate(case.outcomes):
        edit = outcome.edit
        if outcome.action is not Action.UNRESOLVED:
            continue
        names = words(edit.new) - words(scene.base.lines[edit.lo : edit.hi])
        readers = [one for one in case.outcomes if one.edit is not edit and words(one.edit.new) & names]
        if not names or not names <= bound_names(edit.new) or names & scene.new.words or not readers:
            continue
        if all(one.action is Action.DROPPED for one in readers):
            case.outcomes[at] = _dropped(outcome, f"only dropped hunks read {', '.join(sorted(names))}")


def _dropped(outcome: Outcome, evidence: str) -> Outcome:
    if outcome.action is Action.DROPPED:
        return outcome
    return Outcome(outcome.edit, Action.DROPPED, Stage.UPSTREAMED, (evidence,), cause=Cause.UPSTREAMED)
