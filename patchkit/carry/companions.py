"""Imports follow the code that needs them: into the file that moved code went to."""

from collections.abc import Sequence
from dataclasses import replace

from patchkit.carry.cases import Case
from patchkit.carry.compose import compose
from patchkit.carry.follow import Library
from patchkit.carry.imports import import_of, imported_names, insertion_of
from patchkit.carry.nouns import Action, Outcome, Piece, Source, Stage, join
from patchkit.carry.wording import words


def bring_imports(cases: Sequence[Case], library: Library) -> None:
    """Give each moved edit the imports that it lacks there; an import whose readers all moved goes with them."""
    for case in cases:
        if case.scene is None:
            continue
        brought: set[str] = set()
        for at, outcome in enumerate(case.outcomes):
            if outcome.action is Action.MOVED and not imported_names(outcome.edit, case.scene):
                case.outcomes[at] = _with_imports(outcome, case, cases, library)
                brought |= _bound_by(case.outcomes[at])
        for at, outcome in enumerate(case.outcomes):
            names = imported_names(outcome.edit, case.scene)
            if case.new_missing and names and names <= brought:
                evidence = f"{', '.join(sorted(names))} imported where the moved code needs it"
                targets = [one for one in case.outcomes if names & _bound_by(one)]
                case.outcomes[at] = Outcome(
                    outcome.edit, Action.MOVED, Stage.FOLLOW, (evidence,), _import_pieces(targets, names)
                )
                for position, one in enumerate(case.outcomes):
                    if one in targets:
                        case.outcomes[position] = replace(one, pieces=_other_pieces(one, names))


def _with_imports(outcome: Outcome, case: Case, cases: Sequence[Case], library: Library) -> Outcome:
    assert case.scene is not None
    path = outcome.pieces[0].path
    new = library.source(path)
    others = [piece for one in cases for each in one.outcomes for piece in each.pieces if piece.path == path]
    result = Source(join(compose(new.lines, others)))
    pieces = list(outcome.pieces)
    told = []
    for name in sorted(result.undefined & words(outcome.edit.new)):
        statement = import_of(name, case.scene.theirs)
        piece = insertion_of(statement, new, path, outcome.edit.at) if statement else None
        if piece is not None:
            pieces.append(piece)
            told.append(f"{name} imported in {path}")
    return replace(outcome, pieces=tuple(pieces), evidence=(*outcome.evidence, *told))


def _bound_by(outcome: Outcome) -> set[str]:
    """Return the names that an outcome's companion pieces import."""
    return {name for piece in outcome.pieces[1:] for name in words(piece.text)}


def _import_pieces(outcomes: Sequence[Outcome], names: frozenset[str]) -> tuple[Piece, ...]:
    return tuple(dict.fromkeys(piece for one in outcomes for piece in one.pieces[1:] if names & words(piece.text)))


def _other_pieces(outcome: Outcome, names: frozenset[str]) -> tuple[Piece, ...]:
    return (outcome.pieces[0], *(piece for piece in outcome.pieces[1:] if not names & words(piece.text)))
