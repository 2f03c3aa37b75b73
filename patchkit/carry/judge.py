"""Judge every carried edit before it may be called carried; what fails is suspect, never clean."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from patchkit.carry.attributes import lacks_attribute
from patchkit.carry.cases import Case
from patchkit.carry.contracts import renamed_parameters
from patchkit.carry.follow import Library
from patchkit.carry.imports import imported_elsewhere
from patchkit.carry.likeness import copied_anchor, copied_sibling, half_upstreamed, rewritten_pattern
from patchkit.carry.nouns import Action, Cause, Outcome, Stage
from patchkit.carry.places import both_extend, parted_place
from patchkit.carry.references import broken_chain, gone_from_tree, half_landed, places_of_words, stale_reference
from patchkit.carry.results import judge_results
from patchkit.carry.scene import Scene
from patchkit.carry.twins import twin_beside

CARRIED = frozenset({Action.CARRIED, Action.MOVED})

Check = Callable[[Outcome, Scene, Library], str]
CHECKS: tuple[tuple[Cause, Check], ...] = (
    (Cause.UPSTREAMED, half_landed),
    (Cause.UPSTREAMED, half_upstreamed),
    (Cause.UPSTREAMED, twin_beside),
    (Cause.OBSOLETED, rewritten_pattern),
    (Cause.AMBIGUOUS, copied_anchor),
    (Cause.OBSOLETED, copied_sibling),
    (Cause.AMBIGUOUS, parted_place),
    (Cause.AMBIGUOUS, both_extend),
    (Cause.DUPLICATE, imported_elsewhere),
    (Cause.STALE, stale_reference),
    (Cause.STALE, lacks_attribute),
)


def judge(cases: Sequence[Case], library: Library, earlier: Library) -> None:
    """Mark the carried edits that fail a check as suspect, with the evidence. earlier: the old tree's files."""
    checks: tuple[tuple[Cause, Check], ...] = (
        *CHECKS,
        (Cause.STALE, partial(gone_from_tree, earlier=earlier)),
        (Cause.SIGNATURE, partial(renamed_parameters, earlier=earlier)),
    )
    judge_results(cases, library)
    for case in cases:
        if case.scene is None:
            continue
        for at, outcome in enumerate(case.outcomes):
            if outcome.action in CARRIED and outcome.stage is not Stage.UNCHANGED:
                case.outcomes[at] = _checked(outcome, _target(outcome, case.scene, library), library, checks)
    _spread(cases)


def _checked(outcome: Outcome, scene: Scene, library: Library, checks: Iterable[tuple[Cause, Check]]) -> Outcome:
    for cause, check in checks:
        found = check(outcome, scene, library)
        if found:
            return suspected(outcome, cause, found)
    return outcome


def suspected(outcome: Outcome, cause: Cause, evidence: str) -> Outcome:
    """Return the outcome marked for a person; the first cause stays."""
    return replace(
        outcome, suspect=True, cause=outcome.cause if outcome.suspect else cause, evidence=(*outcome.evidence, evidence)
    )


def _target(outcome: Outcome, scene: Scene, library: Library) -> Scene:
    """Return the scene with the text that the edit went to."""
    path = outcome.pieces[0].path if outcome.pieces else scene.path
    if path == scene.path:
        return scene
    return replace(scene, path=path, new=library.source(path), is_elsewhere=True)


def _spread(cases: Sequence[Case]) -> None:
    """Mark what hangs on suspect or unresolved edits alone, until nothing changes."""
    places = places_of_words(cases)
    changed = True
    while changed:
        changed = False
        for case, at, outcome in _unflagged(cases):
            found = broken_chain(outcome, case, places)
            if found:
                case.outcomes[at] = suspected(outcome, Cause.NEEDLESS, found)
                changed = True


def _unflagged(cases: Sequence[Case]) -> Iterator[tuple[Case, int, Outcome]]:
    for case in cases:
        for at, outcome in enumerate(case.outcomes):
            if outcome.action in CARRIED and not outcome.suspect:
                yield case, at, outcome
