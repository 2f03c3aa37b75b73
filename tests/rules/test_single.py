"""What is there twice is found, and its sound twin is not."""

from textwrap import dedent

import pytest

from patchkit.rules import single
from tests.rules.patched import patched, subject


def rules(before: str, after: str) -> list[tuple[str, int]]:
    """Return (rule, line) of each finding."""
    before, after = dedent(before), dedent(after)
    return [(finding.rule, finding.line) for finding in single.find(subject(patched(before, after)))]


METHOD_TWICE = """\
class Queue:
    def release(self):
        self.pool.clear()

    def resume(self):
        pass
{more}"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param("\n    def release(self):\n        self.pool = None\n", [("PK501", 8)], id="twice"),
        pytest.param("\n    def release_all(self):\n        self.pool = None\n", [], id="another name"),
        pytest.param("\nclass Other:\n    def release(self):\n        self.pool = 1\n", [], id="another class"),
        pytest.param("\n    @resume.setter\n    def resume(self, x):\n        self.pool = x\n", [], id="setter"),
        pytest.param("    if X:\n        def release(self):\n            self.pool = None\n", [], id="another body"),
    ],
)
def test_definition_twice_in_one_body(more: str, expected: list[tuple[str, int]]) -> None:
    assert rules(METHOD_TWICE.format(more=""), METHOD_TWICE.format(more=more)) == expected


def test_upstream_s_own_double_definition_is_not_ours() -> None:
    before = METHOD_TWICE.format(more="\n    def release(self):\n        self.pool = 2\n")
    assert rules(before, before + "\n    def other(self):\n        return 1\n") == []


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param("    SGLANG_WAIT = EnvFloat(600.0)\n", [("PK501", 3)], id="twice"),
        pytest.param("    SGLANG_WAIT_MORE = EnvFloat(600.0)\n", [], id="another name"),
        pytest.param("    SGLANG_WAIT = wrap(SGLANG_WAIT)\n", [], id="built from the former"),
    ],
)
def test_field_assigned_twice(added: str, expected: list[tuple[str, int]]) -> None:
    before = "class Envs:\n    SGLANG_WAIT = EnvInt(300)\n"
    assert rules(before, before + added) == expected


@pytest.mark.parametrize(
    ("flag", "expected"), [("--tp", [("PK501", 3)]), ("--tp-size", [])], ids=["twice", "another flag"]
)
def test_flag_added_twice(flag: str, expected: list[tuple[str, int]]) -> None:
    before = "def add(parser):\n    parser.add_argument('--tp')\n"
    assert rules(before, before + f"    parser.add_argument('{flag}', type=int)\n") == expected


FIX_LOWER = """\
class Scheduler:
    def abort(self, recv):
        for req in self.queue:
{fix}            if req.rid == recv.rid:
                if hasattr(req.sender, "abort"):
                    req.sender.abort()
{lower}"""
FIX = """\
            if self.enable_storage:
                self.tree_cache.release_aborted_request(req.rid)
