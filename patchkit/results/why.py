"""The outcome of `why`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class WhyHunk:
    """One hunk that made a line what it is. line: of the patched file, where its change begins."""

    topic: str
    title: str
    why: str
    hunk: str
    patch_file: str
    patch_line: int
    line: int
    scope: str
    upstream: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """`why`: what brought a line. line: 0 for the whole file. upstream_line: at the pin, if it is upstream's line."""

    verb: ClassVar[str] = "why"
    schema: ClassVar[int] = 1

    pin: str
    path: str
    line: int
    text: str
    hunks: tuple[WhyHunk, ...]
    upstream_line: int = 0

    @property
    def exit_code(self) -> int:
        """Always 0: a line of upstream is an answer."""
        return 0
