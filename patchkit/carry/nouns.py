"""The nouns of the rebase engine: source, edit, piece, outcome, decision. Frozen values, no I/O."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol

from patchkit.carry.undefined import undefined_names
from patchkit.carry.wording import chains, tells, words
from patchkit.source.scopes import Scopes, scopes

Lines = tuple[str, ...]


class Tree(Protocol):
    """The files of one upstream state, read when asked for."""

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None when there is no such file."""
        ...

    def paths(self) -> Sequence[str]:
        """Return all paths, sorted."""
        ...

    def load(self, paths: Sequence[str]) -> None:
        """Fetch many files at once, where that is cheaper; they are still read one by one."""
        ...


class Stage(StrEnum):
    """What decided about a hunk, in the order in which it is asked."""

    UNCHANGED = "unchanged"
    LEDGER = "ledger"
    UPSTREAMED = "upstreamed"
    MERGE = "merge"
    NEIGHBOURS = "neighbours"
    SETS = "sets"
    FOLLOW = "follow"
    TOKENS = "tokens"
    NEEDLESS = "needless"
    RESOLVER = "resolver"
    HAND = "by hand"
    NONE = "none"


class Action(StrEnum):
    """What became of a hunk."""

    CARRIED = "carried"
    MOVED = "moved"
    SHRUNK = "shrunk"
    DROPPED = "dropped"
    UNRESOLVED = "unresolved"


class Cause(StrEnum):
    """The class of a conflict, or what makes a carried hunk suspect."""

    NONE = ""
    OVERLAP = "overlap"
    GONE = "gone"
    MOVED = "moved"
    FILE_GONE = "file-gone"
    UPSTREAMED = "upstreamed"
    BOTH_ADD = "both-add"
    DELETE_MODIFY = "delete-modify"
    PLACEMENT = "placement"
    AMBIGUOUS = "ambiguous"
    DUPLICATE = "duplicate"
    UNDEFINED = "undefined"
    STALE = "stale"
    SIGNATURE = "signature"
    SYNTAX = "syntax"
    OBSOLETED = "obsoleted"
    NEEDLESS = "needless"
    BINARY = "binary"


class Source:
    """One text of a file: its lines, and the scope of each. Lines are split at line feeds only.

    The last element is what follows the last line feed: "" where the file ends with one.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def lines(self) -> Lines:
        """The lines, each without its line feed; bytes that are no UTF-8 survive as surrogates."""
        return tuple(self.data.decode("utf-8", "surrogateescape").split("\n"))

    @cached_property
    def scopes(self) -> Scopes:
        """The scope of every line."""
        return scopes(self.data)

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """What each line says, made plain; "" for one that says nothing."""
        return tuple(map(tells, self.lines))

    @cached_property
    def said(self) -> Counter[str]:
        """The lines that say something, made plain and counted."""
        return Counter(line for line in self.telling if line)

    @cached_property
    def words(self) -> frozenset[str]:
        """All identifiers of the file."""
        return words(self.lines)

    @cached_property
    def chains(self) -> frozenset[str]:
        """The attributes of self that the file uses."""
        return chains(self.lines)

    @cached_property
    def undefined(self) -> frozenset[str]:
        """The names that the file uses and nothing binds."""
        return undefined_names(self.data)

    def scope(self, at: int) -> str:
        """Return the scope of the line at an index from 0."""
        return self.scopes.at(at + 1)


def join(lines: Iterable[str]) -> bytes:
    """Return the bytes of a file with these lines, the inverse of Source.lines."""
    return "\n".join(lines).encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Edit:
    """One contiguous change of a hunk: base[lo:hi] becomes `new`, which stands at theirs[at:]."""

    hunk: int
    lo: int
    hi: int
    new: Lines
    at: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A change of the new upstream text: path's lines [lo:hi] become `text`. order breaks ties at one place."""

    path: str
    lo: int
    hi: int
    text: Lines
    order: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one edit. pieces: empty for a drop; for a conflict the span that it stands for."""

    edit: Edit
    action: Action
    stage: Stage
    evidence: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()
    suspect: bool = False
    cause: Cause = Cause.NONE


@dataclass(frozen=True, slots=True)
class Conflict:
    """What a person needs to settle an unresolved hunk: the three texts around it and where they stand."""

    path: str
    hunk: int
    cause: Cause
    scope: str
    base: str
    ours: str
    theirs: str
    line: int  # in the new upstream file, from 1; 0 where there is none
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """A text for a conflict's span, and where it comes from: the ledger or a resolver."""

    text: Lines
    stage: Stage
    evidence: str


Settle = Callable[[Conflict], Settled | None]


@dataclass(frozen=True, slots=True)
class Decision:
    """Where one hunk of the old series ended. hunk 0 stands for a file without hunks."""

    path: str
    hunk: int
    action: Action
    stage: Stage
    to: str
    suspect: bool = False
    cause: Cause = Cause.NONE
    evidence: tuple[str, ...] = ()
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Carried:
    """The outcome of carrying one patch.

    files: each changed path's whole text, None where it is deleted; with conflict markers where `marked` has it.
    clean: the same without the conflicts: upstream's text stands there.
    """

    files: Mapping[str, bytes | None]
    clean: Mapping[str, bytes | None]
    decisions: tuple[Decision, ...]
    conflicts: tuple[Conflict, ...] = ()
    marked: frozenset[str] = field(default_factory=frozenset)
