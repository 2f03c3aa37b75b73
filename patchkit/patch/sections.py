"""The head of one section of a patch: names, modes, ids, what kind of change it is."""

import re
from collections.abc import Iterator, Sequence

from patchkit.errors import PatchError
from patchkit.patch.hunks import ChangeKind, FilePatch
from patchkit.patch.names import (
    default_name,
    name_text,
    quote_name,
    read_name,
    read_plain_name,
    shown_name,
    split_names,
    strip_components,
    strip_of,
)

DEV_NULL = b"/dev/null"
MAX_HEADER_LINE = 32768  # bytes; two quoted names of PATH_MAX each
CUT_OFF = "if the file is cut off here, fetch it or make it again; else take the section out"
_NO_NAME = "no line of this section names its file"
_INDEX = re.compile(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?")


class Cursor:
    """A place in a patch file's lines. at: index from 0 of the next line to read."""

    def __init__(self, lines: list[bytes], name: str) -> None:
        self.lines = lines
        self.name = name
        self.at = 0

    def peek(self) -> bytes:
        """Return the next line with its line feed, or nothing at the end."""
        return self.lines[self.at] if self.at < len(self.lines) else b""

    def fault(self, rule: str, what: str, *, at: int | None = None, found: str = "", hint: str = "") -> PatchError:
        """Return the error for a line (by default the next one)."""
        line = (self.at if at is None else at) + 1
        return PatchError(what, rule=rule, where=f"{self.name or '<patch>'}:{line}", found=found, hint=hint)


class _Facts:
    """What the lines of a `diff --git` head have said so far."""

    def __init__(self, default_name: bytes | None, strip: int, start: int) -> None:
        self.default_name = default_name
        self.strip = strip
        self.start = start
        self.old_name: bytes | None = None
        self.new_name: bytes | None = None
        self.kinds: set[ChangeKind] = set()
        self.ids = ("", "")
        self.old_mode = ""
        self.new_mode = ""
        self.file_lines: set[bytes] = set()  # of b"---" and b"+++", those that were there


def read_git_head(cursor: Cursor) -> FilePatch:
    """Read from `diff --git` up to the first line that is no header, and return a section without hunks.

    Two equal names mean that the patch was made with --no-prefix: nothing is taken off them (git with its
    default -p1 would take a directory off).

    Raises: PatchError PK110 (the lines contradict each other or name no file), PK116 (no such mode).
    Source: git apply.c, parse_git_diff_header().
    """
    start = cursor.at
    if len(cursor.peek()) > MAX_HEADER_LINE:
        raise cursor.fault("PK120", "a header line is longer than two names can be")
    names = cursor.peek().removeprefix(b"diff --git ")
    strip = strip_of(names)
    facts = _Facts(default_name(names, strip), strip, start)
    _refuse_outside(cursor, *next(split_names(names), ()))
    cursor.at += 1
    while cursor.peek().endswith(b"\n") and not cursor.peek().startswith(b"@@ -"):
        if not _read_header_line(cursor, facts):
            break
        cursor.at += 1
    if cursor.at == start + 1:
        raise cursor.fault(
            "PK110",
            "the section ends after its `diff --git` line",
            at=start,
            found="git skips such a section without a word",
            hint=CUT_OFF,
        )
    return _section(cursor, facts)


def read_plain_head(cursor: Cursor) -> FilePatch:
    """Read the `---` and `+++` lines of a section that has no `diff --git` line.

    Source: git apply.c, parse_traditional_patch(); time stamps of 1970 mean "does not exist", as there.
    """
    old, new = cursor.lines[cursor.at : cursor.at + 2]
    old_raw, new_raw = read_plain_name(old[4:]), read_plain_name(new[4:])
    names = [name for name in (old_raw, new_raw) if name != DEV_NULL]
    _refuse_outside(cursor, *names)
    if not names or b"" in names:
        raise cursor.fault("PK110", _NO_NAME)
    strip = 0 if (len(names) == 2 and old_raw == new_raw) or any(b"/" not in name for name in names) else 1
    stripped = [strip_components(name, strip) for name in names]
    if None in stripped:
        raise cursor.fault("PK110", _NO_NAME)
    path = min((name for name in stripped if name), key=len)  # of f and f.orig the shorter one
    if not all(name and name.startswith(path) for name in stripped):
        found = " and ".join(shown_name(name) for name in stripped)
        raise cursor.fault(
            "PK110", "the names in this section differ", found=found, hint="is its `diff --git` line lost?"
        )
    if old_raw == DEV_NULL or _is_epoch(old):
        kind = ChangeKind.CREATE
    elif new_raw == DEV_NULL or _is_epoch(new):
        kind = ChangeKind.DELETE
    else:
        kind = ChangeKind.MODIFY
    section = FilePatch(
        name_text(path), name_text(path), kind, strip=strip, patch_line=cursor.at + 1, header=(old, new)
    )
    cursor.at += 2
    return section


def head_lines(section: FilePatch) -> tuple[bytes, ...]:
    """Return the header lines of a section: as read while they still say the same, else canonical ones."""
    if section.header and _still_true(section):
        return section.header
    return tuple(_canonical_lines(section))


# -- reading ----------------------------------------------------------------------------------------------


def _read_header_line(cursor: Cursor, facts: _Facts) -> bool:
    """Take one header line into the facts; False if it is none."""
    line = cursor.peek()
    if line.startswith((b"--- ", b"+++ ")):
        _take_file_line(cursor, facts, line)
        return True
    for prefix, take in _TAKERS.items():
        if line.startswith(prefix):
            take(cursor, facts, line[len(prefix) :].rstrip(b"\r\n"))
            if len(facts.kinds) > 1:
                raise cursor.fault("PK110", "the header lines of this section contradict each other")
            return True
    return False


def _refuse_outside(cursor: Cursor, *names: bytes) -> None:
    """Raise for a name that leads upwards: to take its first directory off, as git does, would hide that."""
    for name in names:
        if b".." in name.split(b"/"):
            shown = name.decode("utf-8", "replace")
            hint = "take the section out of the patch"
            raise cursor.fault("PK111", f"refuses to write '{shown}': outside the tree", hint=hint)


def _take_file_line(cursor: Cursor, facts: _Facts, line: bytes) -> None:
    is_old = line.startswith(b"--- ")
    facts.file_lines.add(line[:3])
    absent = (ChangeKind.CREATE if is_old else ChangeKind.DELETE) in facts.kinds
    raw = read_name(line[4:])
    _refuse_outside(cursor, raw or b"")
    if raw == DEV_NULL:
        if not absent:
            wanted = "new file mode" if is_old else "deleted file mode"
            raise cursor.fault("PK110", f"/dev/null without a `{wanted}` line", hint=f"add `{wanted} 100644`")
        return
    name = strip_components(raw, facts.strip) if raw else None
    known = facts.old_name if is_old else facts.new_name
    if absent or not name or (known is not None and known != name):
        expected = "/dev/null" if absent else shown_name(known)
        raise cursor.fault("PK110", "the names in this section differ", found=f"{shown_name(raw)}, expected {expected}")
    if is_old:
        facts.old_name = name
    else:
        facts.new_name = name


def _take_index(cursor: Cursor, facts: _Facts, rest: bytes) -> None:
    match = _INDEX.fullmatch(rest)
    if not match:
        raise cursor.fault("PK110", "the index line is damaged", found=shown_name(rest))
    facts.ids = (match[1].decode(), match[2].decode())
    if match[3] and not facts.old_mode:
        facts.old_mode = _mode(cursor, match[3])


def _take_old_mode(cursor: Cursor, facts: _Facts, rest: bytes) -> None:
    facts.old_mode = _mode(cursor, rest)


def _take_new_mode(cursor: Cursor, facts: _Facts, rest: bytes) -> None:
    facts.new_mode = _mode(cursor, rest)


def _take_new_file(cursor: Cursor, facts: _Facts, rest: bytes) -> None:
    facts.kinds.add(ChangeKind.CREATE)
    facts.new_name = facts.default_name
    facts.new_mode = _mode(cursor, rest)


def _take_deleted(cursor: Cursor, facts: _Facts, rest: bytes) -> None:
    facts.kinds.add(ChangeKind.DELETE)
    facts.old_name = facts.default_name
    facts.old_mode = _mode(cursor, rest)


def _take_source(cursor: Cursor, facts: _Facts, rest: bytes, kind: ChangeKind) -> None:
    facts.kinds.add(kind)
    facts.old_name = _moved_name(cursor, rest)


def _take_target(cursor: Cursor, facts: _Facts, rest: bytes, kind: ChangeKind) -> None:
    facts.kinds.add(kind)
    facts.new_name = _moved_name(cursor, rest)


def _take_similarity(cursor: Cursor, _facts: _Facts, rest: bytes) -> None:
    if not re.fullmatch(rb"[0-9]{1,3}%", rest):
        raise cursor.fault("PK110", "the similarity is no percentage", found=shown_name(rest))


_TAKERS = {
    b"old mode ": _take_old_mode,
    b"new mode ": _take_new_mode,
    b"deleted file mode ": _take_deleted,
    b"new file mode ": _take_new_file,
    b"copy from ": lambda cursor, facts, rest: _take_source(cursor, facts, rest, ChangeKind.COPY),
    b"copy to ": lambda cursor, facts, rest: _take_target(cursor, facts, rest, ChangeKind.COPY),
    b"rename from ": lambda cursor, facts, rest: _take_source(cursor, facts, rest, ChangeKind.RENAME),
    b"rename to ": lambda cursor, facts, rest: _take_target(cursor, facts, rest, ChangeKind.RENAME),
    b"rename old ": lambda cursor, facts, rest: _take_source(cursor, facts, rest, ChangeKind.RENAME),
    b"rename new ": lambda cursor, facts, rest: _take_target(cursor, facts, rest, ChangeKind.RENAME),
    b"similarity index ": _take_similarity,
    b"dissimilarity index ": _take_similarity,
    b"index ": _take_index,
}


def _section(cursor: Cursor, facts: _Facts) -> FilePatch:
    """Return what the facts say, when they agree."""
    old = facts.old_name or facts.default_name
    new = facts.new_name or facts.default_name
    kind = next(iter(facts.kinds), ChangeKind.MODIFY)
    match kind:
        case ChangeKind.CREATE:
            old = new
        case ChangeKind.DELETE:
            new = old
        case ChangeKind.RENAME | ChangeKind.COPY:
            agree = facts.old_name is not None and facts.new_name is not None
            old, new = (old, new) if agree else (None, None)
            if (old, new) in tuple(split_names(cursor.lines[facts.start].removeprefix(b"diff --git "))):
                facts.strip = 0
        case ChangeKind.MODIFY | ChangeKind.MODE:
            differ = old != new or (facts.default_name is not None and facts.default_name != new)
            if old and new and differ:
                found = f"{shown_name(old)} and {shown_name(new)}"
                raise cursor.fault("PK110", "the names in this section differ", at=facts.start, found=found)
    if not old or not new:
        raise cursor.fault("PK110", _NO_NAME, at=facts.start)
    if len(facts.file_lines) == 1:
        found = "" if cursor.peek() else "the patch ends here: is it cut off?"
        raise cursor.fault("PK110", "of `---` and `+++` one is missing", found=found, hint="put the missing line back")
    if bool(facts.old_mode) < bool(facts.new_mode) and kind is not ChangeKind.CREATE:
        raise cursor.fault("PK110", "a new mode without an old mode", at=facts.start)
    return FilePatch(
        name_text(old),
        name_text(new),
        kind,
        preimage_id=facts.ids[0],
        postimage_id=facts.ids[1],
        old_mode=facts.old_mode,
        new_mode=facts.new_mode,
        patch_line=facts.start + 1,
        strip=facts.strip,
        header=tuple(cursor.lines[facts.start : cursor.at]),
    )


def _mode(cursor: Cursor, rest: bytes) -> str:
    if not re.fullmatch(rb"[0-7]{6}", rest):
        raise cursor.fault("PK116", f"{shown_name(rest)} is not a file mode", hint="100644, or 100755 for a program")
    return rest.decode()


def _moved_name(cursor: Cursor, rest: bytes) -> bytes:
    name = read_name(rest)
    if not name:
        raise cursor.fault("PK110", _NO_NAME)
    return name


def _is_epoch(line: bytes) -> bool:
    return bool(
        re.search(rb"\s(1970-01-01|1969-12-31) [0-9]{2}:[0-9]{2}:00(\.0+)? [-+][0-9]{2}:?[0-9]{2}$", line.rstrip())
    )


# -- writing ----------------------------------------------------------------------------------------------


def _still_true(section: FilePatch) -> bool:
    """Whether the header lines as read still say what the fields say."""
    lines = list(section.header)
    cursor = Cursor(lines, "")
    try:
        read = read_git_head(cursor) if lines[0].startswith(b"diff --git ") else read_plain_head(cursor)
    except PatchError:
        return False
    kinds = {ChangeKind.MODIFY, ChangeKind.MODE}
    return _said(read) == _said(section) and (read.kind is section.kind or {read.kind, section.kind} == kinds)


def _said(section: FilePatch) -> Sequence[str]:
    return (
        section.old_path,
        section.new_path,
        section.preimage_id,
        section.postimage_id,
        section.old_mode,
        section.new_mode,
    )


def _canonical_lines(section: FilePatch) -> Iterator[bytes]:
    """Yield the lines as `git diff-tree -p --full-index` writes them."""
    old, new = (path.encode("utf-8", "surrogateescape") for path in (section.old_path, section.new_path))
    yield b"diff --git %s %s\n" % (quote_name(b"a/" + old), quote_name(b"b/" + new))
    created, deleted = section.kind is ChangeKind.CREATE, section.kind is ChangeKind.DELETE
    mode_changes = bool(section.new_mode) and section.new_mode != section.old_mode and not created
    if created:
        yield b"new file mode %s\n" % (section.new_mode or "100644").encode()
    elif deleted:
        yield b"deleted file mode %s\n" % (section.old_mode or "100644").encode()
    elif mode_changes:
        yield b"old mode %s\nnew mode %s\n" % (section.old_mode.encode(), section.new_mode.encode())
    if section.kind in (ChangeKind.RENAME, ChangeKind.COPY):
        word = section.kind.value.encode()
        yield b"%s from %s\n%s to %s\n" % (word, quote_name(old), word, quote_name(new))
    if section.preimage_id:
        says_mode = section.old_mode and not (mode_changes or created or deleted)
        tail = b" " + section.old_mode.encode() if says_mode else b""
        yield b"index %s..%s%s\n" % (section.preimage_id.encode(), section.postimage_id.encode(), tail)
    if section.hunks:
        yield b"--- %s\n" % (DEV_NULL if created else _file_line_name(b"a/" + old))
        yield b"+++ %s\n" % (DEV_NULL if deleted else _file_line_name(b"b/" + new))


def _file_line_name(name: bytes) -> bytes:
    """Quote the name; one with a space gets a tab after it, so that no reader takes its end for a time stamp."""
    quoted = quote_name(name)
    return quoted + b"\t" if b" " in quoted and not quoted.startswith(b'"') else quoted
