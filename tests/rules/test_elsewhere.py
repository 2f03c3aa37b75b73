"""PK503, PK504: upstream has it in another file or in a base, or the series hides it."""

import pytest

from patchkit.rules import elsewhere
from patchkit.rules.symbols import Symbols
from tests.rules.patched import patched, subject

BODY = """\
    rooms = sorted(table)
    for room in rooms:
        table.pop(room)
    table.clear()
    return len(rooms)
"""
METHOD = "    def drain(self, table):\n" + "".join(f"    {line}\n" for line in BODY.splitlines())
PATH = "python/sglang/srt/new.py"


def rules(before: str, after: str, others: dict[str, str]) -> list[tuple[str, int]]:
    given = subject(patched(before, after, path=PATH), others={f"python/sglang/srt/{n}": t for n, t in others.items()})
    return [(finding.rule, finding.line) for finding in elsewhere.find(given, Symbols.of(given))]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param("def drain(table):\n" + BODY, [("PK503", 3)], id="the same function in another file"),
        pytest.param("def drain(table):\n" + BODY.replace("sorted(table)", "list(table)"), [("PK503", 3)], id="nearly"),
        pytest.param("def drain(table):\n    x = 1\n    y = 2\n    return x + y\n", [], id="another of that name"),
        pytest.param("def drain_all(table):\n" + BODY, [], id="another name"),
        pytest.param("class Q:\n" + METHOD, [], id="a method"),
    ],
)
def test_function_that_upstream_moved(other: str, expected: list[tuple[str, int]]) -> None:
    before = "import os\n\n"
    assert rules(before, before + "def drain(table):\n" + BODY, {"other.py": other}) == expected


BASE = "from sglang.srt.base import Base\n\n\nclass Queue(Base):\n    limit = 1\n"


@pytest.mark.parametrize(
    ("base", "added", "expected"),
    [
        pytest.param("class Base:\n" + METHOD, METHOD, [("PK503", 6)], id="the base has the same"),
        pytest.param(
            "class Base:\n    def drain(self, table):\n        return self.x\n",
            METHOD,
            [("PK504", 6)],
            id="it hides another",
        ),
        pytest.param(
            "class Base:\n    def drain(self, table):\n        return self.x\n",
            METHOD.replace("sorted(table)", "super().drain(table)"),
            [],
            id="it calls what it hides",
        ),
        pytest.param(
            "class Base:\n    def drain(self, table):\n        raise NotImplementedError()\n", METHOD, [], id="abstract"
        ),
        pytest.param("class Base:\n    def drain(self, table): ...\n", METHOD, [], id="empty"),
        pytest.param("class Base:\n    def other(self, table):\n        return 1\n", METHOD, [], id="another name"),
        pytest.param(
            "class Base:\n    def drain(self, table):\n        return self.x\n\n"
            "class Other(Base):\n    def drain(self, table):\n        return 2\n",
            METHOD,
            [],
            id="upstream replaces it in another class",
        ),
        pytest.param("class Top:\n" + METHOD + "\nclass Base(Top):\n    pass\n", METHOD, [("PK503", 6)], id="far base"),
    ],
)
def test_method_of_a_base(base: str, added: str, expected: list[tuple[str, int]]) -> None:
    assert rules(BASE, BASE + added, {"base.py": base}) == expected
