"""The outcome of `apply`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from patchkit.hunks import Verdict


@dataclass(frozen=True, slots=True)
class AppliedFile:
    """One file that `apply` changed, with its blob ids; all zeros: no file on that side."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Applied:
    """`apply`: what was in the checkout, and what was, or would be, changed.

    verdict, topics_before: as it was found. topics: what is in at the end, out of `series`.
    offsets: of the hunks that landed below or above their stated lines, by `path#number`.
    recovered: what was done about a command that had been interrupted here.
    """

    verb: ClassVar[str] = "apply"
    schema: ClassVar[int] = 1

    checkout: str
    label: str
    verdict: Verdict
    topics_before: tuple[str, ...]
    topics: tuple[str, ...]
    series: tuple[str, ...]
    reverse: bool
    dry_run: bool
    files: tuple[AppliedFile, ...]
    hunks: int
    offsets: Mapping[str, int]
    recovered: str

    @property
    def exit_code(self) -> int:
        """0: a conflict or a foreign edit is an error, not a result."""
        return 0
