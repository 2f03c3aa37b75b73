"""A release that the caller and the called function both make is found, and its sound twins are not."""

from textwrap import dedent, indent

import pytest

from patchkit.rules import callees
from patchkit.rules.symbols import Symbols
from tests.rules.patched import patched, subject

PATH = "python/sglang/srt/queue.py"
OTHER = "from sglang.srt.pool import release\n\ndef finish(req, pool):\n    log(req)\n    release(req, pool)\n"
MODULE = """\
from sglang.srt.other import finish
from sglang.srt.pool import release

class Queue:
    def drop(self, req):
{drop}
    async def leave(self, req):
        await self.pool.release(req)

    def fail(self, req, other):
{fail}"""
DROP = "self.log(req)\nrelease(req, self.pool)"


def rules(before: str, after: str, *, drop: str = DROP, drop_before: str = "") -> list[tuple[str, int]]:
    def module(fail: str, body: str) -> str:
        return MODULE.format(fail=indent(dedent(fail), " " * 8), drop=indent(body + "\n", " " * 8))

    others = {"python/sglang/srt/other.py": OTHER, "python/sglang/srt/pool.py": "def release(req, pool):\n    pass\n"}
    file = patched(module(before, drop_before or drop), module(after, drop), path=PATH)
    given = subject(file, others=others)
    return [(finding.rule, finding.line) for finding in callees.find(given, Symbols.of(given))]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("self.drop(req)", "self.drop(req)\nrelease(req, self.pool)", [("PK505", 14)], id="after it"),
        pytest.param("self.drop(req)", "release(req, self.pool)\nself.drop(req)", [("PK505", 13)], id="before it"),
        pytest.param("release(req, self.pool)", "release(req, self.pool)\nself.drop(req=req)", [("PK505", 14)],
                     id="the call is the series's"),
        pytest.param("finish(req, self.pool)", "finish(req, self.pool)\nrelease(req, self.pool)", [("PK505", 14)],
                     id="a function of another file"),
        pytest.param("await self.leave(req)", "await self.leave(req)\nawait self.pool.release(req)", [("PK505", 14)],
                     id="async"),
        pytest.param("self.drop(req)", "self.drop(req)\nrelease(other, self.pool)", [], id="another request"),
        pytest.param("self.drop(req)", "self.drop(req)\nreq = other\nrelease(req, self.pool)", [], id="bound anew"),
        pytest.param("self.drop(req)", "self.drop(req)\nrelease(req, other.pool)", [], id="another pool"),
        pytest.param("if x:\n    self.drop(req)", "if x:\n    self.drop(req)\nelse:\n    release(req, self.pool)", [],
                     id="the other branch"),
        pytest.param("if other:\n    self.drop(req)\n    return\npass",
                     "if other:\n    self.drop(req)\n    return\npass\nrelease(req, self.pool)", [], id="it has left"),
        pytest.param("self.drop(*req)", "self.drop(*req)\nrelease(req, self.pool)", [], id="a star leaves it open"),
        pytest.param("self.drop(req)\nrelease(req, self.pool)", "self.drop(req)\nrelease(req, self.pool)\nx = 1", [],
                     id="upstream's own"),
    ],
)  # fmt: skip
def test_release_in_caller_and_called(before: str, after: str, expected: list[tuple[str, int]]) -> None:
    assert rules(before, after) == expected


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        pytest.param("with lock:\n    release(req, self.pool)", [("PK505", 14)], id="on every run"),
        pytest.param("if req.held:\n    release(req, self.pool)", [], id="under a condition"),
        pytest.param("if not req.held:\n    return\nrelease(req, self.pool)", [], id="after it may have returned"),
        pytest.param("for req in self.reqs:\n    release(req, self.pool)", [], id="in a loop"),
        pytest.param("req = self.top\nrelease(req, self.pool)", [], id="of a variable of its own"),
        pytest.param("self.later(lambda: release(req, self.pool))", [], id="later"),
    ],
)
def test_what_the_called_function_does(drop: str, expected: list[tuple[str, int]]) -> None:
    after = "self.drop(req)\nrelease(req, self.pool)"
    shift = drop.count("\n") - DROP.count("\n")
    assert rules("self.drop(req)", after, drop=drop) == [(rule, line + shift) for rule, line in expected]


def test_release_that_the_series_adds_to_the_called_function() -> None:
    both = "self.drop(req)\nrelease(req, self.pool)"
    assert rules(both, both, drop_before="self.log(req)") == [("PK505", 14)]
