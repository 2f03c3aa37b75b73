"""The outcome of `ledger`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Resolution:
    """One record. kind: resolution (of a conflict) or accepted (a doubt that was read)."""

    name: str
    path: str
    scope: str
    topic: str
    onto: str
    by: str
    when: str
    why: str
    kind: str = "resolution"


@dataclass(frozen=True, slots=True)
class Ledger:
    """`ledger`: the recorded resolutions and accepted doubts."""

    verb: ClassVar[str] = "ledger"
    schema: ClassVar[int] = 1

    resolutions: tuple[Resolution, ...]
    dropped: str = ""

    @property
    def exit_code(self) -> int:
        """Always 0: to show is to succeed."""
        return 0
