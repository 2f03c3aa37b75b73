"""PK605-PK608: what added lines rely on is there and fits; each case with its sound twin."""

from textwrap import dedent

import pytest

from patchkit.model import Finding
from patchkit.rules import callers, contract
from patchkit.rules.subject import Subject
from patchkit.rules.symbols import Symbols
from tests.rules.patched import patched, subject

SCHEDULER = "python/sglang/srt/managers/scheduler.py"
OTHERS = {
    "python/sglang/__init__.py": "",
    "python/sglang/srt/__init__.py": "",
    "python/sglang/srt/parallel.py": dedent(
        """\
        from dataclasses import dataclass, field

        @dataclass
        class ParallelState:
            tp_rank: int
            pp_rank: int = 0
            groups: list = field(default_factory=list)

            def describe(self, *, short=False):
                return "x"

        Parallel = ParallelState
        """
    ),
    "python/sglang/srt/environ.py": dedent(
        """\
        class EnvField:
            def get(self):
                return 1

        class Envs:
            SGLANG_WAIT = EnvField()

        envs = Envs()
        """
    ),
    "python/sglang/srt/cache.py": dedent(
        """\
        from sglang.srt.parallel import Parallel, ParallelState

        def release(req, cache, *, checkpoint=False):
            pass

        def renamed(req, kv):
            pass

        old_name = renamed

        class Mixin:
            def retract(self: "Anything", count, mode="all"):
                self.made_by_the_host()

        class Dynamic:
            def __getattr__(self, name):
                return 1
        """
    ),
    "python/sglang/srt/heir.py": dedent(
        """\
        from sglang.srt.managers.scheduler import Scheduler

        class Heir(Scheduler):
            def __init__(self):
                self.of_the_heir = 1

        def outside(scheduler):
            scheduler.set_from_outside = 1
        """
    ),
}
BEFORE = """\
import torch
from sglang.srt import cache
from sglang.srt.cache import Dynamic, Mixin, old_name, release
from sglang.srt.environ import envs
from sglang.srt.parallel import ParallelState

class Scheduler(Mixin):
    limit = 1

    def __init__(self, ps: ParallelState, server):
        self.ps = ps
        self.server = server
        self.dynamic = Dynamic()

    def abort(self, req, kind=None):
        return self.limit

    def other(self, req):
        return req.ps, req.server
"""


def find(given: Subject) -> list[Finding]:
    symbols = Symbols.of(given)
    return [*contract.find(given, symbols), *callers.find(given, symbols)]


def rules(added: str, *, imports: str = "", before: str = BEFORE) -> list[tuple[str, str]]:
    """Return (rule, what it names) for statements added to Scheduler.abort."""
    body = "".join(f"        {line}\n" for line in dedent(added).splitlines())
    after = imports + before.replace("        return self.limit\n", body + "        return self.limit\n")
    found = find(subject(patched(before, after, path=SCHEDULER), others=OTHERS))
    return [(finding.rule, finding.message) for finding in found]


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param("x = self.tp_rank", "`self.tp_rank` is not there: Scheduler has no tp_rank", id="moved attribute"),
        pytest.param("x = self.ps.tp_rank", "", id="its new place"),
        pytest.param("x = self.ps.dp_rank", "`self.ps.dp_rank` is not there: ParallelState has no dp_rank", id="field"),
        pytest.param("x = self.limit + self.retract(1)", "", id="class attribute and inherited method"),
        pytest.param("self.mark = 1\nx = self.mark", "", id="set by the patch"),
        pytest.param("x = self.of_the_heir", "", id="from a class that inherits"),
        pytest.param("x = self.set_from_outside", "", id="set from outside"),
        pytest.param("x = self.dynamic.anything", "", id="a class with __getattr__"),
        pytest.param("x = self.server.limit.ps", "", id="type unknown"),
        pytest.param("x = self.__class__.__name__", "", id="every object has it"),
        pytest.param("x = envs.SGLANG_WAIT.get()", "", id="environment variable"),
        pytest.param(
            "x = envs.SGLANG_GONE.get()", "`envs.SGLANG_GONE` is not there: Envs has no SGLANG_GONE", id="env gone"
        ),
        pytest.param("x = cache.release", "", id="module attribute"),
        pytest.param("x = cache.gone", "`cache.gone` is not there: the module has no gone", id="module attribute gone"),
        pytest.param("x = torch.whatever", "", id="another package"),
    ],
)
def test_attribute(added: str, expected: str) -> None:
    assert rules(added) == ([("PK605", expected)] if expected else [])


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param("x = req.sender_of_old", ["PK609"], id="nowhere"),
        pytest.param("x = req.sender_of_old.get()[0]", ["PK609"], id="nowhere, and used further"),
        pytest.param("x = req.get().sender_of_old[0]", [], id="of what nothing in this file tells"),
        pytest.param("x = kind.sender_of_old", [], id="of an object that upstream takes nothing from"),
        pytest.param("x = req.ps", [], id="somewhere"),
        pytest.param("req.mark_of_ours = 1\nx = req.mark_of_ours", [], id="the series sets it"),
        pytest.param("req.get('mark_of_ours', 1)\nx = req.mark_of_ours", [], id="the series names it in a string"),
        pytest.param("x = torch.cuda.something_new()", [], id="another package"),
        pytest.param("x = kind.splitlines()", [], id="of a string"),
    ],
)
def test_attribute_of_an_object_of_unknown_type(added: str, expected: list[str]) -> None:
    assert [rule for rule, _ in rules(added)] == expected


