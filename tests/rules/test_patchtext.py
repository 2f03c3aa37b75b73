"""Reading and writing patch text: every byte kept, every line accounted for."""

import hashlib
import re
import time

import pytest

from patchkit.errors import PatchError
from patchkit.patch.hunks import ChangeKind
from patchkit.patch.patchtext import blob_id, read_patch, reverse_section, split_lines, write_patch

HEAD = b"diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n"
BODY = b"@@ -1,3 +1,3 @@ def f():\n a\n-b\n+c\n d\n"
GOOD = HEAD + BODY


FOREIGN_HEADS = {
    "cvs": b"Index: f\n" + b"=" * 67 + b"\nRCS file: /cvs/f,v\nretrieving revision 1.1\ndiff -u -r1.1 f\n"
    b"--- f\t1 Jan 2020 00:00:00 -0000\t1.1\n+++ f\t1 Jan 2021 00:00:00 -0000\n",
    "hg": b"diff -r 123 -r 456 f\n--- a/f\tThu Jan 02 2020\n+++ b/f\tFri Jan 03 2020\n",
    "bzr": b"=== modified file 'f'\n--- f\t2020-01-01 00:00:00 +0000\n+++ f\t2021-01-01 00:00:00 +0000\n",
    "diff -ru": b"Only in b: other\ndiff -ru a/f b/f\n--- a/f\t2020-01-02\n+++ b/f\t2020-01-03\n",
}


def twice(head: bytes) -> bytes:
    """Return a patch of two files with such a head each: f and g."""
    second = re.sub(rb"\bf\b", b"g", head)
    return head + BODY + second + BODY


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(GOOD, id="plain"),
        pytest.param(b"From 0123\nSubject: x\n\nmessage\n---\n f | 2 +-\n\n" + GOOD + b"-- \n2.39.5\n\n", id="mail"),
        pytest.param(GOOD + b"-- \n2.39.5\n\nFrom " + b"0" * 40 + b" Mon\nSubject: y\n\n" + GOOD, id="two mails"),
        pytest.param(GOOD.replace(b"@@ def f():", b"@@"), id="no section"),
        pytest.param(HEAD + b"@@ -1 +1 @@\n-b\n+c\n", id="one-line ranges"),
        pytest.param(HEAD + b"@@ -1,1 +1,1 @@\n-b\n+c\n", id="one-line ranges spelled out"),
        pytest.param(HEAD + b"@@ -1,3 +1,3 @@\n\n-b\n+c\n d\n", id="stripped blank context"),
        pytest.param(
            HEAD + b"@@ -1,2 +1,2 @@\n a\n-b\n\\ Kein Zeilenumbruch am Dateiende.\n+c\n", id="translated marker"
        ),
        pytest.param(
            HEAD + b"@@ -1,2 +1,2 @@\n-b\n+c\n a\n\\ No newline at end of file", id="marker without line feed"
        ),
        pytest.param(HEAD + b"@@ -1,3 +1,3 @@\r\n a\r\n-b\r\n+c\r\n d\r\n", id="CRLF"),
        pytest.param(GOOD.replace(b" a\n", b" a\x0c\x1c\xe2\x80\xa8\xc2\x85\r\x00\x1b\xe4\n"), id="odd bytes"),
        pytest.param(b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", id="mode only"),
        pytest.param(b"diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n", id="new empty file"),
        pytest.param(
            b"diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n", id="deleted empty file"
        ),
        pytest.param(b"diff --git a/f b/g h\nsimilarity index 100%\nrename from f\nrename to g h\n", id="rename"),
        pytest.param(b"diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n", id="copy"),
        pytest.param(b'diff --git "a/caf\\303\\251" "b/caf\\303\\251"\nold mode 100644\nnew mode 100755\n', id="octal"),
        pytest.param(
            b"diff --git a/x b/x b/x b/x\nold mode 100644\nnew mode 100755\n", id="a name that looks like two"
        ),
        pytest.param(b"diff --git i/f w/f\n--- i/f\n+++ w/f\n" + BODY, id="mnemonic prefix"),
        pytest.param(b"diff --git d/f d/f\n--- d/f\n+++ d/f\n" + BODY, id="no prefix"),
        pytest.param(b"diff -ru a/f b/f\n--- a/f\t2020-01-01 00:00:00 +0000\n+++ b/f\t2020\n" + BODY, id="diff -ru"),
        pytest.param(b"Index: f\n" + b"=" * 67 + b"\n--- f\t(revision 1)\n+++ f\t(working copy)\n" + BODY, id="svn"),
        pytest.param(GOOD + b"\n" + GOOD.replace(b"/f", b"/g"), id="blank line between sections"),
        *(pytest.param(twice(head), id=name) for name, head in FOREIGN_HEADS.items()),
    ],
)
def test_written_as_read(raw: bytes) -> None:
    patch = read_patch(raw)
    assert write_patch(patch) == raw
    assert patch.files


