"""The nouns: Pin, Topic, Series, Finding ... frozen values, no I/O. Those of patch text are in patch/hunks.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from patchkit.patch.hunks import BlobId, TopicPatch

CommitId = NewType("CommitId", str)  # 40 lower-case hex digits
TreeId = NewType("TreeId", str)  # 40 lower-case hex digits


# -- upstream ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distribution:
    """One file of the package index that holds an upstream version."""

    filename: str
    sha256: str


@dataclass(frozen=True, slots=True)
class GitSource:
    """A commit of a repository; the pin's `commit` names it. location: a URL, or the path of a clone."""

    location: str


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """A directory as it stood once; the pin's `tree` tells whether it still is what it was."""

    path: str


Source = Distribution | GitSource | DirectorySource


@dataclass(frozen=True, slots=True)
class Pin:
    """The exact upstream state a series is written against."""

    version: str  # without the leading "v": "0.5.15.post1", "0.5.15+g1a2b3c4d5e" between releases
    commit: CommitId
    tree: TreeId  # git's tree id of python/sglang, as the source has it
    source: Source
    python: str = "3.12"  # the version that the images of this release run
    base_images: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The folder and tag name, with the leading "v"."""
        return f"v{self.version}"


# -- series -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that a topic adds. zero, negative, garbage: what such a value does."""

    name: str
    unit: str
    default: str
    meaning: str
    zero: str
    negative: str
    garbage: str


@dataclass(frozen=True, slots=True)
class Topic:
    """One purpose, one patch file.

    fault: what goes wrong without it, in one sentence that an operator understands.
    upstream: issues and pull requests, as "sgl-project/sglang#30203".
    until: what will make the topic needless, as patchkit.until reads it; or empty.
    since, fixed_in: the first upstream version with a fault of the topic, and the first without any; or empty.
    client: what a client of the server sees.
    """

    name: str
    title: str
    fault: str
    why: str
    upstream: tuple[str, ...] = ()
    lifecycle: str = "carry"
    until: str = ""
    since: str = ""
    fixed_in: str = ""
    guards: tuple[str, ...] = ()
    smoke: tuple[str, ...] = ()
    client: str = ""
    environment: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """The ordered topics of one pin. A later topic is written on the former's result."""

    pin: Pin
    topics: tuple[TopicPatch, ...]


# -- findings ---------------------------------------------------------------------------------------------


class Severity(StrEnum):
    """How a finding counts: an ERROR makes verify fail, a WARNING and a NOTE do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule, with what it takes to act.

    rule: stable id, as "PK301".
    path, line: in the checkout; line 0 = the whole file.
    patch_file, patch_line: in the patch that brought it.
    hint: a command that can be pasted, or one sentence.
    """

    rule: str
    severity: Severity
    message: str
    topic: str = ""
    path: str = ""
    line: int = 0
    scope: str = ""
    patch_file: str = ""
    patch_line: int = 0
    found: str = ""
    hint: str = ""


# -- manifest ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LockedHunk:
    """One hunk of sglang.patch as the manifest locks it.

    scope: the qualified scope at the pin that the hunk was written for, as "Scheduler.abort_request".
    between: the blocks and the statements of upstream that it stands between, as "for#2/if: 3-4"; rules/between.py.
    topics: the topics whose lines it holds, in series order.
    """

    number: int
    topics: tuple[str, ...]
    scope: str
    old_start: int
    new_start: int
    between: str = ""


@dataclass(frozen=True, slots=True)
class LockedFile:
    """One touched file as the manifest locks it. None: the file does not exist on that side."""

    path: str
    mode: str
    preimage: BlobId | None
    postimage: BlobId | None
    hunks: tuple[LockedHunk, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a series does to its pin, locked by hashes. sha256: of sglang.patch; topics: name -> sha256 of its file."""

    version: str
    commit: CommitId
    tree: TreeId
    sha256: str
    topics: Mapping[str, str]
    files: tuple[LockedFile, ...]


class Met(StrEnum):
    """Whether a condition holds."""

    YES = "met"
    NO = "not met"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class UntilVerdict:
    """What became of a topic's `until` at a release. evidence: what says so."""

    topic: str
    until: str
    met: Met
    evidence: str


# -- images -----------------------------------------------------------------------------------------------


class EngineName(StrEnum):
    """What builds an image and runs something in it."""

    PODMAN = "podman"
    DOCKER = "docker"
    VENV = "venv"


# -- smoke ------------------------------------------------------------------------------------------------


class SmokeKind(StrEnum):
    """What a smoke test claims. UNKNOWN: it does not say."""

    FAULT = "fault"  # fails without the series, passes with it
    REGRESSION = "regression"  # passes on both
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """How a smoke test ended. FAULT: its own expectation failed; DRIFT: anything else, never a pass."""

    OK = "ok"
    FAULT = "fault"
    DRIFT = "drift"
    SKIPPED = "skipped"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class SmokeCase:
    """One smoke test in one run."""

    name: str
    topic: str
    kind: SmokeKind
    fault: str
    outcome: Outcome
    seconds: float
    message: str


@dataclass(frozen=True, slots=True)
class SmokeVerdict:
    """One smoke test, judged. without: None when no control run was made. problem: empty when all is as it must be."""

    name: str
    topic: str
    kind: SmokeKind
    fault: str
    with_series: Outcome
    without: Outcome | None
    seconds: float
    problem: str
    message: str


class MatrixFormat(StrEnum):
    """An engine that runs many cells of work."""

    GITHUB = "github"
    GITLAB = "gitlab"
    BAKE = "bake"
