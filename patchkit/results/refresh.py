"""The outcome of `refresh`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class TopicState(StrEnum):
    """What an export of an edit makes of one topic."""

    UNCHANGED = "unchanged"
    REFRESHED = "refreshed only"  # other line numbers, context or ids; it adds and removes the same lines
    REWORDED = "reworded"  # other author, date or message; it adds and removes the same lines
    EDITED = "edited"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic of a series that was, or would be, written again."""

    topic: str
    state: TopicState


@dataclass(frozen=True, slots=True)
class Refresh:
    """`refresh`: which files of a pin were, or would be, written again.

    topics: where an edit was taken over, or patches were made canonical. edit: the worktree that it came from.
    """

    verb: ClassVar[str] = "refresh"
    schema: ClassVar[int] = 1

    pin: str
    changed: tuple[str, ...]
    check: bool
    topics: tuple[TopicChange, ...] = ()
    edit: str = ""

    @property
    def exit_code(self) -> int:
        """4 when a check found a file that is not current."""
        return 4 if self.check and self.changed else 0
