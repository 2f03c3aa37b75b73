"""The outcome of `bump`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Bump:
    """`bump`: the next nightly tag. published: how many tags it had to come after. malformed: passed over."""

    verb: ClassVar[str] = "bump"
    schema: ClassVar[int] = 1

    previous: str
    tag: str
    published: int
    malformed: tuple[str, ...]
    files: tuple[str, ...]
    dry_run: bool

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be bumped raises."""
        return 0
