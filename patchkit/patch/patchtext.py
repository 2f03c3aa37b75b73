"""Patch text <-> Patch, byte for byte; the only importer of unidiff."""

import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from patchkit.patch.binary import read_binary_blocks
from patchkit.patch.hunks import BlobId, ChangeKind, FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.patch.sections import CUT_OFF, Cursor, head_lines, read_git_head, read_plain_head

_HUNK = re.compile(
    rb"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@(.*)", re.DOTALL
)  # git wraps larger numbers around and applies
_MAIL = re.compile(rb"From [0-9a-f]{40} ")
_SETTLED = re.compile(  # may stand between sections: what svn, cvs, hg, bzr and diff -r write above a file
    rb"(Index: |={20,}\r?\n|RCS file: |retrieving revision [0-9.]+\r?\n|=== (added|modified|removed|renamed) |"
    rb"diff -(?!-)|Only in |\r?\n$)"
)
_NO_DIFF_LOOKS = (
    (rb"(?i)\s*<(!doctype|html|\?xml)", "it looks like a web page"),
    (rb"version https://git-lfs", "it is a Git LFS pointer"),
    (rb"\x1f\x8b", "it is compressed with gzip"),
    (rb"(BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|PK\x03\x04)", "it is compressed"),
    (rb"(\xff\xfe|\xfe\xff)", "it is UTF-16 text"),
    (rb"(?s).*\x1b\[[0-9;]*m", "it is coloured for a terminal"),
    (rb"(?sm).*^(\s+|> ?)(diff --git |--- )", "the diff in it is indented or quoted"),
    (rb"(?sm).*^[0-9,]+[acd][0-9,]+\r?$", "it is a normal or ed diff"),
)
_MARKER_SIZE = 12  # bytes; git overlooks a "\ No newline" line that is no longer
DEFAULT_MARKER = b"\\ No newline at end of file\n"


@lru_cache(maxsize=512)  # apply asks for each content several times
def blob_id(data: bytes) -> BlobId:
    """Return git's id of the bytes as a blob."""
    digest = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return BlobId(digest.hexdigest())


def split_lines(data: bytes) -> list[bytes]:
    """Split at line feeds only and keep them. A carriage return, form feed or NEL is part of its line."""
    return io.BytesIO(data).readlines()


def read_patch(raw: bytes, *, name: str = "") -> Patch:
    """Read a patch file and account for each of its lines.

    What git refuses is refused. So is what git takes in part and without a word: lines beyond a hunk's counts,
    a damaged second hunk header, a section cut off after its first line, damaged binary data, combined and
    context diffs. Paths are not judged here (patchkit.rules.text does).

    name: the file's name, for messages.
    Raises: PatchError with a rule id and "name:line".
    """
    cursor = Cursor(split_lines(raw), name)
    preamble = _skip_prose(cursor)
    files = []
    while cursor.at < len(cursor.lines):
        section = _read_section(cursor)
        files.append(section._replace(trailer=_read_trailer(cursor)))
    if not files:
        raise _no_diff(cursor, raw)
    _refuse_mixed_prefixes(cursor, files)
    return Patch(tuple(files), preamble, raw)


def write_patch(patch: Patch) -> bytes:
    """Return the patch's bytes: what was read comes out the same, what was built comes out as git writes it."""
    return patch.preamble + b"".join(write_section(section) for section in patch.files)


def write_section(section: FilePatch) -> bytes:
    """Return one section's bytes with its trailer."""
    pieces = list(head_lines(section))
    if section.binary_blocks:
        pieces.append(b"GIT binary patch\n")
        pieces += [block.raw for block in section.binary_blocks]
    for hunk in section.hunks:
        pieces += _hunk_pieces(hunk)
    pieces.append(section.trailer)
    return b"".join(pieces)


def count_by_unidiff(raw: bytes) -> dict[str, tuple[int, int]] | None:
    """Return added and removed lines by path as the unidiff package counts them; None if it cannot read the patch.

    A second opinion, never the decision: it reads 0 files from what git refuses, and drops binary data.
    Source: unidiff 1.0.1; only surrogateescape lets it read every byte.
    """
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        found = PatchSet(raw.decode("utf-8", "surrogateescape"))
    except UnidiffParseError:
        return None
    return {file.path: (file.added, file.removed) for file in found}


