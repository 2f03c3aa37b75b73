"""Where the unidiff package reads or writes otherwise than git, patchkit does as git does."""

import gzip
import time

import pytest
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from patchkit.errors import PatchError
from patchkit.patch.hunks import ChangeKind
from patchkit.patch.patchtext import count_by_unidiff, read_patch, write_patch

HEAD = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n"
GOOD = HEAD + b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"
BINARY = b"diff --git a/x b/x\nnew file mode 100644\nindex 0000000..f76dd23\nGIT binary patch\n"
DATA = b"literal 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n"


def by_unidiff(raw: bytes) -> PatchSet:
    return PatchSet(raw.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(BINARY + DATA, id="binary data dropped"),
        pytest.param(GOOD.replace(b" d\n", b"") .replace(b"3 @@", b"2 @@").replace(b"-1,3", b"-1,2")
                     + b"\\ Kein Zeilenumbruch am Dateiende.\n", id="translated marker dropped"),
        pytest.param(HEAD + b"@@ -1 +1 @@\n-a\n+b\n", id="one-line ranges spelled out"),
        pytest.param(b"From 1\nSubject: x\n\nwords\n" + GOOD + b"-- \n2.39.5\n", id="mail dropped"),
        pytest.param(GOOD.replace(b"f\n", b"a b\t\n").replace(b"a/a b\t b/a b\t", b"a/a b b/a b"), id="tab dropped"),
        pytest.param(HEAD + b"@@ -1,3 +1,3 @@\n\n-b\n+c\n d\n", id="stripped blank context gets its space back"),
    ],
)  # fmt: skip
def test_unidiff_is_no_writer_and_ours_is(raw: bytes) -> None:
    try:
        theirs = str(by_unidiff(raw)).encode("utf-8", "surrogateescape")
    except UnidiffParseError:
        theirs = b""
    assert theirs != raw
    try:
        assert write_patch(read_patch(raw)) == raw
    except PatchError as error:
        pytest.fail(f"{error.where}: {error.what}; {error.found}")


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        pytest.param(b"", "PK101", id="empty"),
        pytest.param(b"<!DOCTYPE html><html></html>\n", "PK101", id="web page"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "PK101", id="LFS pointer"),
        pytest.param(gzip.compress(GOOD), "PK101", id="gzip"),
        pytest.param(b"    " + GOOD.replace(b"\n", b"\n    "), "PK101", id="indented"),
        pytest.param(b"> " + GOOD.replace(b"\n", b"\n> "), "PK101", id="quoted"),
        pytest.param(b"\x1b[1m" + GOOD.replace(b"\n", b"\x1b[m\n\x1b[1m"), "PK101", id="coloured"),
        pytest.param(b"*** a/f\n--- b/f\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "PK108", id="context"),
        pytest.param(b"1c1\n< a\n---\n> b\n", "PK101", id="normal"),
        pytest.param(
            b"diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n", "PK107", id="combined"
        ),
        pytest.param(b"1c\nb\n.\n", "PK101", id="ed script"),
        pytest.param(GOOD[:30], "PK110", id="cut inside the header"),
        pytest.param(HEAD + b"@@ -1,3 +1\n", "PK103", id="malformed hunk header"),
        pytest.param(b"diff --git a/f b/f\nold mode 999999\nnew mode 100644\n", "PK116", id="invalid mode"),
        pytest.param(
            b"diff --git a/f b/g\nsimilarity index 100%\nrename from f\n", "PK110", id="rename without its target"
        ),
        pytest.param(BINARY + DATA[:20] + b"\n", "PK117", id="damaged binary"),
    ],
)
def test_what_unidiff_takes_without_a_word_is_refused(raw: bytes, rule: str) -> None:
    counted = count_by_unidiff(raw)
    assert not counted or all(lines == (0, 0) for lines in counted.values())
    with pytest.raises(PatchError) as caught:
        read_patch(raw, name="x.patch")
    assert caught.value.rule == rule
    assert caught.value.where.startswith("x.patch:")


def test_an_insertion_at_line_1_is_no_new_file() -> None:
    raw = HEAD + b"@@ -0,0 +1 @@\n+first\n"
    assert by_unidiff(raw)[0].is_added_file
    assert read_patch(raw).files[0].kind is ChangeKind.MODIFY


def test_a_file_that_is_emptied_is_not_deleted() -> None:
    raw = HEAD + b"@@ -1 +0,0 @@\n-last\n"
    assert by_unidiff(raw)[0].is_removed_file
    assert read_patch(raw).files[0].kind is ChangeKind.MODIFY


def test_a_copy_is_no_rename() -> None:
    raw = b"diff --git a/f b/g\nsimilarity index 90%\ncopy from f\ncopy to g\n" + GOOD[GOOD.index(b"---") :].replace(
        b"b/f", b"b/g"
    )
    assert by_unidiff(raw)[0].is_rename
    assert read_patch(raw).files[0].kind is ChangeKind.COPY


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        pytest.param(
            GOOD.replace(b"a/f", b'"a/caf\\303\\251"').replace(b"b/f", b'"b/caf\\303\\251"'), "caf\u00e9", id="octal"
        ),
        pytest.param(GOOD.replace(b"a/f", b"a/x").replace(b"b/f", b"a/x"), "a/x", id="a folder named a, no prefix"),
        pytest.param(GOOD.replace(b"/f", b"/x b/x"), "x b/x", id="x b/x"),
        pytest.param(GOOD.replace(b"a/f", b"old/f").replace(b"b/f", b"new/f"), "f", id="custom prefix"),
        pytest.param(b"--- a/f 2020-01-01 00:00:00\n+++ b/f 2020-01-02 00:00:00\n" + GOOD[len(HEAD) :], "f", id="time"),
    ],
)
def test_path_is_gits(raw: bytes, path: str) -> None:
    assert read_patch(raw).files[0].path == path


def test_a_commit_message_with_file_lines_is_no_file() -> None:
    raw = b"Subject: x\n\n--- x\n+++ y\nwords\n\n" + GOOD
    assert [section.path for section in read_patch(raw).files] == ["f"]


def test_the_second_file_s_hunk_is_never_added_to_the_first() -> None:
    raw = GOOD + b"@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert len(read_patch(raw).files[0].hunks) == 2  # without a header of its own it belongs to f: the counts must fit
    with pytest.raises(PatchError):
        read_patch(GOOD + b"--- a/g\n" + b"@@ -1,2 +1,2 @@\n a\n-b\n+c\n")


@pytest.mark.parametrize("text", [b"\xe4\xf6", b"a\rb", b"\xe2\x80\xa8", b"\x0c\x1c\xc2\x85"], ids=repr)
def test_every_byte_is_read(text: bytes) -> None:
    raw = GOOD.replace(b"+c", b"+" + text)
    assert read_patch(raw).files[0].hunks[0].added == (text + b"\n",)
    assert write_patch(read_patch(raw)) == raw


def test_a_line_that_keeps_unidiff_busy_is_read_at_once() -> None:
    raw = b"diff --git " + b"://a" * 2000 + b" b" * 2000 + b"\nold mode 100644\nnew mode 100755\n"
    started = time.perf_counter()
    with pytest.raises(PatchError):
        read_patch(raw)
    assert time.perf_counter() - started < 0.5
