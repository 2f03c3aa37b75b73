"""The outcome of `apply`; named tuples, for the reason that patchkit.patch.hunks gives."""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from patchkit.patch.hunks import Verdict


class AppliedFile(NamedTuple):
    """One file that `apply` changed, with its blob ids; all zeros: no file on that side."""

    path: str
    before: str
    after: str


class _AppliedFields(NamedTuple):
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


class Applied(_AppliedFields):
    """`apply`: what was in the checkout, and what was, or would be, changed.

    verdict, topics_before: as it was found. topics: what is in at the end, out of `series`.
    offsets: of the hunks that landed below or above their stated lines, by `path#number`.
    recovered: what was done about a command that had been interrupted here.
    """

    verb: ClassVar[str] = "apply"
    schema: ClassVar[int] = 1

    @property
    def exit_code(self) -> int:
        """0: a conflict or a foreign edit is an error, not a result."""
        return 0
