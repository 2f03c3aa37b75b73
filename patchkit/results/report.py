"""The outcome of `report`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from patchkit.model import Topic


@dataclass(frozen=True, slots=True)
class ReportedHunk:
    """One hunk of a pin's sglang.patch, to be read.

    line, old_line: where it stands after and before the change; lines: with markers.
    above, below: upstream's lines around it, up to the next hunk; none where the release is not in the cache.
    """

    path: str
    number: int
    line: int
    old_line: int
    scope: str
    topics: tuple[str, ...]
    lines: tuple[str, ...]
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PinPage:
    """One pin as the report shows it.

    sha256: of sglang.patch; added, removed: lines of it; images: those that were pushed, as images.json records them.
    """

    pin: str
    commit: str
    tree: str
    sha256: str
    topics: tuple[str, ...]
    added: int
    removed: int
    hunks: tuple[ReportedHunk, ...]
    images: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PublishedTag:
    """One nightly tag that git knows. pin: as its commit says; date: of the tag, as "2026-08-10"."""

    tag: str
    date: str
    commit: str
    pin: str
    subject: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A JSON document that a verb wrote. file: below the folder that was given."""

    verb: str
    file: str
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """`report`: the store, and what the verbs have shown of it."""

    verb: ClassVar[str] = "report"
    schema: ClassVar[int] = 1

    version: str
    latest: str
    made: str
    topics: tuple[Topic, ...]
    pins: tuple[PinPage, ...]
    evidence: tuple[Evidence, ...]
    tags: tuple[PublishedTag, ...] = ()

    def documents(self, verb: str) -> tuple[Mapping[str, Any], ...]:
        """Return the documents of one verb, in the order of their file names."""
        return tuple(entry.document for entry in self.evidence if entry.verb == verb)

    @property
    def exit_code(self) -> int:
        """Always 0: a report tells, it does not judge."""
        return 0
