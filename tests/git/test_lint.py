"""PK601-PK604 with ruff itself: base against patched, each with its sound twin."""

from pathlib import Path

import pytest

from patchkit.lint import lint
from patchkit.rules import python
from patchkit.rules.subject import Subject
from tests.rules.patched import PATH, patched

BEFORE = """\
import os
from http import HTTPStatus

def f(req):
    return os.path.join(req, HTTPStatus.OK.phrase)
"""


def rules(after: str, before: str = BEFORE, *, version: str = "3.12") -> list[tuple[str, int]]:
    file = patched(before, after)
    found = lint({PATH: before.encode()}, {PATH: after.encode()}, python=version)
    return [(finding.rule, finding.line) for finding in python.find(Subject(None, {PATH: file}, lint=found))]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(BEFORE, [], id="unchanged"),
        pytest.param(BEFORE + "x = suppress()\n", [("PK602", 6)], id="a removed import"),
        pytest.param("from contextlib import suppress\n" + BEFORE + "x = suppress()\n", [], id="imported"),
        pytest.param("import sys\n" + BEFORE, [("PK603", 1)], id="unused import"),
        pytest.param(BEFORE.replace("HTTPStatus.OK.phrase", "1"), [("PK603", 2)], id="upstream's import left unused"),
        pytest.param(BEFORE + "def f(req):\n    return 2\n", [("PK604", 6)], id="redefined"),
        pytest.param(BEFORE + "def g(req):\n    return 2\n", [], id="another name"),
        pytest.param(BEFORE + "def g(:\n", [("PK601", 6)], id="does not compile"),
        pytest.param(BEFORE + "return 1\n", [("PK601", 6)], id="return outside of a function"),
    ],
)
def test_new_findings_only(after: str, expected: list[tuple[str, int]]) -> None:
    assert rules(after)[: len(expected) or None] == expected


@pytest.mark.parametrize(
    ("added", "expected"),
    [("from sglang.srt.cache import Mixin\n", []), ("from json import loads\n", [("PK603", 2)])],
    ids=["of the own package, for others to import", "of another"],
)
def test_import_in_a_package_s_init(added: str, expected: list[tuple[str, int]]) -> None:
    path, before = "python/sglang/srt/__init__.py", "x = 1\n"
    file = patched(before, before + added, path=path)
    found = lint({path: before.encode()}, {path: (before + added).encode()}, python="3.12")
    assert [(each.rule, each.line) for each in python.find(Subject(None, {path: file}, lint=found))] == expected


def test_finding_of_upstream_is_not_ours_though_its_line_moved() -> None:
    before = BEFORE + "def g():\n    return undefined\n"
    assert rules("# one line more\n" + before, before) == []


@pytest.mark.parametrize(("version", "expected"), [("3.12", []), ("3.11", [("PK601", 6)])])
def test_syntax_is_that_of_the_pin_s_python(version: str, expected: list[tuple[str, int]]) -> None:
    assert rules(BEFORE + "type Rooms = list[int]\n", version=version) == expected


def test_no_setting_of_the_user_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ruff.toml").write_text('lint.ignore = ["F821"]\n')
    monkeypatch.chdir(tmp_path)
    assert rules(BEFORE + "x = suppress()\n") == [("PK602", 6)]
