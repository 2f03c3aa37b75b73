"""The outcome of `inspect`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One file that is not as it must be."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class LabelProblem:
    """One label that says something else than what is there; what is there counts."""

    label: str
    says: str
    found: str


@dataclass(frozen=True, slots=True)
class Inspect:
    """`inspect`: what an image or a directory carries, told by its files.

    verdict: unmodified, modified, upstream (no series), unknown, or foreign: as its own record says, but no series of
    the store. pin: whose series it is, or comes nearest to. in_store: whether that series is the store's.
    """

    verb: ClassVar[str] = "inspect"
    schema: ClassVar[int] = 1

    target: str
    engine: str  # empty for a directory
    id: str
    verdict: str
    pin: str
    stated_version: str
    series: str
    topics: tuple[str, ...]
    in_store: bool
    touched: int
    compared: int
    problems: tuple[FileProblem, ...]
    lies: tuple[LabelProblem, ...]
    labels: Mapping[str, str]
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 for an unmodified series that is labelled as it is; 2 where none is known; else 4."""
        if self.verdict in ("upstream", "unknown"):
            return 2
        return 4 if self.verdict != "unmodified" or self.lies else 0
