"""The nouns: Pin, Topic, Series, Hunk, Placement, Fate ... frozen values, no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

CommitId = NewType("CommitId", str)  # 40 lower-case hex digits
BlobId = NewType("BlobId", str)  # 40 lower-case hex digits; may be shorter only where read from an index line
TreeId = NewType("TreeId", str)  # 40 lower-case hex digits

SOURCE_PREFIX = "python/sglang/"  # where the repository keeps what a wheel calls sglang/


# -- upstream ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distribution:
    """One file of the package index that holds an upstream version."""

    filename: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Pin:
    """The exact upstream state a series is written against."""

    version: str  # without the leading "v": "0.5.15.post1"
    commit: CommitId
    tree: TreeId  # git's tree id of python/sglang, as the wheel has it
    distribution: Distribution
    python: str = "3.12"  # the version that the images of this release run
    base_images: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The folder and tag name, with the leading "v"."""
        return f"v{self.version}"


# -- patch text -------------------------------------------------------------------------------------------


class LineKind(StrEnum):
    """What a line of a hunk does; the value is its marker."""

    CONTEXT = " "
    ADDED = "+"
    REMOVED = "-"


@dataclass(frozen=True, slots=True)
class HunkLine:
    """One line of a hunk: its text as in the file, with its line feed unless the file ends without one.

    spelling: what the patch writes otherwise than usual: the "\\ No newline" line as it stands there, or a line
    feed alone for an empty context line that lost its space. Not part of what the line means.
    """

    kind: LineKind
    text: bytes
    spelling: bytes = field(default=b"", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Hunk:
    """One `@@` block, named `path#number`.

    path: the file's path after the change (before it, for a deletion); surrogateescape keeps any byte.
    number: counts from 1 within its file.
    old_start, new_start: line numbers as stated in the header.
    section: what follows the second `@@`, without the line feed.
    patch_line: the line of the `@@` header in the patch file, from 1.
    header: the `@@` line as read; written again while it still says the same as the other fields.
    """

    path: str
    number: int
    old_start: int
    new_start: int
    lines: tuple[HunkLine, ...]
    section: bytes = b""
    patch_line: int = 0
    header: bytes = field(default=b"", compare=False, repr=False)

    @property
    def name(self) -> str:
        """`path#number`."""
        return f"{self.path}#{self.number}"

    @property
    def preimage(self) -> tuple[bytes, ...]:
        """The lines before the change."""
        return tuple(line.text for line in self.lines if line.kind is not LineKind.ADDED)

    @property
    def postimage(self) -> tuple[bytes, ...]:
        """The lines after the change."""
        return tuple(line.text for line in self.lines if line.kind is not LineKind.REMOVED)

    @property
    def added(self) -> tuple[bytes, ...]:
        """The added lines."""
        return tuple(line.text for line in self.lines if line.kind is LineKind.ADDED)

    @property
    def removed(self) -> tuple[bytes, ...]:
        """The removed lines."""
        return tuple(line.text for line in self.lines if line.kind is LineKind.REMOVED)


class ChangeKind(StrEnum):
    """What a section of a patch does to its file."""

    MODIFY = "modify"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"
    MODE = "mode"


class BinaryMethod(StrEnum):
    """How a block of a `GIT binary patch` gives the content of one side."""

    LITERAL = "literal"
    DELTA = "delta"


@dataclass(frozen=True, slots=True)
class BinaryBlock:
    """One block of a `GIT binary patch`.

    size: bytes of the content (LITERAL) or of the delta (DELTA), as stated.
    payload: compressed with zlib, no longer in base 85.
    raw: the block as read, its header line and the empty line at its end included.
    """

    method: BinaryMethod
    size: int
    payload: bytes = field(repr=False)
    raw: bytes = field(default=b"", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file: one `diff --git` section.

    old_path, new_path: without the a/ and b/; equal unless renamed or copied. For a created or deleted
    file both name the file.
    preimage_id, postimage_id: as on the `index` line, maybe abbreviated; empty where the line is missing;
    all zeros where the file does not exist on that side.
    old_mode, new_mode: octal text as "100644"; empty where the patch does not say.
    binary: the section is about binary content, whether or not the patch carries it.
    binary_blocks: forward, then backward if the patch has it.
    strip: how many leading directories were taken off the names: 1 for a/ and b/, 0 for --no-prefix.
    header: the lines before the first hunk as read; written again while they still say the same.
    trailer: what follows the last hunk: a signature, empty lines, the head of the next mail.
    """

    old_path: str
    new_path: str
    kind: ChangeKind
    hunks: tuple[Hunk, ...] = ()
    preimage_id: str = ""
    postimage_id: str = ""
    old_mode: str = ""
    new_mode: str = ""
    binary: bool = False
    patch_line: int = 0
    binary_blocks: tuple[BinaryBlock, ...] = ()
    strip: int = 1
    header: tuple[bytes, ...] = field(default=(), compare=False, repr=False)
    trailer: bytes = field(default=b"", compare=False, repr=False)

    @property
    def path(self) -> str:
        """The path that names this change: the new one, or the old one of a deleted file."""
        return self.old_path if self.kind is ChangeKind.DELETE else self.new_path


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch file as read: headers, sections, and the bytes that it came from."""

    files: tuple[FilePatch, ...]
    preamble: bytes = b""  # everything before the first section: mail and DEP-3 headers, message
    raw: bytes = field(default=b"", repr=False)


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
    until: the one whose merge will make the topic needless; or empty.
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
class TopicPatch:
    """A topic's patch in one pin's series."""

    topic: str
    patch: Patch


@dataclass(frozen=True, slots=True)
class Series:
    """The ordered topics of one pin. A later topic is written on the former's result."""

    pin: Pin
    topics: tuple[TopicPatch, ...]


# -- decisions --------------------------------------------------------------------------------------------


class Place(StrEnum):
    """How a hunk meets a file's present lines."""

    EXACT = "exact"
    OFFSET = "offset"
    NOWHERE = "nowhere"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a hunk lands.

    at: index from 0 of the first preimage line; None for NOWHERE and AMBIGUOUS.
    offset: signed number of lines from the stated place; None as above.
    candidates: every index at which the preimage stands, for AMBIGUOUS.
    """

    place: Place
    at: int | None = None
    offset: int | None = None
    candidates: tuple[int, ...] = ()


class Verdict(StrEnum):
    """How much of a series a checkout has."""

    PRISTINE = "pristine"
    PARTLY = "partly applied"  # the first so many topics, whole
    APPLIED = "applied"
    OLDER = "an older revision applied"
    MIXED = "mixed"  # some files with, some without
    UNKNOWN = "unknown"  # a file that is neither upstream's nor ours


class Fate(StrEnum):
    """What becomes of a hunk or topic at a new pin."""

    CARRY = "carry"
    DROP = "drop"
    PARTLY = "partly"
    SUSPECT = "suspect"
    CONFLICT = "conflict"


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


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after a series, whole. None: the file does not exist on that side."""

    path: str
    before: bytes | None
    after: bytes | None


# -- manifest ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LockedHunk:
    """One hunk of sglang.patch as the manifest locks it.

    scope: the qualified scope at the pin that the hunk was written for, as "Scheduler.abort_request".
    topics: the topics whose lines it holds, in series order.
    """

    number: int
    topics: tuple[str, ...]
    scope: str
    old_start: int
    new_start: int


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
