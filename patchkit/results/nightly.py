"""The outcome of `nightly`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from patchkit.results.run import Step


@dataclass(frozen=True, slots=True)
class Nightly:
    """`nightly`: what became of it. outcome: published, nothing, planned or failed; folder: with the report.

    failure: what the failed step said, as it prints an error: what, where, found, kept, hint.
    """

    verb: ClassVar[str] = "nightly"
    schema: ClassVar[int] = 1

    outcome: str
    reason: str
    tag: str
    pin_from: str
    pin_to: str
    branch: str
    commit: str
    steps: tuple[Step, ...]
    failed_with: int
    failure: Mapping[str, str]
    folder: str
    notes: tuple[str, ...]
    next_step: str

    @property
    def exit_code(self) -> int:
        """That of the step that failed."""
        return self.failed_with
