"""Cut a Python file into parts that parse alone, so that what several versions of a file share is parsed once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_TOP = re.compile(rb"^(?:(@)|(class\b)|(?:async[ \t]+)?def\b)", re.MULTILINE)
_INNER = re.compile(rb"^    (?:(@)|(class\b)|(?:async[ \t]+)?def\b)", re.MULTILINE)
_CLASS = re.compile(rb"^class\b", re.MULTILINE)
_STATEMENT = re.compile(rb"^[^\s#)\]}]", re.MULTILINE)


class PartKind(Enum):
    """What a part is: statements of the module, a class up to its first method, or a piece of that class's body."""

    PLAIN = "plain"
    HEAD = "head"
    BODY = "body"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a file. at: the index of its first line."""

    kind: PartKind
    at: int
    text: bytes


def cut_parts(source: bytes) -> Iterator[Part]:
    """Yield the parts of a file in order; together they are its whole text.

    Only the columns of `def`, `class` and `@` are looked at: inside a string they cut it in two, and then no part of it
    parses. So a file is what its parts say if all of them parse, and must be parsed whole if one does not.
    """
    at = 0
    for kind, text in _pieces(source):
        yield Part(kind, at, text)
        at += text.count(b"\n")


def _pieces(source: bytes) -> Iterator[tuple[PartKind, bytes]]:
    for is_class, text in _cut(source, _TOP):
        header = _CLASS.search(text) if is_class else None
        if header is None:
            yield PartKind.PLAIN, text
            continue
        end = _STATEMENT.search(text, text.find(b"\n", header.end()) + 1 or len(text))
        body, rest = (text[: end.start()], text[end.start() :]) if end else (text, b"")
        pieces = [piece for _, piece in _cut(body, _INNER)]
        if len(pieces) < 2:
            yield PartKind.PLAIN, body
        else:
            yield PartKind.HEAD, pieces[0]
            yield from ((PartKind.BODY, piece) for piece in pieces[1:])
        if rest:
            yield PartKind.PLAIN, rest


def _cut(text: bytes, starts: re.Pattern[bytes]) -> Iterator[tuple[bool, bytes]]:
    """Yield (is a class, text) between the starts of definitions; decorators belong to what they decorate."""
    last, is_class, decorated = 0, False, False
    for match in starts.finditer(text):
        if not decorated and match.start() > last:
            yield is_class, text[last : match.start()]
            last = match.start()
        is_class, decorated = bool(match[2]), bool(match[1])
    if last < len(text):
        yield is_class, text[last:]