@pytest.mark.parametrize(
    ("raw", "path", "kind"),
    [
        pytest.param(b"diff --git a/x b/x b/x b/x\nold mode 100644\nnew mode 100755\n", "x b/x", ChangeKind.MODE),
        pytest.param(b'diff --git "a/\\344" "b/\\344"\nold mode 100644\nnew mode 100755\n', "\udce4", ChangeKind.MODE),
        pytest.param(b"diff --git d/f d/f\n--- d/f\n+++ d/f\n" + BODY, "d/f", ChangeKind.MODIFY),
        pytest.param(b"diff --git i/d/f w/d/f\n--- i/d/f\n+++ w/d/f\n" + BODY, "d/f", ChangeKind.MODIFY),
        pytest.param(b"--- f.orig\n+++ f\n" + BODY, "f", ChangeKind.MODIFY),
        pytest.param(b"--- a/my file 2020-01-01 10:00:00\n+++ b/my file\n" + BODY, "my file", ChangeKind.MODIFY),
        pytest.param(b"--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+x\n", "d/f", ChangeKind.CREATE),
    ],
    ids=["a name that looks like two", "latin-1", "no prefix", "mnemonic", "orig", "space and time", "dev null"],
)
def test_name_and_kind(raw: bytes, path: str, kind: ChangeKind) -> None:
    (section,) = read_patch(raw).files
    assert (section.path, section.kind) == (path, kind)


@pytest.mark.parametrize(
    ("raw", "rule", "where"),
    [
        pytest.param(b"", "PK101", "x.patch:1", id="empty"),
        pytest.param(b"<!DOCTYPE html>\n", "PK101", "x.patch:1", id="web page"),
        pytest.param(b"    " + GOOD.replace(b"\n", b"\n    "), "PK101", "x.patch:1", id="indented"),
        pytest.param(GOOD.replace(b"-1,3", b"-1,2"), "PK102", "x.patch:5", id="count too small"),
        pytest.param(GOOD.replace(b"-1,3 +1,3", b"-1,2 +1,2"), "PK102", "x.patch:9", id="both counts too small"),
        pytest.param(GOOD.replace(b"-1,3 +1,3", b"-1,4 +1,4"), "PK102", "x.patch:5", id="both counts too large"),
        pytest.param(GOOD[:-3], "PK102", "x.patch:5", id="truncated at a line"),
        pytest.param(GOOD[:-1], "PK105", "x.patch:9", id="truncated within a line"),
        pytest.param(GOOD.replace(b"-1,3", b"-9999999999"), "PK103", "x.patch:5", id="number that wraps"),
        pytest.param(GOOD + b"@@ -8,5\n a\n-b\n", "PK103", "x.patch:10", id="second hunk header damaged"),
        pytest.param(
            GOOD + b"    " + GOOD.replace(b"\n", b"\n    "), "PK102", "x.patch:10", id="second section indented"
        ),
        pytest.param(
            GOOD + GOOD.replace(b"a/f", b"a/g").replace(b"b/f", b"a/g"), "PK110", "x.patch:10", id="mixed prefixes"
        ),
        pytest.param(GOOD + b"word\n", "PK104", "x.patch:10", id="text after a section"),
        pytest.param(GOOD + b"+more\n" + GOOD, "PK102", "x.patch:10", id="added lines between sections"),
        pytest.param(GOOD + b"diff --git a/g b/g\n", "PK110", "x.patch:10", id="cut off after diff --git"),
        pytest.param(b"diff --git a/f b/f\njunk\nnew file mode 100644\n", "PK110", "x.patch:1", id="junk in a head"),
        pytest.param(BODY, "PK104", "x.patch:1", id="hunk without a file"),
        pytest.param(HEAD + b"@@ -1,2 +1,2 @@\n a\n b\n", "PK106", "x.patch:5", id="context only"),
        pytest.param(HEAD + b"@@ -0,0 +0,0 @@\n", "PK106", "x.patch:5", id="no line at all"),
        pytest.param(b"diff --cc f\nindex 1,2..3\n" + GOOD, "PK107", "x.patch:1", id="combined"),
        pytest.param(b"*** a/f\n--- b/f\n*****\n*** 1 ****\n" + GOOD, "PK108", "x.patch:1", id="context diff"),
        pytest.param(
            b"diff --git a/f b/f\nindex 1111111..2222222 100644\n", "PK109", "x.patch:1", id="changes nothing"
        ),
        pytest.param(GOOD.replace(b"+++ b/f", b"+++ b/g"), "PK110", "x.patch:1", id="names differ"),
        pytest.param(GOOD.replace(b"100644", b"999999"), "PK110", "x.patch:2", id="no such mode"),
        pytest.param(GOOD + b"<<<<<<< HEAD\n", "PK115", "x.patch:10", id="conflict marker between sections"),
        pytest.param(HEAD[:-16] + b"Binary files a/f and b/f differ\n", "PK117", "x.patch:3", id="binary without data"),
        pytest.param(
            b"diff --git a/f b/f\r\nold mode 100644\r\nnew mode 100755\r\n", "PK110", "x.patch:1", id="CRLF mode"
        ),
        pytest.param(
            b'diff --git "a/\\344"7"b/\\344"\nold mode 100644\nnew mode 100755\n', "PK110", "x.patch:1", id="no blank"
        ),
        pytest.param(b"--- a/f\n+++ b/g\n" + BODY, "PK110", "x.patch:1", id="a rename without its git line"),
        pytest.param(
            HEAD + b"@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline", "PK102", "x.patch:9", id="a marker that git overlooks"
        ),
        pytest.param(GOOD.replace(b"+++ b/f\n", b""), "PK110", "x.patch:4", id="only the old name"),
        pytest.param(GOOD.replace(b"--- a/f\n", b""), "PK110", "x.patch:4", id="only the new name"),
        pytest.param(b"diff --git a/f b/f\nrename from f\n", "PK110", "x.patch:1", id="rename without target"),
    ],
)
def test_refused(raw: bytes, rule: str, where: str) -> None:
    with pytest.raises(PatchError) as caught:
        read_patch(raw, name="x.patch")
    assert (caught.value.rule, caught.value.where) == (rule, where)


