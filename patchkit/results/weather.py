"""The outcome of `weather`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class WeatherColumn:
    """One upstream state. kind: release or commit. name: a version, or a commit id. day, subject: of a commit."""

    name: str
    kind: str
    day: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class WeatherChange:
    """A hunk's state, from the first column with it on. commit, subject: what brought it, where a clone tells."""

    column: str
    state: str
    to: str = ""
    evidence: tuple[str, ...] = ()
    commit: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class WeatherHunk:
    """One hunk. number: 0 for a file without hunks. states: one a column. changes: the same, with what says so.

    state: clean, offset, merge, moved, needless, upstreamed, partly upstreamed, suspect or conflict.
    """

    path: str
    number: int
    scope: str
    states: tuple[str, ...]
    changes: tuple[WeatherChange, ...]


@dataclass(frozen=True, slots=True)
class WeatherTopic:
    """One topic as a pin has it. states: of the topic as a whole, one a column.

    ended: the first column from which on its `until` is met; empty where it is not.
    """

    topic: str
    pin: str
    states: tuple[str, ...]
    until: str
    ended: str
    hunks: tuple[WeatherHunk, ...]


@dataclass(frozen=True, slots=True)
class Weather:
    """`weather`: what would become of each topic along upstream's releases or commits.

    commits, touching: how many commits of the range change python/sglang, and how many of them a file of the series.
    asked: how often the rebase engine was asked; the rest was remembered.
    missing: releases that could not be looked at. listed: when the index told its releases; empty: it never did.
    notes: what a reader must know about how far this can be trusted.
    """

    verb: ClassVar[str] = "weather"
    schema: ClassVar[int] = 1

    columns: tuple[WeatherColumn, ...]
    topics: tuple[WeatherTopic, ...]
    commits: int = 0
    touching: int = 0
    asked: int = 0
    missing: tuple[str, ...] = ()
    listed: str = ""
    notes: tuple[str, ...] = ()
    next_step: str = ""

    @property
    def exit_code(self) -> int:
        """Always 0: bad weather is an answer."""
        return 0
