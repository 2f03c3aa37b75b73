"""What looks carried and is not: each check of the judge on the smallest source that it catches."""

import pytest

from patchkit.carry.nouns import Action, Cause
from tests.rules.carrying import PATH, carry, carry_one

OLD = """\
class Worker:
    def start(self, port):
        self.port = port
        local_rank = 0
        self.log(local_rank)

    def stop(self):
        self.port = None
        self.close(1)

    def close(self, code):
        self.code = code
"""


def changed(text: str, before: str, after: str) -> str:
    assert text.count(before) == 1, before
    return text.replace(before, after)


@pytest.mark.parametrize(
    ("added", "upstream", "cause"),
    [
        pytest.param(
            "        self.check(local_rank)\n",
            ("        local_rank = 0\n        self.log(local_rank)\n", "        self.log(0)\n        self.log(1)\n"),
            Cause.UNDEFINED,
            id="upstream no longer binds a local name",
        ),
        pytest.param(
            "        self.send(self.port)\n",
            ("self.port = None", "self.address = None"),
            Cause.NONE,
            id="an attribute that is still there",
        ),
        pytest.param(
            "        self.close(2)\n",
            ("def close(self, code):", "def close(self, code, reason):"),
            Cause.SIGNATURE,
            id="upstream requires one argument more",
        ),
    ],
)  # fmt: skip
def test_call_or_name_that_no_longer_stands(added: str, upstream: tuple[str, str], cause: Cause) -> None:
    patched = changed(OLD, "        self.port = port\n", "        self.port = port\n" + added)
    decision, _ = carry_one(OLD, patched, changed(OLD, *upstream))
    assert (decision.action, decision.suspect) == (Action.CARRIED, cause is not Cause.NONE)
    assert decision.cause is cause


def test_attribute_that_upstream_renamed_is_stale() -> None:
    patched = changed(OLD, "        self.code = code\n", "        self.code = code\n        self.send(self.port)\n")
    decision, _ = carry_one(OLD, patched, OLD.replace("self.port", "self.address"))
    assert (decision.suspect, decision.cause) == (True, Cause.STALE)


def test_hunk_that_needs_an_unresolved_one_is_suspect() -> None:
    other = "python/sglang/srt/other.py"
    old = {PATH: OLD, other: "A = 1\n"}
    patched = {
        PATH: changed(OLD, "        self.close(1)\n", "        self.close(1)\n        finish_all_requests()\n"),
        other: "A = 1\n\n\ndef finish_all_requests():\n    return A\n",
    }
    carried = carry(old, patched, {PATH: "# one\n" + OLD, other: None})
    decisions = {decision.path: decision for decision in carried.decisions}
    assert decisions[other].action is Action.UNRESOLVED
    assert decisions[PATH].suspect


def test_method_that_upstream_has_elsewhere_in_the_class_is_not_defined_twice() -> None:
    method = "    def pause(self):\n        self.paused = True\n\n"
    patched = changed(OLD, "    def stop(self):\n", method + "    def stop(self):\n")
    new = OLD + "\n" + method.replace("True", "1").rstrip("\n") + "\n"
    decision, text = carry_one(OLD, patched, new)
    assert decision.action is Action.DROPPED
    assert text == new


def test_pattern_that_upstream_rewrote_is_suspect() -> None:
    lines = "".join(f"        out.append(self.{name}_time)\n" for name in ("queue", "load", "send", "wait"))
    old = f"class Stats:\n    def row(self, out):\n        out.clear()\n{lines}        return out\n"
    patched = changed(old, "        return out\n", "        out.append(self.idle_time)\n        return out\n")
    new = old.replace(lines, "        out.extend(self.times)\n")
    decision, _ = carry_one(old, patched, new)
    assert (decision.suspect, decision.cause) == (True, Cause.OBSOLETED)


def test_every_hunk_ends_in_exactly_one_decision() -> None:
    filler = "".join(f"x{number} = {number}\n" for number in range(40))
    patched = filler.replace("x3 = 3\n", "x3 = 30\n").replace("x20 = 20\n", "").replace("x35 = 35\n", "x35 = 5\n")
    new = filler.replace("x3 = 3\n", "x3 = 31\n").replace("x20 = 20\n", "")
    carried = carry({PATH: filler}, {PATH: patched}, {PATH: new})
    assert [one.hunk for one in carried.decisions] == [1, 2, 3]
    assert [one.action for one in carried.decisions] == [Action.UNRESOLVED, Action.DROPPED, Action.CARRIED]
