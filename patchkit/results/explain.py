"""The outcome of `explain`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Explained:
    """`explain`: one rule of verify."""

    verb: ClassVar[str] = "explain"
    schema: ClassVar[int] = 1

    rule: str
    family: str
    title: str
    why: str
    mend: str

    @property
    def exit_code(self) -> int:
        """Always 0."""
        return 0