def reverse_section(section: FilePatch) -> FilePatch:
    """Return the section that undoes this one.

    The mode of an `index` line is not restored by it: wheels lose exec bits, and git -R would set the one
    the patch names (measured on a real patch).
    """
    swapped = {ChangeKind.CREATE: ChangeKind.DELETE, ChangeKind.DELETE: ChangeKind.CREATE}
    kind = swapped.get(section.kind, section.kind)
    if kind is ChangeKind.COPY:
        kind = ChangeKind.DELETE
    changes_mode = bool(section.new_mode)
    return section._replace(
        old_path=section.new_path,
        new_path=section.new_path if kind is ChangeKind.DELETE else section.old_path,
        kind=kind,
        hunks=tuple(_reverse_hunk(hunk, section.old_path) for hunk in section.hunks),
        preimage_id=section.postimage_id,
        postimage_id=section.preimage_id,
        old_mode=section.new_mode if changes_mode else section.old_mode,
        new_mode=section.old_mode if changes_mode or kind is ChangeKind.CREATE else "",
        binary_blocks=section.binary_blocks[::-1],
        header=(),
    )


# -- prose: what stands before, between and after the sections ----------------------------------------------


def _is_section_start(cursor: Cursor) -> bool:
    """Whether git would begin a section at the next line."""
    line = cursor.peek()
    if line.startswith(b"diff --git "):
        return True
    if not line.startswith(b"--- ") or cursor.at + 2 >= len(cursor.lines):
        return False
    plus, at_line = cursor.lines[cursor.at + 1 : cursor.at + 3]
    return plus.startswith(b"+++ ") and at_line.startswith(b"@@ -")


def _skip_prose(cursor: Cursor) -> bytes:
    """Pass over mail headers, DEP-3 fields and the message up to the first section; return them."""
    start = cursor.at
    while cursor.at < len(cursor.lines) and not _is_section_start(cursor):
        _refuse_stray(cursor)
        cursor.at += 1
    return b"".join(cursor.lines[start : cursor.at])


def _refuse_stray(cursor: Cursor) -> None:
    """Raise if the next line begins something that git would skip, or refuse, outside a section."""
    line = cursor.peek()
    if line.startswith((b"diff --cc ", b"diff --combined ")):
        raise cursor.fault("PK107", "a combined diff (of a merge)", hint="make it with `git diff A B`")
    if line.startswith(b"*** ") and _is_context_diff(cursor):
        raise cursor.fault("PK108", "a context diff", hint="make it with `diff -u` or `git diff`")
    if line.startswith(b"@@ -") and _HUNK.match(line):
        raise cursor.fault("PK104", "a hunk without a file header", hint="put the file's `diff --git` lines above it")


def _is_context_diff(cursor: Cursor) -> bool:
    after = cursor.lines[cursor.at + 1 : cursor.at + 3]
    return len(after) == 2 and after[0].startswith(b"--- ") and after[1].startswith(b"****")


def _read_trailer(cursor: Cursor) -> bytes:
    """Pass over what may follow a section, and refuse all else: git would skip it without a word."""
    start = cursor.at
    in_signature = False
    while cursor.at < len(cursor.lines) and not _is_section_start(cursor):
        line = cursor.peek()
        _refuse_stray(cursor)
        if _MAIL.match(line):
            _skip_prose(cursor)
            break
        in_signature = in_signature or line.rstrip(b"\r\n") == b"-- "
        if not (_SETTLED.match(line) or (in_signature and not re.match(rb"[-+](?!- )|@@|diff |[<>=]{7}", line))):
            raise _junk(cursor, line)
        cursor.at += 1
    return b"".join(cursor.lines[start : cursor.at])


def _junk(cursor: Cursor, line: bytes) -> Exception:
    shown = repr(line[:60].decode("utf-8", "replace").rstrip("\r\n"))
    if re.match(rb"(<{7}|>{7})( |\r?\n)|\|{7} |={7}\r?\n", line):
        return cursor.fault("PK115", "a conflict marker between sections", found=shown, hint="take the markers out")
    if line.startswith(b"@@"):
        return cursor.fault("PK103", "the hunk header is damaged", found=shown, hint="@@ -START,COUNT +START,COUNT @@")
    if line[:1] in (b" ", b"+", b"-", b"\\"):
        return cursor.fault(
            "PK102",
            "the hunk goes on after its counts are used up",
            found=shown,
            hint="correct the counts in its header",
        )
    return cursor.fault("PK104", "this line belongs to no section; git would skip it", found=shown, hint="delete it")


def _no_diff(cursor: Cursor, raw: bytes) -> Exception:
    found = next((look for pattern, look in _NO_DIFF_LOOKS if re.match(pattern, raw)), "")
    if not raw.strip():
        found = "the file is empty"
    return cursor.fault("PK101", "no diff in it", at=0, found=found, hint="make the patch with `git diff --full-index`")


