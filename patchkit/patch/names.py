"""File names in a patch: quoted, prefixed, with time stamps; as bytes."""

import re
from collections.abc import Iterator

_ESCAPES = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
_LETTERS = {code: letter for letter, code in _ESCAPES.items()}
_ESCAPE = rb'\\([abtnvfr"\\]|[0-3][0-7][0-7])'
_QUOTED = rb'"((?:[^"\\]|\\.)*)"'


def quote_name(name: bytes) -> bytes:
    """Quote a name as git does with core.quotePath on; a plain name stays as it is."""
    if not any(byte < 0x20 or byte >= 0x7F or byte in b'"\\' for byte in name):
        return name
    return b'"' + b"".join(_escape(byte) for byte in name) + b'"'


def read_name(rest: bytes) -> bytes | None:
    """Return the name at the start of the text, unquoted; None if its quotes are damaged."""
    if rest.startswith(b'"'):
        match = re.match(_QUOTED, rest)
        return _unquote(match[1]) if match and not rest[match.end() :].strip(b"\t\r\n") else None
    return rest.partition(b"\t")[0].partition(b"\r")[0].partition(b"\n")[0]


def read_plain_name(rest: bytes) -> bytes:
    """Return the name on a `---` line of a plain diff, without a time stamp that a space sets off."""
    name = read_name(rest) or b""
    return re.sub(rb" +[0-9]{4}-[0-9]{2}-[0-9]{2} +[0-9:.]+( +[-+][0-9:]+)?$", b"", name)


def split_names(names: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each way to read the rest of a `diff --git` line as two names."""
    names = names.rstrip(b"\r\n")
    first = re.match(_QUOTED, names) if names.startswith(b'"') else None
    if first:
        blank, rest = names[first.end() : first.end() + 1], names[first.end() + 1 :]
        left, right = read_name(first[0]), read_name(rest)
        if left and right and blank in (b" ", b"\t"):
            yield left, right
        return
    at = -1
    while (at := _next_blank(names, at + 1)) >= 0:
        left, rest = names[:at], names[at + 1 :]
        right = read_name(rest) if rest.startswith(b'"') else rest
        if left and right:
            yield left, right


def strip_of(names: bytes) -> int:
    """Return 0 for a line made with --no-prefix (two equal names), else 1."""
    return 0 if any(left == right for left, right in split_names(names)) else 1


def default_name(names: bytes, strip: int) -> bytes | None:
    """Return the name that both halves of the `diff --git` line agree on.

    A carriage return counts as part of the name, as for git; a section that has its name elsewhere survives that.
    """
    if names.endswith(b"\r\n"):
        return None
    for left, right in split_names(names):
        name = strip_components(left, strip)
        if name and name == strip_components(right, strip):
            return name
    return None


def strip_components(name: bytes, count: int) -> bytes | None:
    for _ in range(count):
        _, slash, name = name.partition(b"/")
        if not slash:
            return None
    return name or None


def name_text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def shown_name(name: bytes | None) -> str:
    return "nothing" if name is None else repr(name.decode("utf-8", "replace"))


def _unquote(inner: bytes) -> bytes | None:
    if b"\\" in re.sub(_ESCAPE, b"", inner):
        return None
    return re.sub(_ESCAPE, lambda m: bytes([_ESCAPES[m[1]] if m[1] in _ESCAPES else int(m[1], 8)]), inner)


def _escape(byte: int) -> bytes:
    if byte in _LETTERS:
        return b"\\" + _LETTERS[byte]
    return bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte


def _next_blank(text: bytes, start: int) -> int:
    """Return the index of the next space or tab; -1 if there is none."""
    found = [at for at in (text.find(b" ", start), text.find(b"\t", start)) if at >= 0]
    return min(found, default=-1)
