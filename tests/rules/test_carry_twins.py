"""What is carried to its place and yet not right there: each check on the smallest source that it catches."""

import pytest

from patchkit.carry.nouns import Action, Cause, Decision
from tests.rules.carrying import PATH, carry, carry_one

OTHER = "python/sglang/srt/other.py"
OLD = """\
class Pool:
    def sweep(self, requests):
        lost = [one for one in requests if one.is_lost]
        for one in lost:
            one.close()

        budget = self.budget()
        for one in requests:
            if one.size > budget:
                self.note(one)
                break
            budget -= one.size
        else:
            self.finish(requests)
        return budget
"""


def changed(text: str, before: str, after: str) -> str:
    assert text.count(before) == 1, before
    return text.replace(before, after)


def suspicion(old: str, patched: str, new: str) -> Cause | None:
    """Return why the only hunk is suspect; None where it is carried and nothing is said."""
    decision, _ = carry_one(old, patched, new)
    assert decision.action in {Action.CARRIED, Action.SHRUNK}
    return decision.cause if decision.suspect else None


BLANK = "            one.close()\n\n"
FIX = BLANK + "        self.parked.forget_all(request for request in lost if request.is_parked)\n\n"


@pytest.mark.parametrize(
    ("upstream", "cause"),
    [
        pytest.param(
            "            self.parked.forget_all(*lost)\n            self.parked.trim()\n",
            Cause.UPSTREAMED,
            id="the same fix three lines above, in other words",
        ),
        pytest.param("            self.count += 1\n", None, id="another change at the same place"),
    ],
)
def test_fix_that_upstream_wrote_beside_it(upstream: str, cause: Cause | None) -> None:
    new = changed(OLD, "        for one in lost:\n", f"        if lost:\n{upstream}        for one in lost:\n")
    assert suspicion(OLD, changed(OLD, BLANK, FIX), new) is cause


def test_fix_that_upstream_put_into_a_function_which_the_place_now_calls() -> None:
    old = {PATH: OLD, OTHER: "A = 1\n"}
    guard = "            if self.state.get(one) == FAILED:\n                continue\n            one.close()\n"
    body = "    def conclude(self, one):\n        if self.state.get(one, None) == FAILED:\n            return\n"
    new = {
        PATH: changed(OLD, "            one.close()\n", "            self.conclude(one)\n            one.close()\n"),
        OTHER: "A = 1\n\n\nclass Base:\n" + body,
    }
    patched = {**old, PATH: changed(OLD, "            one.close()\n", guard)}
    (decision,) = carry(old, patched, new).decisions
    assert (decision.suspect, decision.cause) == (True, Cause.UPSTREAMED)


def test_line_of_a_block_stays_in_its_block() -> None:
    old = "if fast:\n    import one\nif exact:\n    import two\n\nx = 1\n"
    patched = changed(old, "    import two\n", "    import two\n    run(x)\n")
    decision, _ = carry_one(old, patched, "if fast:\n    import one\n\nx = 1\n")
    assert decision.action is Action.UNRESOLVED


BLOCKS = "if fast:\n    import one\nif exact:\n    import two\n    import three\n\nx = 1\n"


def test_edit_whose_block_became_another_is_suspect() -> None:
    patched = changed(BLOCKS, "    import three\n", "    import three\n    run(x)\n")
    assert suspicion(BLOCKS, patched, changed(BLOCKS, "if exact:\n    import two\n", "")) is Cause.PLACEMENT
    assert suspicion(BLOCKS, patched, changed(BLOCKS, "if exact:\n", "if slow:\n")) is None


HOLDER = "class Holder:\n    def release(self, tags):\n        self.flush(tags)\n        self.saver.pause(tags)\n"
HOLDER += "        self.barrier(tags)\n        return tags\n\n    def flush(self, tags):\n        self.saver = tags\n"


@pytest.mark.parametrize(
    ("used", "is_suspect"),
    [
        pytest.param("self.queue.release()", True, id="an attribute that the new class does not have"),
        pytest.param("self.saver.release()", False, id="one that it has"),
        pytest.param("self.base_queue.release()", False, id="one of its base class"),
    ],
)
def test_attribute_of_the_class_that_code_moved_to(used: str, is_suspect: bool) -> None:
    root = "queue = []\n\n\nclass Root:\n    base_queue: int\n\n\n"
    moved = root + HOLDER.replace("class Holder:", "class Keeper(Root):")
    old = {PATH: HOLDER + "\n    def other(self):\n        return self.queue, self.base_queue\n"}
    line = "        self.saver.pause(tags)\n"
    patched = {PATH: changed(old[PATH], line, f"        {used}\n{line}")}
    (decision,) = carry(old, patched, {PATH: None, OTHER: moved}).decisions
    assert (decision.action, decision.to) == (Action.MOVED, OTHER)
    assert decision.suspect is is_suspect


def imports(added: str, new: str) -> Decision:
    old = "import os\nfrom json import loads\n\nx = loads(os.name)\n"
    patched = changed(old, "import os\n", f"import os\n{added}\n")
    return carry_one(old, patched, changed(old, "import os\n", f"import os\n{new}\n"))[0]


def test_name_that_upstream_imports_from_elsewhere_is_suspect() -> None:
    decision = imports("from sglang.old import parallel", "from sglang.new import parallel, other")
    assert (decision.suspect, decision.cause) == (True, Cause.DUPLICATE)
    assert not imports("from sglang.old import parallel", "from sglang.new import other").suspect


def test_statement_made_like_one_that_upstream_rewrote_is_suspect() -> None:
    def case(name: str) -> str:
        test = f"        if (\n            draft\n            and self.names[0] == '{name}'\n        ):\n"
        return test + "            self.x = 1\n\n"

    old = f"class Config:\n    def load(self, draft):\n{case('A')}        return draft\n"
    patched = changed(old, "        return draft\n", f"{case('B')}        return draft\n")
    new = changed(old, case("A"), "        if draft and self.names[0] in ['A']:\n            self.x = 1\n\n")
    assert suspicion(old, patched, new) is Cause.OBSOLETED


def test_insertion_whose_neighbours_were_parted_is_suspect() -> None:
    def methods(names: str) -> str:
        return "".join(f"    def {name}(self):\n        return self.go('{name}')\n\n" for name in names)

    old = "class Manager:\n" + methods("ab")
    patched = (
        "class Manager:\n"
        + methods("a")
        + "    def deregister(self, engine):\n        engine.remove_all(PTRS)\n\n"
        + methods("b")
    )
    assert suspicion(old, patched, "class Manager:\n" + methods("acb")) is None
    assert suspicion(old, patched, "class Manager:\n" + methods("a" + "c" * 40 + "b")) is Cause.AMBIGUOUS


def test_table_that_both_extend_is_suspect() -> None:
    old = 'ALLOWED = {\n    "one.",\n    "two.",\n}\n'
    patched = changed(old, '    "two.",\n', '    "two.",\n    "mine.",\n')
    assert suspicion(old, patched, changed(old, '    "two.",\n', '    "two.",\n    "new.",\n')) is Cause.AMBIGUOUS


def test_line_that_both_took_out_is_dropped() -> None:
    patched = changed(
        OLD, "            self.finish(requests)\n", "            # self.finish(requests)\n            pass\n"
    )
    new = changed(OLD, "            self.finish(requests)\n", "            self.warn(requests)\n")
    decision, text = carry_one(OLD, patched, new)
    assert (decision.action, decision.suspect, text) == (Action.DROPPED, False, new)
