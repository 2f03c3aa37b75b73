"""Drop what only dropped code needed: a name that the patch defines or imports and nobody reads any more."""

import re
from collections.abc import Sequence
from dataclasses import replace

from patchkit.carry.cases import Case
from patchkit.carry.nouns import Action, Cause, Edit, Outcome, Stage
from patchkit.carry.scene import telling
from patchkit.carry.vocabulary import defined_names, words

_IMPORT = re.compile(r"^(?:from\s+[\w.]+\s+)?import\s+(?P<names>[\w.,\s()]+)$")


def drop_needless(cases: Sequence[Case]) -> None:
    """Drop carried edits whose every name was read by dropped edits alone. Repeated until nothing changes."""
    changed = True
    while changed:
        changed = False
        for case in cases:
            for at, outcome in enumerate(case.outcomes):
                evidence = _needless(outcome, case, cases)
                if evidence:
                    case.outcomes[at] = replace(
                        outcome,
                        action=Action.DROPPED,
                        stage=Stage.NEEDLESS,
                        evidence=(evidence,),
                        pieces=(),
                        suspect=False,
                        cause=Cause.NEEDLESS,
                    )
                    changed = True


def _needless(outcome: Outcome, case: Case, cases: Sequence[Case]) -> str:
    """Return why an edit is needless; "" where it is not, or nothing shows it."""
    edit, scene = outcome.edit, case.scene
    if outcome.action not in {Action.CARRIED, Action.MOVED} or scene is None or edit.lo != edit.hi:
        return ""
    imported = imported_names(edit)
    if imported:
        readers = _readers(imported, edit, [case])
        if readers and all(one.action is Action.DROPPED for one in readers) and not imported & words(scene.new.lines):
            return f"only dropped hunks needed {', '.join(sorted(imported))}"
        return ""
    names = defined_names(edit.new) & scene.vocabulary.brought
    if not names or words(edit.new) & scene.vocabulary.brought != names:
        return ""
    readers = _readers(names, edit, cases)
    if readers and all(one.action is Action.DROPPED for one in readers):
        return f"only dropped hunks needed {', '.join(sorted(names))}"
    return ""


def imported_names(edit: Edit) -> frozenset[str]:
    """Return the names that an edit imports, if it does nothing else."""
    names: set[str] = set()
    for line in telling(edit.new):
        match = _IMPORT.match(line)
        if match is None:
            return frozenset()
        names |= {part.rpartition(" as ")[2].strip(" ()").rpartition(".")[2] for part in match["names"].split(",")}
    return frozenset(name for name in names if name)


def _readers(names: frozenset[str], edit: Edit, cases: Sequence[Case]) -> list[Outcome]:
    """Return the outcomes of the other edits that use one of the names."""
    return [
        outcome
        for case in cases
        for outcome in case.outcomes
        if outcome.edit is not edit and not imported_names(outcome.edit) and words(outcome.edit.new) & names
    ]
