"""Carry a topic to an upstream state and tell what became of each hunk; the rebase engine decides."""

from collections.abc import Iterator

from patchkit.carry.engine import carry_patch
from patchkit.carry.nouns import Action, Carried, Cause, Decision, Stage, Tree
from patchkit.patch.hunks import ChangeKind, FilePatch, Place
from patchkit.patch.patchtext import split_lines
from patchkit.patch.place import place_hunks
from patchkit.upstream.trees import LayeredTree
from patchkit.weather.nouns import Outlook, Row, Sight, State


class Sky:
    """One upstream state, and the topics as they were carried to it; each once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._carried: dict[str, Carried] = {}

    def look(self, row: Row) -> Outlook:
        """Return what the topic becomes here, on top of what the topics before it become."""
        new = self._below(row)
        carried = self._carry(row, new)
        places = dict(_places(row, new))
        sights = tuple(
            Sight(one.path, one.hunk, _state(one, places), one.to, one.scope, one.evidence) for one in carried.decisions
        )
        own = row.paths
        return Outlook(sights, tuple(sorted({one.to for one in sights if one.to and one.to not in own})))

    def _carry(self, row: Row, new: LayeredTree) -> Carried:
        if row.key not in self._carried:
            new.load(row.own_paths)
            self._carried[row.key] = carry_patch(row.sections, row.old, new)
        return self._carried[row.key]

    def _below(self, row: Row) -> LayeredTree:
        files: dict[str, bytes | None] = {}
        for earlier in row.below:
            files.update(self._carry(earlier, self._below(earlier)).clean)
        return LayeredTree(self.tree, files)


def _places(row: Row, new: LayeredTree) -> Iterator[tuple[tuple[str, int], Place]]:
    """Yield where the whole preimage of each hunk stands."""
    for section in row.sections:
        text = new.read(section.old_path)
        if section.kind is ChangeKind.CREATE:
            yield from (((section.path, number), Place.EXACT) for number in _numbers(section) if text is None)
        elif text is not None:
            placements = place_hunks(section.hunks, split_lines(text), twins=False)
            for hunk, placement in zip(section.hunks, placements, strict=True):
                yield (section.path, hunk.number), placement.place
            yield (section.path, 0), Place.EXACT


def _numbers(section: FilePatch) -> list[int]:
    return [0, *(hunk.number for hunk in section.hunks)]


def _state(one: Decision, places: dict[tuple[str, int], Place]) -> State:
    if one.action is Action.UNRESOLVED:
        return State.CONFLICT
    if one.suspect:
        return State.SUSPECT
    match one.action:
        case Action.DROPPED:
            landed = Stage.UPSTREAMED is one.stage or one.cause is Cause.UPSTREAMED
            return State.UPSTREAMED if landed else State.NEEDLESS
        case Action.SHRUNK:
            return State.PARTLY
        case Action.MOVED:
            return State.MOVED
        case Action.CARRIED:
            match places.get((one.path, one.hunk), Place.NOWHERE):
                case Place.EXACT:
                    return State.CLEAN
                case Place.OFFSET:
                    return State.OFFSET
                case Place.NOWHERE | Place.AMBIGUOUS:
                    return State.MERGE
