"""The outcome of `import`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

ADOPTED = "already adopted, as it is"  # why a set is not taken a second time


class TroubleKind(StrEnum):
    """What is wrong with a patch folder as it was found."""

    UNREADABLE = "cannot be read"
    WRONG_LABEL = "wrong label"
    MIXED = "written for no release"
    NO_INDEX = "no index lines"
    NO_PLACE = "does not apply"
    UPSTREAM = "already upstream"
    TWICE = "defined or applied twice"
    MISPLACED = "in the wrong place"
    REPEATED = "its text stands in other places too"
    OFFSET = "line numbers are off"
    CHANGED = "other result than promised"
    NEVER_APPLIED = "never applied"
    TOLERANT = "applied without proof"
    COPY = "copy of another folder"
    SAME_PIN = "second set for one pin"
    BACKWARDS = "tag went backwards"
    OUTSIDE = "not verifiable from a wheel"
    FOREIGN = "not for sglang"
    REWRITTEN = "paths rewritten"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that a person should know before the folder is trusted. rule: as `patchkit explain` knows it."""

    kind: TroubleKind
    where: str
    what: str
    found: str = ""
    hint: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class AdoptedTopic:
    """One patch file that became a topic. paths outside python/sglang are carried and not counted in files."""

    topic: str
    source: str
    files: int
    hunks: int
    outside: int


@dataclass(frozen=True, slots=True)
class AdoptedPin:
    """One set of patch files. pin: empty where none was found. reason: why it was not, or would not be, written."""

    label: str
    pin: str
    same: int
    blobs: int
    ties: tuple[str, ...]
    order: str
    topics: tuple[AdoptedTopic, ...]
    composes: bool
    written: bool
    reason: str = ""
    left_out: tuple[str, ...] = ()  # files in the pin's folder with the hunks that have no place


@dataclass(frozen=True, slots=True)
class Adopt:
    """`import`: what was adopted, and what is wrong with it."""

    verb: ClassVar[str] = "adopt"
    schema: ClassVar[int] = 1

    sets: tuple[AdoptedPin, ...]
    troubles: tuple[Trouble, ...]
    written: tuple[str, ...]
    dry_run: bool
    next_step: str
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """2 when not one set is adopted, now or before; troubles alone are a report, not a failure."""
        return 0 if any(each.pin and each.reason in ("", ADOPTED) for each in self.sets) else 2