# -- sections -----------------------------------------------------------------------------------------------


def _read_section(cursor: Cursor) -> FilePatch:
    is_git = cursor.peek().startswith(b"diff --git ")
    section = read_git_head(cursor) if is_git else read_plain_head(cursor)
    if cursor.peek().startswith(b"@@ -"):
        hunks = tuple(_read_hunks(cursor, section.path))
        section = section._replace(hunks=hunks)
        _refuse_contents(cursor, section)
        return section
    if cursor.peek() == b"GIT binary patch\n":
        cursor.at += 1
        return section._replace(binary=True, binary_blocks=read_binary_blocks(cursor))
    if re.match(rb"(Binary f|F)iles .* differ\r?$", cursor.peek()):
        raise cursor.fault(
            "PK117", f"{section.path}: binary data is missing", hint="make the patch with `--binary --full-index`"
        )
    if any(line.startswith((b"--- ", b"+++ ")) for line in section.header):
        raise cursor.fault("PK102", f"{section.path}: file header without a hunk", hint=CUT_OFF)
    if section.kind is ChangeKind.MODIFY:
        if section.new_mode in ("", section.old_mode):
            raise cursor.fault("PK109", f"{section.path}: the section changes nothing", at=section.patch_line - 1)
        section = section._replace(kind=ChangeKind.MODE)
    return section


def _refuse_mixed_prefixes(cursor: Cursor, files: Sequence[FilePatch]) -> None:
    """git takes as many directories off the names of every section; renames and copies spell theirs in full."""
    plain = [section for section in files if section.kind not in (ChangeKind.RENAME, ChangeKind.COPY)]
    odd = next((section for section in plain if section.strip != plain[0].strip), None)
    if odd is not None:
        raise cursor.fault(
            "PK110",
            f"{odd.path}: names {'with' if odd.strip else 'without'} a prefix, unlike those of the first section",
            at=odd.patch_line - 1,
            hint="make the whole patch with `git diff`, with a/ and b/ or with --no-prefix",
        )


def _refuse_contents(cursor: Cursor, section: FilePatch) -> None:
    """A created file has no old lines, a deleted one no new lines, and each is one hunk."""
    if section.kind not in (ChangeKind.CREATE, ChangeKind.DELETE):
        return
    first = section.hunks[0]
    at = first.patch_line - 1
    if section.kind is ChangeKind.CREATE and first.preimage:
        raise cursor.fault("PK110", f"{section.path}: new file has old lines", at=at)
    if section.kind is ChangeKind.DELETE and first.postimage:
        raise cursor.fault("PK110", f"{section.path}: deleted file has lines left", at=at)
    if len(section.hunks) > 1:
        raise cursor.fault("PK110", f"{section.path}: more than one hunk for a whole file", at=at)


def _read_hunks(cursor: Cursor, path: str) -> Iterator[Hunk]:
    number = 1
    while cursor.peek().startswith(b"@@ -"):
        yield _read_hunk(cursor, path, number)
        number += 1


def _read_hunk(cursor: Cursor, path: str, number: int) -> Hunk:
    """Read one hunk by its counts. Source: git apply.c, parse_fragment()."""
    start = cursor.at
    header = cursor.peek()
    match = _HUNK.match(header)
    if not match:
        raise cursor.fault(
            "PK103", "the hunk header is damaged", found=_shown(header), hint="@@ -START,COUNT +START,COUNT @@"
        )
    old_count, new_count = int(match[2] or 1), int(match[4] or 1)
    lines = _read_body(cursor, old_count, new_count)
    if len(lines) == old_count == new_count:
        raise cursor.fault("PK106", "the hunk changes nothing", at=start, hint="delete it")
    old_start, new_start = int(match[1]), int(match[3])
    section = match[5].removesuffix(b"\n")
    return Hunk(path, number, old_start, new_start, tuple(lines), section, start + 1, header)


