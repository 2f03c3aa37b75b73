"""The outcome of `edit`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Edit:
    """`edit`: the worktree in which a series can be changed.

    commits: each topic with its commit, in order. at: the topic whose commit is to be amended now; empty: all of
    them are there, the last on top. created: whether it was made now. aside: where a former edit was put.
    """

    verb: ClassVar[str] = "edit"
    schema: ClassVar[int] = 1

    pin: str
    folder: str
    commits: tuple[tuple[str, str], ...]
    at: str
    created: bool
    unfinished: tuple[str, ...] = ()
    aside: str = ""
    closed: bool = False

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be done raises."""
        return 0