def test_wrong_counts_are_told_with_the_right_header() -> None:
    with pytest.raises(PatchError) as caught:
        read_patch(GOOD.replace(b"-1,3 +1,3", b"-1,7 +1,8"))
    assert "3 and 3 found" in caught.value.found
    assert "@@ -1,3 +1,3 @@" in caught.value.hint


def test_changed_fields_are_written_not_the_lines_as_read() -> None:
    (section,) = read_patch(GOOD).files
    changed = section._replace(postimage_id="3" * 40, preimage_id="1" * 40)
    raw = write_patch(read_patch(GOOD)._replace(files=(changed,)))
    assert raw == GOOD.replace(b"1111111..2222222", b"1" * 40 + b".." + b"3" * 40)
    moved = section._replace(hunks=(section.hunks[0]._replace(old_start=5, new_start=6),))
    assert b"@@ -5,3 +6,3 @@ def f():\n" in write_patch(read_patch(GOOD)._replace(files=(moved,)))


def test_reverse_twice_is_the_same_section() -> None:
    (section,) = read_patch(GOOD).files
    assert reverse_section(reverse_section(section)) == section


def test_blob_id_is_gits() -> None:
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id(b"x") == hashlib.sha1(b"blob 1\0x").hexdigest()


def test_lines_end_at_line_feeds_only() -> None:
    assert split_lines(b"a\r\x0c\xc2\x85\nb") == [b"a\r\x0c\xc2\x85\n", b"b"]


def test_hundred_thousand_lines_are_read_in_linear_time() -> None:
    body = b"".join(b"-old %d\n+new %d\n" % (number, number) for number in range(50_000))
    raw = HEAD + b"@@ -1,50000 +1,50000 @@\n" + body
    started = time.perf_counter()
    assert write_patch(read_patch(raw)) == raw
    assert time.perf_counter() - started < 2


def test_a_header_made_to_be_slow_is_refused_at_once() -> None:
    raw = b"diff --git " + b"://a" * 20_000 + b" b" * 20_000 + b"\nold mode 100644\nnew mode 100755\n"
    started = time.perf_counter()
    with pytest.raises(PatchError):
        read_patch(raw)
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"--- a/x\n+++ ../x\n", id="plain"),
        pytest.param(b"diff --git a/x ../x\n--- a/x\n+++ ../x\n", id="git"),
        pytest.param(b"diff --git a/x b/x\n--- ../x\n+++ b/x\n", id="git, one line"),
    ],
)
def test_name_that_leads_upwards_is_refused_before_its_first_directory_is_taken_off(head: bytes) -> None:
    with pytest.raises(PatchError) as caught:
        read_patch(head + b"@@ -1 +1 @@\n-a\n+b\n")
    assert caught.value.rule == "PK111"
    assert "'../x': outside the tree" in caught.value.what
