"""Where a hunk lands: tables of texts and hunks."""

import pytest

from patchkit.patch.hunks import Hunk, HunkLine, LineKind, Place
from patchkit.patch.patchtext import read_patch, split_lines
from patchkit.patch.place import TOP, Landing, apply_file, place_hunk, place_hunks

TEXT = b"".join(b"line %d\n" % number for number in range(1, 21))


def hunk(body: str, *, old: int, new: int | None = None) -> Hunk:
    lines = tuple(HunkLine(LineKind(line[0]), line[1:].encode() + b"\n") for line in body.splitlines())
    return Hunk("f", 1, old, old if new is None else new, lines)


MIDDLE = " line 9\n-line 10\n+line X\n line 11"


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        pytest.param(TEXT, 0, Place.EXACT, id="as stated"),
        pytest.param(b"new\n" + TEXT, 1, Place.OFFSET, id="one line added above"),
        pytest.param(b"".join(split_lines(TEXT)[3:]), -3, Place.OFFSET, id="three lines removed above"),
        pytest.param(TEXT.replace(b"line 9\n", b"line 9 \n"), None, Place.NOWHERE, id="trailing space in context"),
        pytest.param(TEXT.replace(b"\n", b"\r\n"), None, Place.NOWHERE, id="CRLF"),
        pytest.param(b"", None, Place.NOWHERE, id="empty file"),
        pytest.param(b"new\n" * 3 + TEXT * 3, 3, Place.OFFSET, id="nearest of three"),
        pytest.param(b"x\n" * 2 + TEXT[:-8] * 2, 2, Place.OFFSET, id="nearest of two below"),
    ],
)
def test_placement(text: bytes, offset: int | None, place: Place) -> None:
    placement = place_hunk(hunk(MIDDLE, old=9), split_lines(text))
    assert (placement.place, placement.offset) == (place, offset)


def test_tie_is_refused() -> None:
    block = b"line 9\nline 10\nline 11\n"
    text = block + b"a\n" * 6 + block + b"b\n"
    placement = place_hunk(hunk(MIDDLE, old=5), split_lines(text))  # candidates: lines 1 and 10; line 5 + 5 = 10
    assert placement.place is Place.OFFSET  # 4 above, 5 below: no tie
    text = block + b"a\n" * 5 + block + b"b\n"
    placement = place_hunk(hunk(MIDDLE, old=5), split_lines(text))
    assert (placement.place, placement.candidates) == (Place.AMBIGUOUS, (0, 8))


def test_allowed_scope_chooses_between_two() -> None:
    block = b"line 9\nline 10\nline 11\n"
    text = block + b"a\n" * 5 + block + b"b\n"
    placement = place_hunk(hunk(MIDDLE, old=5), split_lines(text), allowed=range(8, 11))
    assert (placement.place, placement.at) == (Place.OFFSET, 8)


def test_drift_of_the_hunk_above_that_points_elsewhere_is_ambiguous() -> None:
    block = b"line 9\nline 10\nline 11\n"
    text = block + b"a\n" * 7 + block + b"b\n"
    assert place_hunk(hunk(MIDDLE, old=2), split_lines(text), TOP).at == 0
    drifted = place_hunk(hunk(MIDDLE, old=2), split_lines(text), Landing(drift=9))
    assert drifted.place is Place.AMBIGUOUS


@pytest.mark.parametrize(
    ("body", "old", "text", "at"),
    [
        pytest.param("+top\n line 1", 1, b"x\n" + TEXT, None, id="line 1 must be at the beginning"),
        pytest.param("+top\n line 1", 1, TEXT, 0, id="at the beginning"),
        pytest.param(" line 20\n+end", 20, TEXT + b"x\n", None, id="no trailing context must be at the end"),
        pytest.param(" line 20\n+end", 20, b"x\n" + TEXT, 20, id="at the end"),
    ],
)
def test_anchors_at_the_edges(body: str, old: int, text: bytes, at: int | None) -> None:
    assert place_hunk(hunk(body, old=old), split_lines(text)).at == at


def test_second_hunk_is_placed_below_the_first() -> None:
    first = hunk(" line 2\n+a\n+b\n line 3", old=2, new=2)
    second = hunk(" line 9\n-line 10\n line 11", old=9, new=11)
    placements = place_hunks([first, second], split_lines(b"n\n" + TEXT))
    assert [(p.at, p.offset) for p in placements] == [(2, 1), (9, 1)]


def test_apply_file_gives_every_byte() -> None:
    patch = read_patch(
        b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\r\n-b\n\\ No newline at end of file\n+b\x0c\n+c\n"
    )
    result = apply_file(patch.files[0], b"a\r\nb")
    assert result.ok
    assert result.after == b"a\r\nb\x0c\nc\n"
    refused = apply_file(patch.files[0], b"a\nb")
    assert (refused.ok, refused.after, [h.name for h in refused.failed]) == (False, b"a\nb", ["f#1"])
