"""Each stage of the rebase engine on the smallest source that needs it."""

import pytest

from patchkit.carry.nouns import Action, Cause, Conflict, Settled, Stage
from tests.rules.carrying import PATH, carry, carry_one

OLD = """\
import os


class Queue:
    def __init__(self, size):
        self.size = size
        self.items = []

    def push(self, item):
        self.items.append(item)
        return len(self.items)

    def pop(self):
        return self.items.pop()
"""


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for before, after in pairs:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


LIMIT = ("        self.items.append(item)\n", "        self.check_limit(item)\n        self.items.append(item)\n")
PATCHED = changed(OLD, LIMIT)


@pytest.mark.parametrize(
    ("patched", "new", "stage"),
    [
        pytest.param(PATCHED, OLD, Stage.UNCHANGED, id="upstream left the file alone"),
        pytest.param(PATCHED, "# moved down\n" + OLD, Stage.MERGE, id="upstream added a line above"),
        pytest.param(
            PATCHED,
            changed(OLD, ("        return len(self.items)\n", "        return self.count()\n")),
            Stage.MERGE,
            id="upstream changed the line after next",
        ),
        pytest.param(
            PATCHED,
            changed(OLD, ("    def push(self, item):\n", "    def push(self, item):\n        self.seen += 1\n")),
            Stage.NEIGHBOURS,
            id="upstream inserted at the same place",
        ),
    ],
)
def test_insertion_is_carried(patched: str, new: str, stage: Stage) -> None:
    decision, text = carry_one(OLD, patched, new)
    assert (decision.action, decision.stage, decision.suspect) == (Action.CARRIED, stage, False)
    assert text.count("self.check_limit(item)\n") == 1
    assert text.index("self.check_limit(item)") < text.index("self.items.append(item)")


METHOD = "    def clear(self):\n        self.items.clear()\n        self.size = 0\n\n"


def test_new_method_stays_out_of_upstreams_new_statement() -> None:
    """Upstream goes on with the method above at the very place: the new method must stand below it."""
    patched = changed(OLD, ("    def pop(self):\n", METHOD + "    def pop(self):\n"))
    new = changed(
        OLD, ("        return len(self.items)\n\n", "        return len(self.items)\n\n        self.log()\n\n")
    )
    decision, text = carry_one(OLD, patched, new)
    assert decision.action is Action.CARRIED
    assert text.index("self.log()") < text.index("def clear(self)") < text.index("def pop(self)")


@pytest.mark.parametrize(
    ("patched", "new"),
    [
        pytest.param(PATCHED, PATCHED, id="verbatim at the same place"),
        pytest.param(
            PATCHED,
            changed(OLD, ("(self, item):\n", "(self, item):\n        self.check_limit(item)\n        self.seen = 1\n")),
            id="verbatim, higher up in the same function",
        ),
        pytest.param(
            changed(OLD, ("    def pop(self):\n", METHOD + "    def pop(self):\n")),
            changed(
                OLD, ("    def pop(self):\n", "    def clear(self):\n        self.items = []\n\n    def pop(self):\n")
            ),
            id="the same method in another form",
        ),
        pytest.param(
            changed(OLD, ("def __init__(self, size):", "def __init__(self, size, retry_limit=3):")),
            changed(
                OLD,
                ("def __init__(self, size):", "def __init__(self, size, retry_limit=3):"),
                ("import os\n", "import re\n"),
            ),
            id="the same parameter",
        ),
    ],
)  # fmt: skip
def test_what_upstream_has_is_dropped(patched: str, new: str) -> None:
    decision, text = carry_one(OLD, patched, new)
    assert (decision.action, decision.cause) == (Action.DROPPED, Cause.UPSTREAMED)
    assert text == new


def test_landed_feature_takes_its_leftovers_along() -> None:
    """Upstream has four of the five names that the patch brings; the line for the fifth place goes with them."""
    brought = "".join(f"        self.{name}_budget = 0\n" for name in ("token", "block", "page", "graph"))
    patched = changed(OLD, ("        self.items = []\n", "        self.items = []\n" + brought))
    new = changed(OLD, ("        self.size = size\n", "        self.size = size\n" + brought.replace("= 0", "= None")))
    decision, text = carry_one(OLD, patched, new)
    assert decision.action is Action.DROPPED
    assert text == new


def test_both_sides_of_a_rewritten_line_are_shown() -> None:
    patched = changed(OLD, ("        return len(self.items)\n", "        return self.size - len(self.items)\n"))
    new = changed(OLD, ("        return len(self.items)\n", "        return self.total()\n"))
    carried = carry({PATH: OLD}, {PATH: patched}, {PATH: new})
    (decision,) = carried.decisions
    assert decision.action is Action.UNRESOLVED
    text = (carried.files[PATH] or b"").decode()
    assert "<<<<<<< new upstream\n        return self.total()\n||||||| old upstream\n" in text
    assert "=======\n        return self.size - len(self.items)\n>>>>>>> patch\n" in text
    assert carried.clean == {}
    (conflict,) = carried.conflicts
    assert (conflict.scope, conflict.theirs) == ("Queue.push", "        return self.size - len(self.items)")