"""


def test_same_fix_five_lines_lower_upstream() -> None:
    assert rules(FIX_LOWER.format(fix="", lower=FIX), FIX_LOWER.format(fix=FIX, lower=FIX)) == [("PK502", 4)]


def test_fix_that_upstream_has_not_is_silent() -> None:
    assert rules(FIX_LOWER.format(fix="", lower=""), FIX_LOWER.format(fix=FIX, lower="")) == []


def test_same_fix_in_a_sibling_method_is_silent() -> None:
    sibling = "    def other(self, req):\n        for req in self.queue:\n" + FIX
    before = FIX_LOWER.format(fix="", lower=sibling)
    assert rules(before, FIX_LOWER.format(fix=FIX, lower=sibling)) == []


BRANCHES = """\
def conclude(self, reqs, polls):
    for req, poll in zip(reqs, polls):
        if poll == SUCCESS:
            release_kv_cache(req, self.tree_cache)
{on_success}        elif poll == FAILED:
            try:
                req.sender.failure_exception()
            except Exception as exc:
                message = str(exc)
{on_error}            prepare_abort(req, message)
{on_failed}        else:
            continue
        self.done(req)
{at_end}"""
RELEASE = "release_kv_cache(req, self.tree_cache)\n"


@pytest.mark.parametrize(
    ("place", "depth", "expected"),
    [
        pytest.param("on_success", 12, [("PK505", 4)], id="again on the same branch"),
        pytest.param("on_failed", 12, [], id="once on each branch"),
        pytest.param("at_end", 8, [("PK505", 14)], id="again after the branches join"),
    ],
)
def test_release_is_called_once_on_each_path(place: str, depth: int, expected: list[tuple[str, int]]) -> None:
    nothing = dict.fromkeys(("on_success", "on_error", "on_failed", "at_end"), "")
    after = BRANCHES.format(**{**nothing, place: " " * depth + RELEASE})
    assert rules(BRANCHES.format(**nothing), after) == expected


@pytest.mark.parametrize(
    ("error_path", "expected"),
    [
        pytest.param("pass", [("PK505", 5)], id="falls through to upstream's release"),
        pytest.param("return", [], id="leaves"),
        pytest.param("raise", [], id="raises"),
    ],
)
def test_release_a_second_time_on_the_error_path(error_path: str, expected: list[tuple[str, int]]) -> None:
    text = """\
    def finish(self, req):
        try:
            req.grammar.accept()
        except ValueError:
            {release}{leave}
        release_kv_cache(req, self.tree_cache)
    """
    text = dedent(text)
    before = text.format(release="", leave=error_path)
    assert rules(before, text.format(release=RELEASE + " " * 8, leave=error_path)) == expected


@pytest.mark.parametrize(
    ("last", "expected"), [("return 1", []), ("self.log(req)", [("PK505", 6)])], ids=["last act", "more may fail"]
)
def test_release_in_try_and_in_its_handler(last: str, expected: list[tuple[str, int]]) -> None:
    text = "def f(req):\n    try:\n        release(req)\n        {last}\n    except E:\n        {more}raise\n"
    assert rules(text.format(last=last, more=""), text.format(last=last, more="release(req)\n        ")) == expected


@pytest.mark.parametrize(
    "call",
    ["logger.info('x')", "self.items.append(req)", "time.sleep(1)", "self.items.clear()", "self.items.pop(req, None)"],
)
def test_call_that_may_repeat_is_silent(call: str) -> None:
    assert (
        rules(f"def f(self, req):\n    {call}\n    g()\n", f"def f(self, req):\n    {call}\n    g()\n    {call}\n")
        == []
    )


@pytest.mark.parametrize(
    ("between", "expected"),
    [("g()", [("PK502", 2)]), ("self.pending = True", [])],
    ids=["nothing else writes it", "reset after a change"],
)
def test_state_set_twice(between: str, expected: list[tuple[str, int]]) -> None:
    before = f"def f(self):\n    {between}\n    self.pending = False\n"
    after = f"def f(self):\n    self.pending = False\n    {between}\n    self.pending = False\n"
    assert rules(before, after) == expected


LOOP = """\
    for req in self.{queue}:
        if self.enable_storage:
            self.tree_cache.release_aborted_request(req.rid)
"""


def test_same_fix_in_two_loops_over_other_things_is_silent() -> None:
    before = "def abort(self):\n" + LOOP.format(queue="waiting")
    assert rules(before, before + LOOP.format(queue="bootstrap")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("    try:\n        f(req)\n        {0}    finally:\n        {1}", [("PK505", 4)], id="finally"),
        pytest.param(
            "    try:\n        f(req)\n        {0}        return 1\n    finally:\n        {1}",
            [("PK505", 4)],
            id="finally, also after a return",
        ),
        pytest.param(
            "    try:\n        f(req)\n    except E:\n        {0}    finally:\n        {1}",
            [("PK505", 5)],
            id="handler and finally",
        ),
        pytest.param(
            "    try:\n        f(req)\n    except E:\n        {0}    else:\n        {1}", [], id="handler and else"
        ),
        pytest.param(
            "    match kind:\n        case 1:\n            {0}        case 2:\n            {1}", [], id="two cases"
        ),
        pytest.param("    async with lock:\n        {0}    {1}", [("PK505", 3)], id="async"),
        pytest.param("    def inner():\n        {0}    {1}", [], id="a nested function is a body of its own"),
    ],
)
def test_release_by_the_shape_of_the_path(text: str, expected: list[tuple[str, int]]) -> None:
    head = "async def f(req):\n"
    before = head + text.format("pass\n", "release(req)\n")
    assert rules(before, head + text.format("release(req)\n", "release(req)\n")) == expected


GUARD = "    if {test}:\n        self.drop(req)\n        {leave}\n"


@pytest.mark.parametrize(
    ("between", "leave", "severities"),
    [
        pytest.param("    self.poll()\n", "return", ["warning"], id="asks again after something happened"),
        pytest.param("    self.poll()\n", "pass", ["error"], id="acts twice"),
        pytest.param("    if x:\n    ", "return", [], id="a precondition of another branch"),
    ],
)
def test_test_that_leaves_cannot_act_twice(between: str, leave: str, severities: list[str]) -> None:
    guard = GUARD.format(test="req.failed()", leave=leave)
    lower = guard.replace("\n", "\n    ").rstrip(" ") if between.endswith("    ") else guard
    before = "def f(self, req, x):\n" + between + lower
    after = "def f(self, req, x):\n" + guard + between + lower
    found = single.find(subject(patched(before, after)))
    assert [finding.severity.value for finding in found] == severities
