"""The outcome of `split`, `squash` and `topic`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Reshape:
    """`split`, `squash`, `topic ...`: a series whose topics changed, and whose result did not unless one was dropped.

    changed, removed: paths. same_result: every file ends as before, by blob id. plan: the text of a plan to edit, where
    that was asked for.
    """

    verb: ClassVar[str] = "reshape"
    schema: ClassVar[int] = 1

    pin: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    changed: tuple[str, ...]
    same_result: bool
    dry_run: bool = False
    plan: str = ""
    notes: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be done raises."""
        return 0
