"""The outcome of `verify`."""

from dataclasses import dataclass
from typing import ClassVar

from patchkit.model import Finding, Severity


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that pin.toml accepts. until: the last day on which it does, as "2027-01-31"."""

    finding: Finding
    reason: str
    until: str


@dataclass(frozen=True, slots=True)
class Verified:
    """One series that was looked at. not_run: what could not be looked at, and why; never silently less."""

    name: str
    topics: tuple[str, ...]
    files: int
    hunks: int
    findings: tuple[Finding, ...]
    accepted: tuple[Accepted, ...] = ()
    not_run: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def errors(self) -> int:
        """How many findings make verify fail."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings are told and do not make it fail."""
        return sum(finding.severity is Severity.WARNING for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Verify:
    """`verify`: what was proven of each series, and what was not."""

    verb: ClassVar[str] = "verify"
    schema: ClassVar[int] = 1

    subjects: tuple[Verified, ...]

    @property
    def exit_code(self) -> int:
        """4 when a rule or a guard fails."""
        return 4 if any(subject.errors for subject in self.subjects) else 0
