"""Between which statements of upstream a change stands: the part of a place that the name of a function leaves open."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from patchkit.patch.hunks import Hunk, LineKind
from patchkit.rules.subject import Definition, PatchedFile


def between(file: PatchedFile, hunk: Hunk) -> str:
    """Return the place of a hunk of the combined patch, as "for#2/if/else: 3-4"; empty where nothing can be parsed.

    First the blocks around it, from the innermost function or class of upstream: the second `for`, in it the only
    `if`, of that the `else`. Then the numbers of the last statement before the change and of the first behind it:
    "0-1" is the beginning, "3-3" within the third. Only what upstream wrote is counted, so that what a topic adds
    moves no other topic's place.
    """
    if file.after is None or file.after.tree is None:
        return ""
    first, last = _changed_lines(file, hunk)
    labels: list[str] = []
    body: Sequence[ast.stmt] = file.after.tree.body
    while True:
        own = [statement for statement in body if file.origin_at(_first_line(statement)) is None]
        inner = _inner(own, first, last)
        if inner is None:
            break
        statement, label, body = inner
        labels = [] if isinstance(statement, Definition) else [*labels, _numbered(statement, own) + label]
    before = sum(_first_line(statement) < first for statement in own)
    behind = 1 + sum(_first_line(statement) <= last for statement in own)
    if before and own[behind - 2].end_lineno >= max(first, last):  # type: ignore[operator]
        behind -= 1
    path = "/".join(labels)
    return f"{path}: {before}-{behind}" if path else f"{before}-{behind}"


def _changed_lines(file: PatchedFile, hunk: Hunk) -> tuple[int, int]:
    """Return the first and last added line of code, from 1; where there is none, (n, n - 1) before line n."""
    assert file.after is not None
    line = hunk.new_start if hunk.postimage else hunk.new_start + 1
    added: list[int] = []
    place = 0
    for each in hunk.lines:
        if each.kind is not LineKind.CONTEXT:
            place = place or line
        if each.kind is LineKind.ADDED:
            added.append(line)
        if each.kind is not LineKind.REMOVED:
            line += 1
    code = [at for at in added if (text := file.after.lines[at - 1].strip()) and not text.startswith(b"#")]
    return (code[0], code[-1]) if code else (place, place - 1)


def _inner(own: Sequence[ast.stmt], first: int, last: int) -> tuple[ast.stmt, str, list[ast.stmt]] | None:
    """Return the statement that has the change in one of its blocks, the block's name, and the block."""
    end = max(first, last)
    for statement in own:
        if _first_line(statement) < first and (statement.end_lineno or 0) >= end:
            for label, body in _blocks(statement):
                if _first_line(body[0]) <= first and (body[-1].end_lineno or 0) >= end:
                    return statement, label, body
    return None


def _blocks(statement: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    for field, label in (("body", ""), ("orelse", "/else"), ("finalbody", "/finally")):
        if body := getattr(statement, field, None):
            yield label, body
    for number, handler in enumerate(getattr(statement, "handlers", ()), start=1):
        yield f"/except#{number}", handler.body
    for number, case in enumerate(getattr(statement, "cases", ()), start=1):
        yield f"/case#{number}", case.body


def _numbered(statement: ast.stmt, own: Sequence[ast.stmt]) -> str:
    """Return the statement's keyword, with its number where the block has several of them."""
    seen: Counter[str] = Counter()
    for each in own:
        seen[_keyword(each)] += 1
        if each is statement:
            number = seen[_keyword(each)]
    word = _keyword(statement)
    return f"{word}#{number}" if seen[word] > 1 else word


def _keyword(statement: ast.stmt) -> str:
    return type(statement).__name__.removeprefix("Async").removesuffix("Star").lower()


def _first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, Definition) else []
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
