"""The outcome of `run`."""

from dataclasses import dataclass
from typing import ClassVar

from patchkit.results.smoke import Smoke
from patchkit.results.verify import Verify


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the main job. note: what it showed, in a few words."""

    name: str
    ok: bool
    seconds: float
    note: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A PatchkitError that ended a step, as a value."""

    what: str
    where: str
    found: str
    kept: str
    hint: str


@dataclass(frozen=True, slots=True)
class Job:
    """The main job of one pin.

    artifact: the image's digest, or the folder of the virtual environment.
    failed_with: the exit code of the step that failed, 0 if none did. failure: what it said, or its result.
    """

    pin: str
    engine: str
    steps: tuple[Step, ...]
    artifact: str
    failed_with: int
    failure: "Failure | Verify | Smoke | None"
    next_step: str


@dataclass(frozen=True, slots=True)
class Run:
    """`run`: apply, verify, build and smoke of each pin, in order."""

    verb: ClassVar[str] = "run"
    schema: ClassVar[int] = 1

    jobs: tuple[Job, ...]

    @property
    def exit_code(self) -> int:
        """That of the first step that failed."""
        return next((job.failed_with for job in self.jobs if job.failed_with), 0)
