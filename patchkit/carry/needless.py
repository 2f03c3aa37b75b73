"""Drop what only dropped code needed: imports of the patch whose readers are all dropped."""

from collections.abc import Sequence

from patchkit.carry.cases import Case
from patchkit.carry.imports import imported_names
from patchkit.carry.nouns import Action, Cause, Edit, Outcome, Stage
from patchkit.carry.wording import words


def drop_needless(cases: Sequence[Case]) -> None:
    """Drop carried imports whose names only dropped edits read."""
    for case in cases:
        for at, outcome in enumerate(case.outcomes):
            evidence = _needless(outcome, case)
            if evidence:
                case.outcomes[at] = Outcome(
                    outcome.edit, Action.DROPPED, Stage.NEEDLESS, (evidence,), cause=Cause.NEEDLESS
                )


def _needless(outcome: Outcome, case: Case) -> str:
    """Return why an edit is needless; "" where it is not, or nothing shows it."""
    edit, scene = outcome.edit, case.scene
    if outcome.action not in {Action.CARRIED, Action.MOVED} or scene is None or edit.lo != edit.hi:
        return ""
    imported = imported_names(edit, scene)
    readers = _readers(imported, edit, case) if imported else []
    if readers and all(one.action is Action.DROPPED for one in readers) and not imported & scene.new.words:
        return f"only dropped hunks needed {', '.join(sorted(imported))}"
    return ""


def _readers(names: frozenset[str], edit: Edit, case: Case) -> list[Outcome]:
    """Return the outcomes of the file's other edits that use one of the names."""
    assert case.scene is not None
    return [
        outcome
        for outcome in case.outcomes
        if outcome.edit is not edit and not imported_names(outcome.edit, case.scene) and words(outcome.edit.new) & names
    ]