HOSTS = """\
from typing import Protocol

class Base:
    def run(self, batch):
        pass

class Heir(Base):
    fields: int

    def run(self, batch, mode="all"):
        pass

Heir = Heir

class Output(Protocol):
    shape: int

class PartMixin:
    def own(self):
        pass

class Part:
    def own(self):
        pass
"""


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param("def f(x: Base):\n    return x.fields", [], id="of a class further down"),
        pytest.param("def f(x: Base):\n    return x.gone", ["PK605"], id="of none of them"),
        pytest.param("def f(x: Base):\n    x.run(1, mode=2)", [], id="as a class further down takes it"),
        pytest.param("def f(x: Base):\n    x.run(1, kind=2)", ["PK607"], id="as none of them takes it"),
        pytest.param("def f(x: Output):\n    return x.ids", [], id="a protocol, which others answer too"),
        pytest.param("def f(x: PartMixin):\n    return x.host", [], id="a mixin that nobody here takes in"),
        pytest.param("def f(x: Part):\n    return x.host", ["PK605"], id="a plain class"),
    ],
)
def test_what_a_value_may_be_besides_its_annotation(added: str, expected: list[str]) -> None:
    before = HOSTS + "\n"
    given = subject(patched(before, before + added + "\n", path="python/sglang/srt/hosts.py"))
    assert [finding.rule for finding in find(given)] == expected


def test_class_that_the_series_itself_puts_below_another() -> None:
    before = "class Base:\n    pass\n"
    added = "\nclass Heir(Base):\n    fields: int\n\ndef f(x: Base):\n    return x.fields, x.gone\n"
    found = find(subject(patched(before, before + added, path="python/sglang/srt/hosts.py")))
    assert [finding.message.split("`")[1] for finding in found] == ["x.gone"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("try:\n    {}\nexcept ImportError:\n    x = None", 0, id="its failure is taken"),
        pytest.param("try:\n    {}\nexcept (KeyError, ModuleNotFoundError):\n    x = None", 0, id="with others"),
        pytest.param("try:\n    {}\nexcept:\n    x = None", 0, id="with all"),
        pytest.param("with suppress(ImportError):\n    {}", 0, id="suppressed"),
        pytest.param("try:\n    {}\nexcept KeyError:\n    x = None", 1, id="another failure"),
        pytest.param("try:\n    pass\nexcept ImportError:\n    {}", 1, id="in the handler"),
        pytest.param("if TYPE_CHECKING:\n    {}", 1, id="for types only: stale all the same"),
    ],
)
def test_import_that_may_fail(text: str, expected: int) -> None:
    after = text.format("from sglang.srt.gone import x") + "\n"
    found = find(subject(patched("", after, path="python/sglang/srt/new.py"), others=OTHERS))
    assert [finding.rule for finding in found] == ["PK606"] * expected


