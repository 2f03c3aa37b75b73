"""The qualified scope (module, class, function) of every line of a Python file."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from patchkit.source.parts import Part, PartKind, cut_parts

MODULE = "<module>"

_DEFINITION = re.compile(rb"(?P<indent>[ \t]*)(?:async[ \t]+)?(?P<word>def|class)[ \t]+(?P<name>\w+)")
# Each node that has statements below it, and where. A file has ten times as many nodes that have none.
BODIES: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys((ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), ("body",)),
    **dict.fromkeys((ast.With, ast.AsyncWith, ast.ExceptHandler, ast.match_case), ("body",)),
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    **dict.fromkeys((ast.Try, ast.TryStar), ("body", "handlers", "orelse", "finalbody")),
    ast.Match: ("cases",),
}
_TRIPLE_QUOTE = re.compile(rb'"""|\'\'\'')


@dataclass(frozen=True, slots=True)
class Definition:
    """One class or function.

    name: qualified, as `Scheduler.abort_request`; a later one of the same name is `C.value#2` (a property's
    setter, the other branch of an if), so that two siblings are never mistaken for each other.
    first, last: its lines from the first decorator to the last line that belongs to it, comments included.
    """

    name: str
    is_class: bool
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes of one file.

    by_line: the scope of line 1 is by_line[0]; a line outside of all definitions has MODULE.
    problem: why the file is not valid Python, or empty; its scopes are then read by indentation alone.
    problem_line: where, from 1; 0 when there is no problem.
    """

    by_line: tuple[str, ...]
    definitions: tuple[Definition, ...]
    problem: str = ""
    problem_line: int = 0

    def at(self, line: int) -> str:
        """Return the scope of a line, counted from 1; past either end it is MODULE."""
        return self.by_line[line - 1] if 1 <= line <= len(self.by_line) else MODULE

    def enclosing(self, lines: Iterable[int]) -> str:
        """Return the innermost scope that all these lines share; MODULE for none."""
        return common_scope(self.at(line) for line in lines)


@dataclass(frozen=True, slots=True)
class _Span:
    """A definition before its name is qualified. first, last and depth order the nesting."""

    name: str
    is_class: bool
    first: int
    last: int
    column: int
    parent: int  # index of the enclosing span, -1 for the module


def scopes(source: bytes, tree: ast.Module | None = None) -> Scopes:
    """Return the scopes of a Python file; a file that does not parse is read by its indentation.

    Parsing is CPython's own (27 ms for 4,051 lines), which is exact where tree-sitter loses the definitions
    that follow an unclosed bracket. It is done part by part, and once for each text: versions of a file share most.

    tree: the file's syntax tree, where the caller has it already.
    """
    lines = source.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    problem, problem_line = "", 0
    try:
        spans = list(_parsed_spans(tree)) if tree else _spans_by_part(source)
    except (SyntaxError, ValueError, RecursionError) as exc:
        problem = getattr(exc, "msg", None) or str(exc)
        problem_line = getattr(exc, "lineno", None) or 1
        spans = _indented_spans(lines)
    definitions = tuple(_definitions(spans, lines))
    by_line = [MODULE] * len(lines)
    for definition in definitions:
        by_line[definition.first - 1 : definition.last] = [definition.name] * (definition.last - definition.first + 1)
    return Scopes(tuple(by_line), definitions, problem, problem_line)


def parse_python(source: bytes) -> ast.Module:
    """Return the syntax tree of a file, without the warnings that its text would raise (an invalid escape).

    Raises: SyntaxError; ValueError for a NUL byte; RecursionError for nesting that no person writes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def blocks_below(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may hold definitions directly below a node: the statements, handlers and cases that have a body."""
    for field in BODIES.get(type(node), ()):
        for child in getattr(node, field):
            if type(child) in BODIES:
                yield child


def common_scope(names: Iterable[str]) -> str:
    """Return the innermost scope that encloses all of these; MODULE for none."""
    common: list[str] | None = None
    for name in names:
        parts = [] if name == MODULE else name.split(".")
        if common is None:
            common = parts
        while common != parts[: len(common)]:
            common.pop()
    return ".".join(common) if common else MODULE


def _spans_by_part(source: bytes) -> list[_Span]:
    """Return each definition, outer before inner. Raises: as parse_python."""
    try:
        return _joined_spans(cut_parts(source))
    except (SyntaxError, ValueError, RecursionError):
        return list(_parsed_spans(parse_python(source)))


def _joined_spans(parts: Iterable[Part]) -> list[_Span]:
    spans: list[_Span] = []
    owner = -1  # the class whose body the parts are
    for part in parts:
        found, last = _spans_of_text(part.text, part.kind)
        above = -1
        if part.kind is PartKind.BODY:
            above = owner
            spans[owner] = replace(spans[owner], last=max(spans[owner].last, part.at + last))
        else:
            owner = len(spans)
        shift = len(spans)
        for one in found:
            parent = one.parent + shift if one.parent >= 0 else above
            spans.append(_Span(one.name, one.is_class, one.first + part.at, one.last + part.at, one.column, parent))
    return spans


@lru_cache(maxsize=16384)
def _spans_of_text(text: bytes, kind: PartKind) -> tuple[tuple[_Span, ...], int]:
    """Return a part's definitions, and the last line of its last statement; its own lines count from 1."""
    if kind is PartKind.PLAIN:
        return tuple(_parsed_spans(parse_python(text))), 0
    if kind is PartKind.HEAD:
        owner = _only_class(text + b"    pass\n")
        first, *inner = _parsed_spans(ast.Module([owner], []))
        last = owner.body[-2].end_lineno if len(owner.body) > 1 else 0
        return (replace(first, last=last or 0), *inner), 0
    owner = _only_class(b"class _:\n" + text)
    spans = [replace(one, first=one.first - 1, last=one.last - 1) for one in _parsed_spans(owner)]
    return tuple(spans), (owner.body[-1].end_lineno or 1) - 1


def _only_class(text: bytes) -> ast.ClassDef:
    """Return the class that a text consists of. Raises: SyntaxError where it is more or less than that."""
    body = parse_python(text).body
    if len(body) != 1 or not isinstance(body[0], ast.ClassDef):
        raise SyntaxError("the text is not one class")
    return body[0]


def _parsed_spans(tree: ast.AST) -> Iterator[_Span]:
    """Yield each definition, outer before inner."""
    count = 0
    pending: list[tuple[ast.AST, int]] = [(tree, -1)]
    while pending:
        node, parent = pending.pop()
        for child in blocks_below(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                is_class = isinstance(child, ast.ClassDef)
                assert child.end_lineno is not None
                yield _Span(child.name, is_class, first, child.end_lineno, child.col_offset, parent)
                pending.append((child, count))
                count += 1
            else:
                pending.append((child, parent))


def _indented_spans(lines: list[bytes]) -> list[_Span]:
    """Return the definitions of a file that does not parse: a `def` or `class` line owns what is indented deeper.

    Lines inside triple-quoted strings are passed over; a closing bracket at the definition's own column,
    as the formatter writes it under a long signature, does not end it.
    """
    spans: list[_Span] = []
    open_spans: list[int] = []
    quote = b""
    last_code = 0
    for number, line in enumerate(lines, 1):
        inside_text = bool(quote)
        quote = _quote_after(line, quote)
        text = line.strip()
        if inside_text or not text or text.startswith(b"#"):
            continue
        column = len(line) - len(line.lstrip(b" \t"))
        while open_spans and column <= spans[open_spans[-1]].column and not text.startswith((b")", b"]", b"}")):
            ended = open_spans.pop()
            spans[ended] = _ended(spans[ended], last_code)
        last_code = number
        match = _DEFINITION.match(line)
        if match:
            parent = open_spans[-1] if open_spans else -1
            name = match["name"].decode("ascii", "replace")
            open_spans.append(len(spans))
            spans.append(_Span(name, match["word"] == b"class", number, number, column, parent))
    for index in open_spans:
        spans[index] = _ended(spans[index], last_code)
    return spans


def _ended(span: _Span, last: int) -> _Span:
    return _Span(span.name, span.is_class, span.first, max(span.first, last), span.column, span.parent)


def _quote_after(line: bytes, quote: bytes) -> bytes:
    """Return the triple quote that is open after a line, given the one open before it."""
    for match in _TRIPLE_QUOTE.finditer(line):
        if not quote:
            quote = match[0]
        elif match[0] == quote:
            quote = b""
    return quote


def _definitions(spans: list[_Span], lines: list[bytes]) -> Iterator[Definition]:
    """Qualify and number the names in the order of the file, and take in the comments at the end of each body."""
    qualified: dict[int, str] = {}
    seen: Counter[str] = Counter()
    for index in sorted(range(len(spans)), key=lambda index: (spans[index].first, -spans[index].last)):
        span = spans[index]
        name = f"{qualified[span.parent]}.{span.name}" if span.parent >= 0 else span.name
        seen[name] += 1
        qualified[index] = name if seen[name] == 1 else f"{name}#{seen[name]}"
        yield Definition(qualified[index], span.is_class, span.first, _with_comments(span, lines))


def _with_comments(span: _Span, lines: list[bytes]) -> int:
    """Return the last line of a definition, counting comments that are indented like its body."""
    last = span.last
    for number in range(span.last + 1, len(lines) + 1):
        text = lines[number - 1]
        stripped = text.lstrip(b" \t")
        if not stripped.strip():
            continue
        if not stripped.startswith(b"#") or len(text) - len(stripped) <= span.column:
            break
        last = number
    return last
