"""Does upstream have it? A name in another role, or the same lines at another place, is no proof of it."""

import pytest

from patchkit.carry.likeness import is_alike
from patchkit.carry.nouns import Action
from patchkit.carry.wording import key_of
from tests.rules.carrying import PATH, carry, carry_one

OLD = """\
class Worker:
    def __init__(self, size):
        self.size = size
        self.runner = Runner(
            size=size,
        )

    def send(self, batch):
        if batch.is_small:
            return self.direct(batch)
        if batch.is_large:
            return self.split(batch)
        return self.queue(batch)
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def outcome(patch: tuple[str, str], *upstream: tuple[str, str]) -> tuple[Action, bool]:
    decision, _ = carry_one(OLD, changed(OLD, patch), changed(OLD, *upstream))
    return decision.action, decision.suspect


PARAMETER = ("self, size):", "self, size, expert_rank):")
ATTRIBUTE = ("        self.size = size\n", "        self.size = size\n        self.expert_rank = expert_rank\n")
ARGUMENT = ("            size=size,\n", "            size=size,\n            expert_rank=expert_rank,\n")
OTHER_FORM = ("        self.size = size\n", "        self.size = size\n        self.expert_rank = int(expert_rank)\n")


@pytest.mark.parametrize(
    ("upstream", "certain"),
    [
        pytest.param([PARAMETER, OTHER_FORM], True, id="upstream sets the attribute too"),
        pytest.param([PARAMETER, ARGUMENT], False, id="upstream has the name, and sets no attribute"),
    ],
)
def test_name_that_upstream_has_in_another_role_proves_nothing(upstream: list[tuple[str, str]], certain: bool) -> None:
    assert outcome(ATTRIBUTE, *upstream) == (Action.DROPPED, not certain)


def test_edit_whose_replaced_lines_upstream_keeps_is_not_dropped_by_its_names() -> None:
    patch = ("return self.direct(batch)", "return self.direct(batch, drain_first=self.drain_first)")
    twin = ("return self.split(batch)", "return self.split(batch, drain_first=self.drain_first)")
    action, suspect = outcome(patch, twin)
    assert (action, suspect) == (Action.CARRIED, True)


NOTE = "            self.sizes.observe(batch)\n"
SMALL = ("            return self.direct(batch)\n", NOTE + "            return self.direct(batch)\n")
LARGE = ("            return self.split(batch)\n", NOTE + "            return self.split(batch)\n")


def test_line_that_upstream_has_in_the_sibling_branch_alone_is_suspect() -> None:
    assert outcome(SMALL, LARGE) == (Action.DROPPED, True)
    assert outcome(SMALL, SMALL, LARGE) == (Action.DROPPED, False)


def test_argument_variable_and_member_are_different_roles() -> None:
    keys = ["rank=rank", "rank = 1", "rank: int = 1", "self.rank = rank"]
    assert [key_of(line) for line in keys] == ["rank=", "rank =", "rank:", "self.rank ="]


@pytest.mark.parametrize(
    ("line", "other", "alike"),
    [
        ("self.rank_of_expert = rank_of_expert", "self.rank_of_expert = rank_of_experts", True),
        ("self.rank_of_expert = rank_of_expert", "rank_of_expert=rank_of_expert", False),
        ("adapter = Adapter.create(pool)", "self.adapter = Adapter.create(pool)", True),
        ('"rank_of_expert"', '"rank_of_experts"', False),
    ],
)
def test_lines_are_alike_in_words_and_role(line: str, other: str, alike: bool) -> None:
    assert is_alike(line, [other]) is alike


CALLS = """\
def run(one, two):
    one.start(
        size=1,
    )
    two.start(
        size=2,
    )
"""


def test_argument_that_upstream_gives_to_another_call_is_suspect() -> None:
    first = changed(CALLS, ("size=1,\n", "size=1,\n        is_draft_run=True,\n"))
    second = changed(CALLS, ("size=2,\n", "size=2,\n        is_draft_run=True,\n"))
    decision, _ = carry_one(CALLS, first, second)
    assert decision.suspect


def test_feature_that_upstream_only_uses_is_not_upstreamed() -> None:
    names = ["pool_size_of_group", "pool_rank_of_group", "page_size_of_group", "page_rank_of_group"]
    old = "import groups\n\n\ndef run():\n    return 1\n"
    patched = old + "".join(f"\n\ndef {name}():\n    return groups.get()\n" for name in names)
    new = old.replace("return 1", f"return {' + '.join(f'groups.{name}()' for name in names)}")
    decision, _ = carry_one(old, patched, new)
    assert decision.action is Action.CARRIED


def body(name: str, lines: int) -> str:
    return f"def {name}():\n" + "".join(f"    {name}_step_{at} = {name}({at})\n" for at in range(lines)) + "\n\n"


def test_module_level_edit_of_a_file_that_became_several_is_suspect() -> None:
    old = body("first", 9) + body("second", 5)
    patched = {PATH: old + body("third", 3)}
    one = carry({PATH: old}, patched, {PATH: None, "python/sglang/a.py": old})
    two = carry(
        {PATH: old},
        patched,
        {PATH: None, "python/sglang/a.py": body("first", 9), "python/sglang/b.py": body("second", 5)},
    )
    assert [(each.action, each.suspect) for each in one.decisions] == [(Action.MOVED, False)]
    assert [(each.action, each.suspect) for each in two.decisions] == [(Action.MOVED, True)]


def test_names_of_one_hunk_alone_make_no_feature() -> None:
    names = ["scale_of_group", "scale_of_model", "path_of_group", "path_of_model"]
    first, second = (
        changed(CALLS, (given, given + far + "".join(f"        {name}={call}.{name},\n" for name in names)))
        for call, given, far in (("one", "size=1,\n", ""), ("two", "size=2,\n", "        margin=0,\n" * 9))
    )
    decision, _ = carry_one(CALLS, first, second)
    assert decision.suspect
