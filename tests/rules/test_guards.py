"""Guards: the vocabulary, on small functions; drift is never holding."""

from textwrap import dedent

import pytest

from patchkit.errors import ConfigError
from patchkit.source.guards import GuardedFile, find_breaches, read_guards
from patchkit.source.scopes import scopes

HEAD = """\
- id: X-1
  message: m
  releases: ">=0.5.12,<0.5.20"
  path: f.py
  scope: Queue.pop
"""


def breaches(source: str, checks: str, *, extra: str = "") -> list[tuple[int, bool]]:
    """Return (line, is drift) of each breach of one guard on Queue.pop."""
    text = dedent(source).encode()
    guards = read_guards((HEAD + extra + "  checks:\n" + checks).encode(), topic="t", where="t.yml")
    file = GuardedFile(text, scopes(text))
    return [(breach.line, breach.is_drift) for guard in guards for breach in find_breaches(guard, file)]


QUEUE = """\
import os

class Queue:
    def pop(self):
        if not self.queue:
            return []
{early}        expire(self.queue)
        for req in self.queue:
{loop}            if req.done:
                continue
            req.sender.abort()
        return poll(self.queue)
"""


def queue(early: str = "", loop: str = "") -> str:
    return QUEUE.format(early=early, loop=loop)


FIRST = "    - first: {call: expire}\n      precedes: {call: 'poll*'}\n"
RELEASE_FIRST = "    - first: {call: release}\n      precedes: {call: abort}\n"
EMPTY = "{kind: if_statement, has: {field: condition, regex: '^not self.queue$'}}"
EACH_PASS = f"    - each_pass: {{call: expire}}\n      unless: {EMPTY}\n"


@pytest.mark.parametrize(
    ("source", "checks", "expected"),
    [
        pytest.param(queue(), FIRST, [], id="in order"),
        pytest.param(queue(early="        poll(self.queue)\n"), FIRST, [(7, False)], id="out of order"),
        pytest.param(queue(), RELEASE_FIRST, [(11, False)], id="first is missing"),
        pytest.param(queue(loop="            release(req)\n"), RELEASE_FIRST, [], id="first is there"),
        pytest.param(queue().replace("req.sender.abort()", "pass"), RELEASE_FIRST, [(4, True)], id="second is gone"),
        pytest.param(queue(), EACH_PASS, [], id="each pass, but for the empty queue"),
        pytest.param(
            queue(early="        if self.paused:\n            return []\n"),
            EACH_PASS,
            [(9, False)],
            id="an early return",
        ),
        pytest.param(
            queue().replace("        expire", "        if X: expire"), EACH_PASS, [(7, False)], id="a condition"
        ),
        pytest.param(queue().replace("expire(self.queue)", "pass"), EACH_PASS, [(4, False)], id="never"),
        pytest.param(queue(), "    - has: {call: expire}\n      count: 1\n", [], id="once"),
        pytest.param(
            queue(early="        expire(1)\n"), "    - has: {call: expire}\n      count: 1\n", [(4, False)], id="twice"
        ),
        pytest.param(queue(), "    - lacks: {pattern: os.environ}\n", [], id="lacks"),
        pytest.param(
            queue(early="        os.environ['X']\n"),
            "    - lacks: {pattern: os.environ}\n",
            [(7, False)],
            id="has not lacked",
        ),
        pytest.param(
            queue(),
            "    - each: {call: abort}\n      is: {inside: {kind: for_statement, stopBy: end}}\n",
            [],
            id="each is",
        ),
        pytest.param(
            queue(),
            "    - each: {call: expire}\n      is: {inside: {kind: for_statement, stopBy: end}}\n",
            [(7, False)],
            id="one is not",
        ),
        pytest.param(queue(), "    - each: {call: gone}\n      is: {kind: call}\n", [(4, True)], id="none is left"),
        pytest.param(
            queue(early='        getattr(self, "state")\n'),
            "    - has: {mentions: state, kind: call}\n",
            [],
            id="in a string",
        ),
    ],
)
def test_check(source: str, checks: str, expected: list[tuple[int, bool]]) -> None:
    assert breaches(source, checks) == expected


def test_guard_call_moved_behind_an_early_continue() -> None:
    within = "  within: {kind: for_statement}\n"
    check = "    - each_pass: {call: release}\n"
    sound = queue(loop="            release(req)\n")
    assert breaches(sound, check, extra=within) == []
    moved = queue().replace(
        "            req.sender.abort()", "            release(req)\n            req.sender.abort()"
    )
    assert breaches(moved, check, extra=within) == [(11, False)]


@pytest.mark.parametrize(
    "source",
    ["class Queue:\n    pass\n", "class Other:\n    def pop(self):\n        pass\n", ""],
    ids=["method gone", "class gone", "empty file"],
)
def test_scope_that_is_gone_is_drift(source: str) -> None:
    assert breaches(source, "    - lacks: {call: anything}\n") == [(0, True)]


def test_file_that_is_gone_is_drift() -> None:
    (guard,) = read_guards((HEAD + "  checks:\n    - lacks: {call: x}\n").encode(), topic="t", where="t.yml")
    assert [breach.is_drift for breach in find_breaches(guard, None)] == [True]


def test_part_of_the_scope_that_is_gone_is_drift() -> None:
    assert breaches(queue(), "    - lacks: {call: x}\n", extra="  within: {kind: while_statement}\n") == [(4, True)]


def test_second_definition_is_the_one_that_counts() -> None:
    twice = queue() + "\n    def pop(self):\n        poll(1)\n        expire(1)\n"
    assert breaches(twice, FIRST) == [(15, False)]


@pytest.mark.parametrize(("version", "expected"), [("0.5.12.post1", True), ("0.5.11", False), ("0.5.20", False)])
def test_range_of_releases(version: str, expected: bool) -> None:
    (guard,) = read_guards((HEAD + "  checks: []\n").encode(), topic="t", where="t.yml")
    assert guard.is_for(version) is expected


@pytest.mark.parametrize(
    "text",
    [
        "- {}\n",
        "x: [",
        "word\n",
        HEAD,
        HEAD + "  checks: []\n  more: 1\n",
        HEAD.replace(">=0.5.12", "about 5") + "  checks: []\n",
        HEAD + "  checks:\n    - has: {call: f}\n      lacks: {call: g}\n",
        HEAD + "  checks:\n    - first: {call: f}\n",
        HEAD + "  checks:\n    - seems: {call: f}\n",
        HEAD + "  checks:\n    - has: {call: f}\n      is: {call: f}\n",
        HEAD + "  checks:\n    - has: {kind: nonsense}\n",
        HEAD + "  checks:\n    - has: {word: x}\n",
        HEAD + "  checks:\n    - has: x\n",
    ],
)
def test_malformed_guard_names_its_place(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_guards(text.encode(), topic="t", where="t.yml")
    assert caught.value.where.startswith("t.yml")