def test_settled_conflict_is_carried_by_its_source() -> None:
    patched = changed(OLD, ("        return len(self.items)\n", "        return self.size - len(self.items)\n"))
    new = changed(OLD, ("        return len(self.items)\n", "        return self.total()\n"))

    def settle(conflict: Conflict) -> Settled:
        return Settled(("        return self.size - self.total()",), Stage.LEDGER, "recorded")

    carried = carry({PATH: OLD}, {PATH: patched}, {PATH: new}, [settle])
    (decision,) = carried.decisions
    assert (decision.action, decision.stage, decision.evidence) == (Action.CARRIED, Stage.LEDGER, ("recorded",))
    assert b"return self.size - self.total()\n" in (carried.clean[PATH] or b"")


@pytest.mark.parametrize("renamed", [pytest.param("Queue", id="same class"), pytest.param("Fifo", id="renamed class")])
def test_moved_class_takes_its_change_along(renamed: str) -> None:
    there = "python/sglang/srt/queues/fifo.py"
    new = {there: "# queues live here now\n" + OLD.replace("class Queue", f"class {renamed}"), PATH: "# see queues/\n"}
    carried = carry({PATH: OLD}, {PATH: PATCHED}, new)
    (decision,) = carried.decisions
    assert (decision.action, decision.stage, decision.to) == (Action.MOVED, Stage.FOLLOW, there)
    assert b"        self.check_limit(item)\n        self.items.append(item)\n" in (carried.files[there] or b"")


def test_moved_code_takes_its_import_along() -> None:
    there = "python/sglang/srt/queues/fifo.py"
    patched = changed(
        PATCHED, ("import os\n", "import os\nfrom limits import barrier\n"), ("self.check_limit(item)", "barrier(item)")
    )
    carried = carry({PATH: OLD}, {PATH: patched}, {there: "# new home\n" + OLD, PATH: None})
    text = (carried.files[there] or b"").decode()
    assert "from limits import barrier\n" in text
    assert {decision.action for decision in carried.decisions} == {Action.MOVED}


def test_import_is_added_to_the_statement_that_upstream_rewrote() -> None:
    old = "from pool import alloc\n\nX = alloc()\n"
    patched = "from pool import alloc, release\n\nX = alloc()\n"
    new = "from pool import (\n    alloc,\n    grow,\n)\n\nX = alloc()\n"
    decision, text = carry_one(old, patched, new)
    assert (decision.action, decision.stage, decision.suspect) == (Action.CARRIED, Stage.SETS, True)
    assert text == "from pool import (\n    alloc,\n    grow,\n    release,\n)\n\nX = alloc()\n"


def test_words_of_one_line_are_merged_and_flagged() -> None:
    old = "def f(a, b):\n    return call(a, b, mode=1)\n"
    patched = "def f(a, b):\n    return call(a, b, mode=2)\n"
    new = "def f(a, b):\n    return invoke(a, b, mode=1)\n"
    decision, text = carry_one(old, patched, new)
    assert (decision.stage, decision.suspect) == (Stage.TOKENS, True)
    assert text == "def f(a, b):\n    return invoke(a, b, mode=2)\n"


def test_missing_file_stops_nothing_else() -> None:
    other = "python/sglang/srt/other.py"
    carried = carry({PATH: OLD, other: "A = 1\n"}, {PATH: PATCHED, other: "A = 2\n"}, {PATH: OLD})
    assert [decision.action for decision in carried.decisions] == [Action.CARRIED, Action.UNRESOLVED]
    assert carried.decisions[1].cause is Cause.FILE_GONE


@pytest.mark.parametrize(
    ("ours", "action"),
    [
        pytest.param(None, Action.CARRIED, id="upstream has none"),
        pytest.param("A = 1\n", Action.DROPPED, id="upstream has the same"),
        pytest.param("A = 2\n", Action.UNRESOLVED, id="upstream has another"),
    ],
)
def test_created_file(ours: str | None, action: Action) -> None:
    carried = carry({PATH: None}, {PATH: "A = 1\n"}, {PATH: ours})
    assert carried.decisions[0].action is action


@pytest.mark.parametrize(
    ("ours", "action"),
    [
        pytest.param("A = 1\n", Action.CARRIED, id="upstream left it alone"),
        pytest.param(None, Action.DROPPED, id="upstream deleted it too"),
        pytest.param("A = 2\n", Action.UNRESOLVED, id="upstream changed it"),
    ],
)
def test_deleted_file(ours: str | None, action: Action) -> None:
    carried = carry({PATH: "A = 1\n"}, {PATH: None}, {PATH: ours})
    assert carried.decisions[0].action is action
