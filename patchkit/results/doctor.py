"""The outcome of `doctor`."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that doctor looked at. hint: the line that mends it."""

    name: str
    ok: bool
    found: str
    hint: str = ""
    needed: bool = True  # False: only some verbs want it


@dataclass(frozen=True, slots=True)
class Doctor:
    """`doctor`: what is here, what is missing."""

    verb: ClassVar[str] = "doctor"
    schema: ClassVar[int] = 1

    probes: tuple[Probe, ...]

    @property
    def exit_code(self) -> int:
        """6 when something that is needed is missing."""
        return 6 if any(probe.needed and not probe.ok for probe in self.probes) else 0
