"""The outcome of `status`."""

from dataclasses import dataclass
from typing import ClassVar

from patchkit.model import Topic, UntilVerdict


@dataclass(frozen=True, slots=True)
class PinStatus:
    """One pin of the store. files, hunks: of its sglang.patch; 0 where the manifest was not generated yet."""

    pin: str
    topics: tuple[str, ...]
    files: int
    hunks: int
    upstream_cached: bool


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """One topic, and the pins that carry it."""

    topic: Topic
    pins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """`status`: pins, topics, staleness, and the next step. topic: the one that was asked for; empty: all.

    edits: the pins whose edit holds work. todos: the topics with a TODO in topics.toml. until: what became of each
    topic's `until` at the release judged_at, the newest that is here.
    """

    verb: ClassVar[str] = "status"
    schema: ClassVar[int] = 1

    topic: str
    version: str
    latest: str
    newest_upstream: str  # empty where it was not asked or not reached
    pins: tuple[PinStatus, ...]
    topics: tuple[TopicStatus, ...]
    next_step: str
    edits: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    until: tuple[UntilVerdict, ...] = ()
    judged_at: str = ""

    @property
    def exit_code(self) -> int:
        """Always 0: status tells, it does not judge."""
        return 0
