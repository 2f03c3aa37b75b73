"""Each line of a file has the scope that a reader would name."""

import pytest

from patchkit.source.scopes import MODULE, common_scope, scopes

SOURCE = b'''import os

@decorated
class Queue:
    """Text."""

    @property
    def size(self):
        return 1
        # the end of size

    # before grow
    @size.setter
    async def size(
        self,
    ):
        def inner():
            pass
        return inner

if os:
    def late(): return 2
try:
    pass
except OSError:
    def late(): return 3
last = 1
'''

EXPECTED = {
    1: MODULE,
    2: MODULE,
    3: "Queue",
    5: "Queue",
    7: "Queue.size",
    9: "Queue.size",
    10: "Queue.size",
    12: "Queue",
    13: "Queue.size#2",
    16: "Queue.size#2",
    17: "Queue.size#2.inner",
    18: "Queue.size#2.inner",
    19: "Queue.size#2",
    21: MODULE,
    22: "late",
    26: "late#2",
    27: MODULE,
}


@pytest.mark.parametrize(("line", "scope"), EXPECTED.items())
def test_line_has_its_scope(line: int, scope: str) -> None:
    assert scopes(SOURCE).at(line) == scope


@pytest.mark.parametrize(
    ("line", "scope"), [(7, "Queue"), *((n, s) for n, s in EXPECTED.items() if n not in (3, 7, 13))]
)
def test_file_that_does_not_parse_is_read_by_indentation(line: int, scope: str) -> None:
    broken = scopes(SOURCE + b"print((1\n")
    assert broken.problem
    assert broken.problem_line == 28
    # comments at the end and decorators are told apart by syntax only
    assert broken.at(line) == scope


def test_sound_file_has_no_problem() -> None:
    assert (scopes(SOURCE).problem, scopes(SOURCE).problem_line) == ("", 0)


def test_definition_in_a_string_is_no_scope_when_broken() -> None:
    assert scopes(b'x = """\ndef f():\n    pass\n"""\nprint((\n').at(3) == MODULE


@pytest.mark.parametrize("source", [b"", b"\n", b"x", b"\x00", b"\xff\xfe", b"# coding: nonsense\n", b'"\\d"'])
def test_any_bytes_are_read(source: bytes) -> None:
    assert scopes(source).at(1) == MODULE
    assert scopes(source).at(99) == MODULE


@pytest.mark.parametrize(
    ("names", "common"),
    [
        pytest.param(["A.f", "A.f"], "A.f", id="same"),
        pytest.param(["A.f", "A.g"], "A", id="siblings"),
        pytest.param(["A.f.inner", "A.f"], "A.f", id="nested"),
        pytest.param(["A.f", MODULE], MODULE, id="module"),
        pytest.param(["A", "AB"], MODULE, id="a common prefix is not a common scope"),
        pytest.param([], MODULE, id="none"),
    ],
)
def test_common_scope(names: list[str], common: str) -> None:
    assert common_scope(names) == common


def test_enclosing_scope_of_lines() -> None:
    assert scopes(SOURCE).enclosing([9, 12]) == "Queue"
    assert scopes(SOURCE).enclosing(range(13, 20)) == "Queue.size#2"
