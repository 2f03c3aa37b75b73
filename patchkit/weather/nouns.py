"""The nouns of the weather: what a hunk would become on an upstream state, and the line of such states."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from patchkit.carry.nouns import Tree
from patchkit.patch.hunks import SOURCE_PREFIX, FilePatch
from patchkit.series.drafts import Draft


class State(StrEnum):
    """What a hunk, or a topic as a whole, would become; from the least to the most to worry about."""

    CLEAN = "clean"  # stands at its very lines
    OFFSET = "offset"  # stands, at other lines
    MERGE = "merge"  # upstream changed what is next to it; carried
    MOVED = "moved"  # its code is in another file now; carried there
    NEEDLESS = "needless"  # only what upstream took away, or has, needed it
    UPSTREAMED = "upstreamed"
    PARTLY = "partly upstreamed"
    SUSPECT = "suspect"  # carried or dropped, and a person should read it
    CONFLICT = "conflict"


_LANDED = (State.UPSTREAMED, State.NEEDLESS)


def worst(states: Iterable[State]) -> State:
    """Return the state of a topic whose hunks have these; one of which a part has landed is partly upstreamed."""
    found = set(states)
    if not found:
        return State.CLEAN
    for state in (State.CONFLICT, State.SUSPECT):
        if state in found:
            return state
    if found.intersection((*_LANDED, State.PARTLY)):
        return State.UPSTREAMED if found.issubset(_LANDED) else State.PARTLY
    return max(found, key=list(State).index)


@dataclass(frozen=True, slots=True)
class Sight:
    """What one hunk would become. path, number: its name in the patch, number 0 for a file without hunks."""

    path: str
    number: int
    state: State
    to: str = ""
    scope: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outlook:
    """What one topic would become on one upstream state. outside: other files that hunks of it would go to."""

    sights: tuple[Sight, ...]
    outside: tuple[str, ...] = ()

    @property
    def states(self) -> tuple[State, ...]:
        """The state of each hunk, in the patch's order."""
        return tuple(sight.state for sight in self.sights)


@dataclass(frozen=True, slots=True)
class Row:
    """One topic as a pin has it.

    old: the pin with the topics before it. below: those topics, as far as they share files with it, in order.
    key: a digest of all of that.
    """

    topic: str
    pin: str
    draft: Draft
    old: Tree
    below: tuple["Row", ...]
    key: str

    @property
    def sections(self) -> list[FilePatch]:
        """What it does to files of python/sglang/."""
        assert self.draft.former is not None
        return [section for section in self.draft.former.files if section.path.startswith(SOURCE_PREFIX)]

    @property
    def own_paths(self) -> list[str]:
        """The files that the topic names."""
        return sorted({path for section in self.sections for path in (section.old_path, section.new_path)})

    @property
    def paths(self) -> list[str]:
        """The files whose content decides: its own, and those of the topics below it."""
        return sorted({*self.own_paths, *(path for row in self.below for path in row.own_paths)})


class Line(Protocol):
    """Upstream states in their order, from 0."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def blob(self, at: int, path: str) -> str:
        """Return the id of a file's content; empty where there is no such file."""
        ...

    def tree(self, at: int) -> Tree:
        """Return the whole state."""
        ...

    def next_change(self, after: int, paths: Sequence[str]) -> int | None:
        """Return the first state after this one in which one of the files differs from the state before it."""
        ...

    def texts(self, at: int, path: str) -> dict[str, bytes]:
        """Return the content that a file has here by its id, and maybe what it has in later states."""
        ...
