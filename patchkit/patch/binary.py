"""Binary content in a patch: read its blocks, and apply them to a file's bytes."""

import re

from patchkit.patch.hunks import BinaryBlock, BinaryMethod
from patchkit.patch.sections import Cursor

_BLOCK = rb"(literal|delta) ([0-9]{1,10})\n"
MAX_SIZE_BYTES = 64 << 20  # no source file is larger; a compressed block may claim any size


def read_binary_blocks(cursor: Cursor) -> tuple[BinaryBlock, ...]:
    """Read the one or two blocks after `GIT binary patch`: forward and, if it is there, backward.

    Raises: PatchError PK117 if one is missing or damaged (git would skip it with exit 0).
    Source: git apply.c, parse_binary_hunk().
    """
    blocks: list[BinaryBlock] = []
    while len(blocks) < 2 and re.fullmatch(_BLOCK, cursor.peek()):
        blocks.append(_read_block(cursor))
    if not blocks:
        raise cursor.fault("PK117", "binary data is missing", hint="make the patch with `--binary --full-index`")
    return tuple(blocks)


def apply_block(block: BinaryBlock, before: bytes) -> bytes | None:
    """Return the content after the change, or None if the delta is not for these bytes."""
    import zlib  # loaded only for binary patches, as base64 below

    content = zlib.decompress(block.payload)
    match block.method:
        case BinaryMethod.LITERAL:
            return content
        case BinaryMethod.DELTA:
            return _apply_delta(content, before)


def _read_block(cursor: Cursor) -> BinaryBlock:
    import zlib

    start = cursor.at
    match = re.fullmatch(_BLOCK, cursor.peek())
    assert match
    cursor.at += 1
    pieces = []
    while cursor.peek().rstrip(b"\n"):
        pieces.append(_decode_line(cursor))
        cursor.at += 1
    if not cursor.peek():
        raise cursor.fault("PK117", "binary data is cut off", hint="make the patch again with `--binary`")
    cursor.at += 1
    size, payload = int(match[2]), b"".join(pieces)
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(payload, min(size, MAX_SIZE_BYTES) + 1)
    except zlib.error as exc:
        raise cursor.fault("PK117", "binary data is damaged", at=start, found=str(exc)) from exc
    if len(content) != size or not inflater.eof or inflater.unused_data:
        raise cursor.fault("PK117", "binary data is damaged", at=start, found=f"it is not of {size} bytes as stated")
    raw = b"".join(cursor.lines[start : cursor.at])
    return BinaryBlock(BinaryMethod(match[1].decode()), size, payload, raw)


def _decode_line(cursor: Cursor) -> bytes:
    """Return the bytes of one line: a letter for their number, then groups of five characters."""
    import base64

    line = cursor.peek().rstrip(b"\n")
    letter, digits = line[:1], line[1:]
    if letter.isupper():
        size = ord(letter) - ord("A") + 1
    elif letter.islower():
        size = ord(letter) - ord("a") + 27
    else:
        raise cursor.fault("PK117", "binary data is damaged", found="the line does not begin with its length")
    if len(digits) != (size + 3) // 4 * 5:
        raise cursor.fault("PK117", "binary data is damaged", found="the line is longer or shorter than it says")
    try:
        return base64.b85decode(digits)[:size]
    except ValueError as exc:
        raise cursor.fault("PK117", "binary data is damaged", found=str(exc)) from exc


def _apply_delta(delta: bytes, before: bytes) -> bytes | None:
    """Apply git's pack delta. Source: git patch-delta.c."""
    try:
        source_size, at = _varint(delta, 0)
        target_size, at = _varint(delta, at)
        after = bytearray()
        while at < len(delta):
            command = delta[at]
            at += 1
            if command & 0x80:
                offset, at = _packed(delta, at, command & 0x0F, 4)
                size, at = _packed(delta, at, (command >> 4) & 0x07, 3)
                size = size or 0x10000
                if offset + size > len(before):
                    return None
                after += before[offset : offset + size]
            elif command and at + command <= len(delta):
                after += delta[at : at + command]
                at += command
            else:
                return None
    except IndexError:
        return None
    return bytes(after) if source_size == len(before) and target_size == len(after) else None


def _varint(delta: bytes, at: int) -> tuple[int, int]:
    """Return a size of seven bits a byte, lowest first, and the index after it."""
    size = shift = 0
    while True:
        byte = delta[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size, at


def _packed(delta: bytes, at: int, present: int, width: int) -> tuple[int, int]:
    """Return a number of which only the bytes named by the bits of `present` are stored."""
    number = 0
    for position in range(width):
        if present & (1 << position):
            number |= delta[at] << (8 * position)
            at += 1
    return number, at
