"""The outcome of `diff`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ComparedHunk:
    """One hunk of two versions. old, new: `path#number`.

    change: unchanged, refreshed, edited, new, gone, or dropped (gone for a known cause). reason: that cause.
    """

    topic: str
    change: str
    old: str
    new: str
    section: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """`diff`: what changed between two versions of a series."""

    verb: ClassVar[str] = "diff"
    schema: ClassVar[int] = 1

    old: str
    new: str
    hunks: tuple[ComparedHunk, ...]

    @property
    def exit_code(self) -> int:
        """Always 0: a difference is an answer."""
        return 0