def test_moved_attribute_names_its_new_place() -> None:
    before, line = BEFORE, "        x = self.tp_rank\n"
    after = before.replace("        return self.limit\n", line + "        return self.limit\n")
    (finding,) = find(subject(patched(before, after, path=SCHEDULER), others=OTHERS))
    assert (finding.line, finding.scope, finding.found) == (16, "Scheduler.abort", "there is .ps.tp_rank")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("from sglang.srt.cache import release", "", id="there"),
        pytest.param("from sglang.srt.cache import Parallel", "", id="old name of a class, kept as re-export"),
        pytest.param("from sglang.srt import parallel", "", id="a module"),
        pytest.param("from ..cache import release", "", id="relative"),
        pytest.param("from sglang.srt.cache import gone", "sglang.srt.cache has no gone", id="name gone"),
        pytest.param("from sglang.srt.gone import x", "there is no module sglang.srt.gone", id="module gone"),
        pytest.param("import sglang.srt.gone", "there is no module sglang.srt.gone", id="plain import gone"),
        pytest.param("from torch.gone import x", "", id="another package"),
    ],
)
@pytest.mark.parametrize("where", ["module", "function"])
def test_import(line: str, expected: str, where: str) -> None:
    found = rules(line) if where == "function" else rules("pass", imports=line + "\n")
    assert found == ([("PK606", expected)] if expected else [])


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param("release(req, 1, checkpoint=True)", "", id="fits"),
        pytest.param(
            "release(req, 1, True)",
            "it takes 2 positional arguments, 3 are given; checkpoint can be given by keyword only",
            id="became keyword-only",
        ),
        pytest.param("release(req)", "it needs `cache`", id="required is missing"),
        pytest.param("release(req, cache=1, kv=2)", "it has no argument `kv`", id="argument gone"),
        pytest.param("release(req, 1, req=2)", "`req` is given twice", id="given twice"),
        pytest.param("release(*x)", "", id="star"),
        pytest.param("release(**x)", "", id="mapping"),
        pytest.param("cache.release(req)", "it needs `cache`", id="through the module"),
        pytest.param("old_name(req)", "it needs `kv`", id="through an alias"),
        pytest.param("self.retract(1, mode='x')", "", id="inherited method fits"),
        pytest.param("self.retract()", "it needs `count`", id="inherited method"),
        pytest.param("self.abort(req, 1, 2)", "it takes 2 positional arguments, 3 are given", id="own method"),
        pytest.param("Scheduler.abort(self, req)", "", id="unbound"),
        pytest.param(
            "self.ps.describe(True)",
            "it takes 0 positional arguments, 1 are given; short can be given by keyword only",
            id="method of an attribute",
        ),
        pytest.param("ParallelState(1, groups=[])", "", id="dataclass fits"),
        pytest.param("ParallelState()", "it needs `tp_rank`", id="dataclass"),
        pytest.param("Dynamic(1)", "it takes 0 positional arguments, 1 are given", id="class without __init__"),
        pytest.param("release = print\nrelease(1)", "", id="local name"),
        pytest.param("kind(1, 2, 3)", "", id="parameter"),
    ],
)
def test_call(added: str, expected: str) -> None:
    name = added.rpartition("\n")[2].partition("(")[0].rpartition(".")[2]
    assert rules(added) == ([("PK607", f"the call of {name} does not fit: {expected}")] if expected else [])


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        pytest.param("def release_one(req, cache=None)", [], id="with a default"),
        pytest.param("def release_one(req, cache)", [("PK608", 4, "it needs `cache`")], id="without one"),
        pytest.param("def release_one(req, *, cache)", [("PK608", 4, "it needs `cache`")], id="keyword-only"),
        pytest.param("def release_one()", [("PK608", 4, "it takes 0 positional arguments, 1 are given")], id="removed"),
    ],
)
def test_upstream_callers_of_a_changed_function(signature: str, expected: list[tuple[str, int, str]]) -> None:
    path = "python/sglang/srt/only.py"
    before = "def release_one(req):\n    pass\n"
    caller = {
        "python/sglang/srt/caller.py": "from sglang.srt.only import release_one\n\ndef f(req):\n    release_one(req)\n"
    }
    file = patched(before, before.replace("def release_one(req)", signature), path=path)
    found = [(f.rule, f.line, f.message.partition(": ")[2]) for f in find(subject(file, others=caller))]
    assert found == expected


def test_upstream_lines_are_not_judged() -> None:
    before = BEFORE.replace("return self.limit", "return self.tp_rank")
    after = before.replace("    limit = 1\n", "    limit = 2\n")
    assert (find(subject(patched(before, after, path=SCHEDULER), others=OTHERS))) == []
