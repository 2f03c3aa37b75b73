"""The outcome of `smoke`."""

from dataclasses import dataclass
from typing import ClassVar

from patchkit.model import Outcome, SmokeVerdict


@dataclass(frozen=True, slots=True)
class Smoke:
    """`smoke`: every test with its verdict. seconds: of the whole; base: empty when no control run was made."""

    verb: ClassVar[str] = "smoke"
    schema: ClassVar[int] = 1

    pin: str
    engine: str
    image: str
    base: str
    control: bool
    remembered: bool  # the control run is an earlier one: the same tests in the same base
    tests: tuple[SmokeVerdict, ...]
    seconds: float
    kept: tuple[str, ...]  # containers that were asked to be kept

    @property
    def exit_code(self) -> int:
        """5 when a test is not as it must be, or when all of them were skipped."""
        ran = any(test.with_series is not Outcome.SKIPPED for test in self.tests)
        return 5 if not ran or any(test.problem for test in self.tests) else 0
