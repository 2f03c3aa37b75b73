"""The outcome of `propose`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Propose:
    """`propose`: what was written for upstream. looked_at: the newest upstream that was found to lack the topic."""

    verb: ClassVar[str] = "propose"
    schema: ClassVar[int] = 1

    topic: str
    pin: str
    patch: str
    text: str
    branch: str
    repository: str
    looked_at: str
    todos: int

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be proposed raises."""
        return 0