def _read_body(cursor: Cursor, old_left: int, new_left: int) -> list[HunkLine]:
    """Read the lines below a hunk header until its counts are used up."""
    start = cursor.at
    source, at, total = cursor.lines, start + 1, len(cursor.lines)
    lines: list[HunkLine] = []
    while old_left or new_left:
        line = source[at] if at < total else b""
        kind = _KINDS.get(line[:1])
        if kind is not _ADDED:
            old_left -= 1
        if kind is not _REMOVED:
            new_left -= 1
        if kind is None or old_left < 0 or new_left < 0 or line[-1:] != b"\n":
            cursor.at = at
            raise _cut_off(cursor, start)
        at += 1
        lines.append(HunkLine(kind, line[1:]) if line != b"\n" else HunkLine(kind, line, line))
        if at < total and source[at][:2] == b"\\ ":
            cursor.at = at
            lines[-1] = _without_newline(cursor, lines[-1], old_left, new_left)
            at += 1
    cursor.at = at
    return lines


_ADDED, _REMOVED = LineKind.ADDED, LineKind.REMOVED
_KINDS = {b" ": LineKind.CONTEXT, b"\n": LineKind.CONTEXT, b"+": LineKind.ADDED, b"-": LineKind.REMOVED}


def _without_newline(cursor: Cursor, line: HunkLine, old_left: int, new_left: int) -> HunkLine:
    """Take the `\\ ` line that says that the line before it ends its file without a line feed."""
    marker = cursor.peek()
    ended = (old_left == 0 or line.kind is LineKind.ADDED) and (new_left == 0 or line.kind is LineKind.REMOVED)
    if len(marker) <= _MARKER_SIZE or not ended:
        raise cursor.fault("PK102", "`\\ No newline` stands within the file", found=_shown(marker))
    return HunkLine(line.kind, line.text[:-1], marker)


def _cut_off(cursor: Cursor, start: int) -> Exception:
    """Return the error of a hunk whose body does not fit its header, with the counts that were found."""
    header = cursor.lines[start]
    body = []
    for line in cursor.lines[start + 1 :]:
        if line[:1] not in _KINDS or line.startswith((b"-- ", b"--- ", b"+++ ")):
            break
        body.append(line)
    if body and not body[-1].endswith(b"\n") and body[-1] is cursor.lines[-1]:
        return cursor.fault(
            "PK105",
            "the last line of the patch has no line feed",
            at=len(cursor.lines) - 1,
            hint=f"end it with a line feed; {CUT_OFF}",
        )
    while body and body[-1] == b"\n":
        body.pop()
    old, new = sum(line[:1] != b"+" for line in body), sum(line[:1] != b"-" for line in body)
    match = _HUNK.match(header)
    assert match
    stated = f"header says {int(match[2] or 1)} old and {int(match[4] or 1)} new lines; {old} and {new} found"
    mended = f"@@ -{int(match[1])},{old} +{int(match[3])},{new} @@"
    return cursor.fault(
        "PK102", "the hunk does not fit its counts", at=start, found=stated, hint=f"a cut-off file, or else: {mended}"
    )


def _shown(line: bytes) -> str:
    return repr(line[:80].decode("utf-8", "replace").rstrip("\r\n"))


# -- writing ------------------------------------------------------------------------------------------------


def _hunk_pieces(hunk: Hunk) -> Iterator[bytes]:
    yield hunk.header if _header_still_true(hunk) else _hunk_header(hunk)
    for line in hunk.lines:
        if line.text.endswith(b"\n"):
            is_bare = line.spelling == b"\n" and line.text == b"\n" and line.kind is LineKind.CONTEXT
            yield b"\n" if is_bare else line.kind.value.encode() + line.text
        else:
            yield line.kind.value.encode() + line.text + b"\n"
            yield line.spelling if line.spelling.startswith(b"\\ ") else DEFAULT_MARKER


def _header_still_true(hunk: Hunk) -> bool:
    match = _HUNK.match(hunk.header)
    if not match:
        return False
    stated = (int(match[1]), int(match[2] or 1), int(match[3]), int(match[4] or 1), match[5].removesuffix(b"\n"))
    return stated == (hunk.old_start, len(hunk.preimage), hunk.new_start, len(hunk.postimage), hunk.section)


def _hunk_header(hunk: Hunk) -> bytes:
    old, new = _range(hunk.old_start, len(hunk.preimage)), _range(hunk.new_start, len(hunk.postimage))
    return b"@@ -%s +%s @@%s\n" % (old, new, hunk.section)


def _range(start: int, count: int) -> bytes:
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)


def _reverse_hunk(hunk: Hunk, path: str) -> Hunk:
    swapped = {LineKind.ADDED: LineKind.REMOVED, LineKind.REMOVED: LineKind.ADDED}
    lines = tuple(line._replace(kind=swapped.get(line.kind, line.kind)) for line in hunk.lines)
    return hunk._replace(path=path, old_start=hunk.new_start, new_start=hunk.old_start, lines=lines, header=b"")
