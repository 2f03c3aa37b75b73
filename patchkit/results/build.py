"""The outcome of `build`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """One image as it was built. image: its digest, or the folder of a virtual environment; base_id: likewise."""

    pin: str
    engine: str
    image: str
    tag: str
    base: str
    base_id: str
    series: str  # sha256 of sglang.patch
    topics: tuple[str, ...]
    files: int
    seconds: float
    pushed: str = ""  # the digest that the registry knows it by


@dataclass(frozen=True, slots=True)
class Build:
    """`build`: the images, in the order that was asked for."""

    verb: ClassVar[str] = "build"
    schema: ClassVar[int] = 1

    images: tuple[BuiltImage, ...]

    @property
    def exit_code(self) -> int:
        """Always 0: a build that fails raises."""
        return 0
