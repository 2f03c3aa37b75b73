"""What verify looks at: each touched file before and after, with the patch line that brought each line."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from patchkit.model import Finding, Pin, Severity
from patchkit.patch.hunks import Hunk, Patch, Placement
from patchkit.patch.place import FileResult
from patchkit.source.scopes import Scopes, blocks_below, parse_python, scopes

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an added line comes from. patch_line: the line of the patch file that adds it, from 1."""

    topic: str
    patch_file: str
    hunk: Hunk
    patch_line: int


@dataclass(frozen=True)
class Source:
    """The bytes of one file, parsed once when first asked for."""

    path: str
    text: bytes

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines without line feeds; lines[0] is line 1."""
        lines = self.text.split(b"\n")
        return lines[:-1] if lines and not lines[-1] else lines

    @cached_property
    def scopes(self) -> Scopes:
        """The scope of each line."""
        return scopes(self.text, self.tree)

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """Each class and function, nested ones too."""
        return tuple(definitions_in(self.tree)) if self.tree else ()

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree; None where the file is no Python that this interpreter can read."""
        if not self.path.endswith(".py"):
            return None
        try:
            return parse_python(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return None


def definitions_in(tree: ast.Module) -> Iterator[Definition]:
    """Yield each class and function, nested ones too. Expressions hold none, so they are not walked."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        pending.extend(blocks_below(node))
        if isinstance(node, Definition):
            yield node


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """One touched file. before, after: None where the file does not exist on that side.

    origins: for each line of `after`, what added it; None for a line of upstream.
    """

    path: str
    before: Source | None
    after: Source | None
    origins: tuple[Origin | None, ...] = ()

    def origin_at(self, line: int) -> Origin | None:
        """Return what added a line of `after`, counted from 1."""
        return self.origins[line - 1] if 1 <= line <= len(self.origins) else None

    def is_added(self, first: int, last: int) -> bool:
        """Whether the patch added every line of the range that is not blank."""
        assert self.after is not None
        lines = self.after.lines
        return all(self.origins[n - 1] is not None or not lines[n - 1].strip() for n in range(first, last + 1))

    def changed_definitions(self) -> Iterator[Definition]:
        """Yield each class and function of `after` in which the patch added a line."""
        assert self.after is not None
        for node in self.after.definitions:
            if self.has_added(node.lineno, node.end_lineno or node.lineno):
                yield node

    def has_added(self, first: int, last: int) -> bool:
        """Whether the patch added any line of the range."""
        return any(self.origins[first - 1 : last])


@dataclass(frozen=True, slots=True)
class Site:
    """Where one hunk lands. line: of the whole result, from 1, where its change begins; 0 where it has no place."""

    topic: str
    patch_file: str
    hunk: Hunk
    placement: Placement
    line: int
    scope: str


@dataclass(frozen=True, slots=True)
class Lock:
    """The place of one hunk of the combined patch: its scope, and in it the statements that it stands between."""

    scope: str
    between: str = ""

    @property
    def told(self) -> str:
        """The place, as findings tell it."""
        return f"{self.scope} ({self.between})" if self.between else self.scope


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One of ruff's findings. code: as "F821"; "invalid-syntax" where the file does not compile."""

    path: str
    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Lint:
    """Ruff's findings on the touched files, before and after the series."""

    before: tuple[Diagnostic, ...]
    after: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One section of one patch, applied to its file as the patches before it left it."""

    topic: str
    patch_file: str
    result: FileResult


class UpstreamIndex(Protocol):
    """What the rules ask about the upstream tree as a whole."""

    def read(self, path: str) -> bytes | None:
        """Return a file of the unpatched tree; None where there is none."""
        ...

    def has_word(self, word: str) -> bool:
        """Whether the identifier stands anywhere in the Python files of the unpatched tree."""
        ...

    def is_stored(self, attribute: str) -> bool:
        """Whether some line of the unpatched tree assigns an attribute of this name, on whatever object."""
        ...

    def is_stored_from_outside(self, attribute: str) -> bool:
        """Whether some line of the unpatched tree assigns an attribute of this name, on an object other than `self`."""
        ...

    def heirs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return (path, name) of each class that names this one as a base."""
        ...

    def definitions(self, name: str) -> tuple[tuple[str, int], ...]:
        """Return (path, line) of each class or function of this bare name."""
        ...

    def sources(self) -> Mapping[str, bytes]:
        """Return every Python file of the unpatched tree; slow, so asked for only where a finding depends on it."""
        ...


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything that the rules need for one series at one pin.

    combined: the generated sglang.patch, with the path of its file.
    locked: what the manifest records for each hunk of the combined patch, by path and number.
    """

    pin: Pin | None
    files: Mapping[str, PatchedFile]
    steps: tuple[Step, ...] = ()
    sites: tuple[Site, ...] = ()
    index: UpstreamIndex | None = None
    locked: Mapping[tuple[str, int], Lock] = field(default_factory=dict)
    lint: Lint | None = None
    combined: Patch | None = None
    combined_file: str = ""

    def python_files(self) -> Iterator[PatchedFile]:
        """Yield each touched Python file that exists after the series."""
        for file in self.files.values():
            if file.after is not None and file.path.endswith(".py"):
                yield file


def finding_at(
    rule: str,
    file: PatchedFile,
    line: int,
    message: str,
    *,
    origin: Origin | None = None,
    severity: Severity = Severity.ERROR,
    found: str = "",
    hint: str = "",
) -> Finding:
    """Return a finding at a line of the result, with the patch line that brought it."""
    origin = origin or file.origin_at(line)
    return Finding(
        rule,
        severity,
        message,
        topic=origin.topic if origin else "",
        path=file.path,
        line=line,
        scope=file.after.scopes.at(line) if file.after else "",
        patch_file=origin.patch_file if origin else "",
        patch_line=origin.patch_line if origin else 0,
        found=found,
        hint=hint,
    )
