"""The nouns of patch text: Patch, FilePatch, Hunk, Placement; frozen values, no I/O.

Apart from model.py, which has all nouns, because `apply` needs only these. Named tuples, because it needs them at
once: a frozen dataclass takes 0.5 ms to define, a named tuple 0.1 ms.
"""

from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, NewType

SOURCE_PREFIX = "python/sglang/"  # where the repository keeps what a wheel calls sglang/

BlobId = NewType("BlobId", str)  # 40 lower-case hex digits; may be shorter only where read from an index line


class LineKind(StrEnum):
    """What a line of a hunk does; the value is its marker."""

    CONTEXT = " "
    ADDED = "+"
    REMOVED = "-"


class HunkLine(NamedTuple):
    """One line of a hunk: its text as in the file, with its line feed unless the file ends without one.

    A tuple, as a patch has thousands of them. Two lines are equal if they mean the same.

    spelling: what the patch writes otherwise than usual: the "\\ No newline" line as it stands there, or a line
    feed alone for an empty context line that lost its space. Not part of what the line means.
    """

    kind: LineKind
    text: bytes
    spelling: bytes = b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HunkLine) and self[:2] == other[:2]

    def __hash__(self) -> int:
        return hash(self[:2])


class _HunkFields(NamedTuple):
    path: str
    number: int
    old_start: int
    new_start: int
    lines: tuple[HunkLine, ...]
    section: bytes = b""
    patch_line: int = 0
    header: bytes = b""


class Hunk(_HunkFields):
    """One `@@` block, named `path#number`.

    path: the file's path after the change (before it, for a deletion); surrogateescape keeps any byte.
    number: counts from 1 within its file.
    old_start, new_start: line numbers as stated in the header.
    section: what follows the second `@@`, without the line feed.
    patch_line: the line of the `@@` header in the patch file, from 1.
    header: the `@@` line as read; written again while it still says the same as the other fields. Not part of what
    the hunk means.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hunk) and self[:7] == other[:7]

    def __hash__(self) -> int:
        return hash(self[:7])

    @property
    def name(self) -> str:
        """`path#number`."""
        return f"{self.path}#{self.number}"

    @cached_property
    def preimage(self) -> tuple[bytes, ...]:
        """The lines before the change."""
        added = LineKind.ADDED
        return tuple([line.text for line in self.lines if line.kind is not added])

    @cached_property
    def postimage(self) -> tuple[bytes, ...]:
        """The lines after the change."""
        removed = LineKind.REMOVED
        return tuple([line.text for line in self.lines if line.kind is not removed])

    @property
    def old_count(self) -> int:
        """The number of lines before the change."""
        return len(self.preimage)

    @property
    def new_count(self) -> int:
        """The number of lines after the change."""
        return len(self.postimage)

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


class BinaryBlock(NamedTuple):
    """One block of a `GIT binary patch`.

    size: bytes of the content (LITERAL) or of the delta (DELTA), as stated.
    payload: compressed with zlib, no longer in base 85.
    raw: the block as read, its header line and the empty line at its end included.
    """

    method: BinaryMethod
    size: int
    payload: bytes
    raw: bytes = b""


class FilePatch(NamedTuple):
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
    trailer: what follows the last hunk: a signature, empty lines, the head of the next mail. Neither is part of what
    the section means.
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
    header: tuple[bytes, ...] = ()
    trailer: bytes = b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilePatch) and self[:12] == other[:12]

    def __hash__(self) -> int:
        return hash(self[:12])

    @property
    def path(self) -> str:
        """The path that names this change: the new one, or the old one of a deleted file."""
        return self.old_path if self.kind is ChangeKind.DELETE else self.new_path


class Patch(NamedTuple):
    """One patch file as read: headers, sections, and the bytes that it came from."""

    files: tuple[FilePatch, ...]
    preamble: bytes = b""  # everything before the first section: mail and DEP-3 headers, message
    raw: bytes = b""


class TopicPatch(NamedTuple):
    """A topic's patch in one pin's series."""

    topic: str
    patch: Patch


class Place(StrEnum):
    """How a hunk meets a file's present lines."""

    EXACT = "exact"
    OFFSET = "offset"
    NOWHERE = "nowhere"
    AMBIGUOUS = "ambiguous"


class Placement(NamedTuple):
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
