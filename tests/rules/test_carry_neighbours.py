"""Where an insertion stands when upstream inserted at the same place."""

import pytest

from patchkit.carry.neighbours import hugs_below, sorted_place
from patchkit.carry.nouns import Edit
from tests.rules.carrying import carry_one

IMPORTS = "from a import a\nfrom z import z\n"


@pytest.mark.parametrize(
    ("lines", "new", "place"),
    [
        (("    alpha,", "    omega,"), ("    middle,",), 1),
        (("from b import b",), ("from c import c",), 1),
        (("from c import c",), ("from b import b",), 0),
        (("    omega,", "    alpha,"), ("    middle,",), -1),
        (("    size=1,",), ("    rank=1,",), -1),
        (("    middle,",), ("    alpha,", "    omega,"), -1),
    ],
    ids=["between", "after", "before", "not sorted", "no imports", "no single place"],
)
def test_sorted_lines_stay_sorted(lines: tuple[str, ...], new: tuple[str, ...], place: int) -> None:
    assert sorted_place(lines, new) == place


def test_import_is_put_in_order_among_upstreams() -> None:
    patched = IMPORTS.replace("from z", "from m import m\nfrom z")
    new = IMPORTS.replace("from z", "from b import b\nfrom n import n\nfrom z")
    decision, text = carry_one(IMPORTS, patched, new)
    assert not decision.suspect
    assert text.splitlines() == [f"from {name} import {name}" for name in "abmnz"]


@pytest.mark.parametrize(
    ("base", "new", "hugs"),
    [
        (("a()", "", "b()"), ("x()",), True),
        (("a()", "", "b()"), ("x()", ""), False),
        (("a()", "c()", "b()"), ("x()",), False),
    ],
    ids=["a blank line above", "a blank line of its own below", "a line above"],
)
def test_what_an_insertion_hugs(base: tuple[str, ...], new: tuple[str, ...], hugs: bool) -> None:
    assert hugs_below(Edit(1, 2, 2, new, 2), base) is hugs


def test_insertion_stays_with_the_line_that_it_hugs() -> None:
    old = "def run():\n    start()\n\n    finish()\n"
    patched = old.replace("    finish", "    check()\n    finish")
    new = old.replace("    finish", "    poll()\n\n    finish")
    _, text = carry_one(old, patched, new)
    assert text == "def run():\n    start()\n\n    poll()\n\n    check()\n    finish()\n"
