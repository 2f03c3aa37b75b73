"""The outcome of `matrix`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One image to verify, build and smoke."""

    name: str
    pin: str
    variant: str
    base: str
    platform: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """`matrix`: the cells, and the document for the engine. written: files and folders; empty: the text is shown."""

    verb: ClassVar[str] = "matrix"
    schema: ClassVar[int] = 1

    format: str
    cells: tuple[MatrixCell, ...]
    text: str
    written: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be split raises."""
        return 0
