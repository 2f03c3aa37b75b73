"""PK1xx: each rule on a patch that breaks it, and the table of all of them."""

import re
from pathlib import Path

import pytest

from patchkit.errors import PatchError
from patchkit.model import Severity
from patchkit.patch.patchtext import count_by_unidiff, read_patch
from patchkit.rules.catalog import TEXT
from patchkit.rules.text import find_faults, lint_text, refuse_faults, unsafe_path

HEAD = b"diff --git a/f.py b/f.py\nindex %s..%s 100644\n--- a/f.py\n+++ b/f.py\n" % (b"1" * 40, b"2" * 40)
BODY = b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"
GOOD = HEAD + BODY


def rules(raw: bytes) -> list[str]:
    return [finding.rule for finding in lint_text(raw, name="x.patch")[1]]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(GOOD, [], id="good"),
        pytest.param(b"", ["PK101"], id="unreadable"),
        pytest.param(GOOD.replace(b"1" * 40, b"1" * 7), ["PK130"], id="abbreviated"),
        pytest.param(
            (GOOD + GOOD.replace(b"/f.py", b"/g.py")).replace(b"1" * 40, b"1" * 7), ["PK130"], id="in all files"
        ),
        pytest.param(HEAD[:24] + b"\n" + GOOD[GOOD.index(b"---") :], ["PK131"], id="no index line"),
        pytest.param(GOOD.replace(b"f.py", b"../f"), ["PK111"], id="outside"),
        pytest.param(GOOD + GOOD, ["PK113"], id="twice"),
        pytest.param(GOOD.replace(b"+c", b"+>>>>>>> theirs"), ["PK115"], id="marker"),
        pytest.param(GOOD.replace(b"+c", b"+======="), [], id="equal signs"),
        pytest.param(GOOD.replace(b"-b", b"-<<<<<<< HEAD"), [], id="marker taken out"),
        pytest.param(GOOD.replace(b"f.py", b".git/f"), ["PK112"], id="inside .git"),
        pytest.param(GOOD.replace(b"+c", b"+b"), ["PK109"], id="no effective change"),
        pytest.param(GOOD + BODY.replace(b"-1,3 +1,3", b"-2,3 +2,3"), ["PK114"], id="overlap"),
    ],
)
def test_rule(raw: bytes, expected: list[str]) -> None:
    assert rules(raw) == expected


def test_finding_names_the_line_and_the_mend() -> None:
    (finding,) = lint_text(GOOD.replace(b"+c", b"+<<<<<<< HEAD"), name="x.patch")[1]
    assert (finding.patch_file, finding.patch_line, finding.path) == ("x.patch", 8, "f.py")
    assert finding.severity is Severity.ERROR
    assert finding.hint


def test_every_unreadable_section_is_told() -> None:
    bad = GOOD.replace(b"+1,3 @@", b"+1,4 @@")
    raw = b"Subject: x\n\n" + bad + GOOD.replace(b"f.py", b"g.py") + bad.replace(b"f.py", b"h.py")
    patch, findings = lint_text(raw, name="x.patch")
    assert patch is None
    assert [(finding.rule, finding.patch_line) for finding in findings] == [("PK102", 7), ("PK102", 25)]


def test_weak_ids_warn_and_do_not_refuse() -> None:
    raw = GOOD.replace(b"1" * 40, b"1" * 7)
    assert [finding.severity for finding in lint_text(raw)[1]] == [Severity.WARNING]
    refuse_faults(read_patch(raw))
    with pytest.raises(PatchError, match="outside the tree"):
        refuse_faults(read_patch(GOOD.replace(b"f.py", b"../f")))


@pytest.mark.parametrize("path", ["f", "a b", ".github/x", "git.py", "d/gitlab~1", ".gitignore", "..f", "f..", "d\\e"])
def test_safe_path(path: str) -> None:
    assert unsafe_path(path) is None


def test_every_rule_is_in_the_catalog_and_used() -> None:
    package = Path(__file__).parents[2] / "patchkit"
    sources = ("patch/sections.py", "patch/patchtext.py", "patch/binary.py", "rules/text.py")
    used = {rule for name in sources for rule in re.findall(r"PK1\d\d", (package / name).read_text())}
    assert used == set(TEXT)
    assert all(rule.title and rule.why and rule.mend.endswith(".") for rule in TEXT.values())


@pytest.mark.parametrize(
    "raw",
    [b"<!DOCTYPE html>\n", b"version https://git-lfs.github.com/spec/v1\n", b"*** a\n--- b\n*****\n", b"garbage\n"],
    ids=["web page", "lfs", "context", "garbage"],
)
def test_unidiff_reads_nothing_where_we_refuse(raw: bytes) -> None:
    assert not count_by_unidiff(raw)
    with pytest.raises(PatchError):
        read_patch(raw)


def test_unidiff_reads_every_byte_through_us() -> None:
    raw = GOOD.replace(b"+c", b"+\xe4\x0c\xe2\x80\xa8")
    assert count_by_unidiff(raw) == {"f.py": (1, 1)}
    assert list(find_faults(read_patch(raw))) == []
