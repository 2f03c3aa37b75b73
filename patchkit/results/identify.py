"""The outcome of `identify`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Stray:
    """One file that is not the nearest release's. versions: the releases that have this content."""

    path: str
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identify:
    """`identify`: the release that a patch or a tree belongs to. same: how many of `blobs` are its own.

    ties: releases that fit exactly as well. notes: what could not be looked at. series: the store's pin whose series
    is in the tree; empty: none. topics: those that are in; strays are then the files that it does not touch.
    """

    verb: ClassVar[str] = "identify"
    schema: ClassVar[int] = 1

    path: str
    version: str  # empty where no blob is of any release
    same: int
    blobs: int
    mixed: bool
    ties: tuple[str, ...]
    strays: tuple[Stray, ...]
    looked_at: int
    notes: tuple[str, ...] = ()
    series: str = ""
    topics: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """2 when it is of no release; else 0: a nearest release is an answer."""
        return 0 if self.version else 2
