"""Hostile patches that apply, each with its sound twin: all rules together name the right one, and are silent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from textwrap import dedent

import pytest

from patchkit.lint import lint
from patchkit.model import Finding
from patchkit.rules import guards
from patchkit.rules.subject import Lint, Lock
from patchkit.rules.symbols import Symbols
from patchkit.source.guards import read_guards
from patchkit.verbs.verify import RULES, TREE_RULES
from tests.rules.patched import patch_text, subject_of

PATH = "python/sglang/srt/scheduler.py"


@dataclass(frozen=True)
class Case:
    """Upstream's file, what a hostile and what a sound patch make of it, and what is found in the hostile result.

    others: the files beside it, below python/sglang/srt. lock: of the only hunk.
    """

    before: str
    hostile: str
    sound: str
    expected: list[tuple[str, int]]
    others: Mapping[str, str] = field(default_factory=dict)
    lock: Lock | None = None
    guard: str = ""
    context: int = 3


def find(case: Case, after: str) -> list[Finding]:
    """Return what every rule finds, as `verify` runs them."""
    before, after = dedent(case.before), dedent(after)
    packages = {"python/sglang/__init__.py": "", "python/sglang/srt/__init__.py": ""}
    others = {f"python/sglang/srt/{name}": dedent(text) for name, text in case.others.items()}
    text = patch_text(before, after, path=PATH, context=case.context)
    lock = {(PATH, 1): case.lock} if case.lock else {}
    given = subject_of({**packages, **others, PATH: before}, text, combined=text if lock else "", locked=lock)
    found: Lint = lint({PATH: before.encode()}, {PATH: after.encode()}, python="3.12")
    given = replace(given, lint=found)
    symbols = Symbols.of(given)
    findings = [finding for rule in RULES for finding in rule(given)]
    findings += [finding for tree_rule in TREE_RULES for finding in tree_rule(given, symbols)]
    if case.guard:
        findings += guards.find(given, read_guards(case.guard.encode(), topic="t", where="t.yml"), {})
    return findings


QUEUE = """\
class Queue:
    def resume(self):
        self.pool = 1
{0}
    def push(self, req):
        self.reqs.append(req)
{1}"""
METHOD = "\n    def release(self):\n        self.pool = None\n"
FIX = "            if self.storage:\n                self.cache.release_aborted(req.rid)\n"
ABORT = """\
class Queue:
    def abort(self, recv):
        for req in self.reqs:
{0}            if req.rid == recv.rid:
                if hasattr(req, "sender"):
                    req.sender.abort()
{1}"""
SIBLINGS = """\
class Model:
    def get_image(self, items):
        found = []
        for item in items:
            found.append(self.visual({0}))
        return found

    def get_video(self, items):
        found = []
        for item in items:
            found.append(self.visual({1}))
        return found
"""
PARALLEL = {
    "parallel.py": """\
        class Parallel:
            def __init__(self):
                self.tp_rank = 0
        """
}
RANK = """\
from sglang.srt.parallel import Parallel

class Scheduler:
    def __init__(self, ps: Parallel):
        self.ps = ps

    def rank(self):
        return {0}
"""
POOL = {"pool.py": "def release(*args):\n    pass\n\ndef expire(req):\n    pass\n"}
CACHE = {
    "cache.py": """\
        def release(req, *, keep=False):
            pass

        async def drain(req):
            pass

        class NewName:
            pass

        OldName = NewName
        """
}
CALL = "from sglang.srt.cache import drain, release\n\nasync def f(req):\n    release(req)\n{0}    await drain(req)\n"
IMPORTS = (
    "import json\nfrom contextlib import suppress\n\ndef f(req):\n    return json.dumps(req)\n{0}\n\nX = suppress\n"
)
LOOP = """\
from sglang.srt.pool import expire

def pop(self, reqs):
    for req in reqs:
        if not req.rid:
            continue
        self.take(req)
"""
GUARD = """\
- id: X-1
  message: every turn tests the deadline
  releases: ">=0.1"
  path: python/sglang/srt/scheduler.py
  scope: pop
  within: {kind: for_statement}
  checks:
    - each_pass: {call: expire}
"""
ERROR_PATH = """\
from sglang.srt.pool import release

def finish(self, req):
    try:
        req.grammar.accept()
    except ValueError:
        {0}
    release(req, self.cache)
"""
TO_BE_SEEN = {
    "a method that upstream has added": Case(
        QUEUE.format("", METHOD), QUEUE.format(METHOD, METHOD), QUEUE.format(METHOD.replace("release", "stop"), METHOD),
        [("PK501", 5), ("PK604", 11)],
    ),
    "in the sibling method": Case(
        SIBLINGS.format("item", "item"), SIBLINGS.format("item.to(0)", "item"), SIBLINGS.format("item", "item.to(0)"),
        [("PK401", 5)], lock=Lock("Model.get_video", "for: 0-1"),
    ),
    "the same fix five lines lower upstream": Case(
        ABORT.format("", FIX), ABORT.format(FIX, FIX), ABORT.format(FIX.replace("req.rid", "recv.rid"), FIX),
        [("PK502", 4)],
    ),
    "an attribute that moved to another object": Case(
        RANK.format("0"), RANK.format("self.tp_rank"), RANK.format("self.ps.tp_rank"), [("PK605", 8)], PARALLEL
    ),
    "an argument that became keyword-only": Case(
        CALL.format(""), CALL.format("    release(1, True)\n"), CALL.format("    release(1, keep=True)\n"),
        [("PK607", 5)], CACHE,
    ),
    "a renamed class": Case(
        "X = 1\n", "from sglang.srt.cache import GoneName\nX = GoneName()\n",
        "from sglang.srt.cache import OldName\nX = OldName()\n", [("PK606", 1)], CACHE,
    ),
    "a removed import": Case(
        IMPORTS.format(""), IMPORTS.format("    os.close(1)"), IMPORTS.format("    suppress(1)"), [("PK602", 6)]
    ),
    "a guard call behind an early continue": Case(
        LOOP, LOOP.replace("        self.take", "        expire(req)\n        self.take"),
        LOOP.replace("        if not", "        expire(req)\n        if not"), [("PK701", 7)], POOL, guard=GUARD,
    ),
    "a second release on the error path": Case(
        ERROR_PATH.format("pass"), ERROR_PATH.format("release(req, self.cache)"),
        ERROR_PATH.format("release(req, self.cache)\n        return"), [("PK505", 7)], POOL,
    ),
}  # fmt: skip

PROPERTY = """\
class Queue:
    @property
    def size(self):
        return len(self.reqs)
{0}
    def push(self, req):
        self.reqs.append(req)
"""
OVERLOADS = """\
from typing import overload

@overload
def take(x: int) -> int: ...
{0}def take(x):
    return x
"""
NESTED = """\
from sglang.srt.pool import release

def run(self, req):
    def clean():
        release(req)
{0}    self.later(clean)
"""
ASYNC = """\
async def run(self, req, ok):
    if ok:
        await self.pool.release(req)
{0}    await self.done(req)
"""
FINALLY = """\
from sglang.srt.pool import release

def run(self, req):
    try:
        self.step(req)
{0}    finally:
        release(req)
"""
CONDITIONAL = """\
import sys

if sys.platform == "linux":
    def poll():
        return 1
{0}
"""
TYPES = """\
from __future__ import annotations
from typing import TYPE_CHECKING
from sglang.srt import cache

if TYPE_CHECKING:
    from sglang.srt.parallel import Parallel

def rank(ps: Parallel) -> int:
    return ps.tp_rank + len(cache.OldName.__name__)
{0}
"""
STAR = {"names.py": "__all__ = ['take']\n\ndef take():\n    pass\n\ndef give():\n    pass\n"}
USES_STAR = "from sglang.srt.names import *\n\ndef f():\n    take()\n{0}"
FIELDS = """\
from dataclasses import dataclass

@dataclass
class Room:
    number: int
    guests: int = 0
{0}
"""
MAKES_ROOM = {"hotel.py": "from sglang.srt.scheduler import Room\n\nROOM = Room(1)\nSUITE = Room(number=2, guests=4)\n"}
LISTED = "__all__ = ['f'{0}]\n\ndef f():\n    pass\n{1}"
USED = "def keep(req):\n    return req\n\n{0}\ndef other(req):\n    return req\n"
IMPORTER = {"user.py": "from sglang.srt.scheduler import drop\n\ndrop(1)\n"}
SHADOWED = "from sglang.srt import cache\n\ndef f(reqs):\n    cache.release(reqs)\n{0}"
MOVED = "    table.sort()\n    table.reverse()\n    table.append(1)\n    table.append(2)\n    return table\n"
OF_OUR_OWN = {
    "a property that upstream has; its setter": Case(
        PROPERTY.format(""), PROPERTY.format("\n    @property\n    def size(self):\n        return 1\n"),
        PROPERTY.format("\n    @size.setter\n    def size(self, to):\n        self.limit = to\n"),
        [("PK501", 7), ("PK604", 7)],
    ),
    "a second implementation; another overload": Case(
        OVERLOADS.format(""), OVERLOADS.format("def take(x):\n    return 0\n\n"),
        OVERLOADS.format("@overload\ndef take(x: str) -> str: ...\n"), [("PK501", 8), ("PK604", 8)],
    ),
    "a nested function defined twice; its own release": Case(
        NESTED.format(""), NESTED.format("    def clean():\n        self.free(req)\n"),
        NESTED.format("    release(req)\n"),
        [("PK501", 6), ("PK604", 6)], POOL,
    ),
    "an awaited release again; in the other branch": Case(
        ASYNC.format(""), ASYNC.format("    await self.pool.release(req)\n"),
        ASYNC.format("    else:\n        await self.pool.release(req)\n"), [("PK505", 4)],
    ),
    "a coroutine that is dropped; awaited": Case(
        CALL.format(""), CALL.format("    drain(1)\n"), CALL.format("    await drain(1)\n"), [("PK607", 5)], CACHE
    ),
    "a release in try and finally; of another": Case(
        FINALLY.format(""), FINALLY.format("        release(req)\n"), FINALLY.format("        release(self)\n"),
        [("PK505", 6)], POOL,
    ),
    "a definition again in one branch; in the other": Case(
        CONDITIONAL.format(""), CONDITIONAL.format("    def poll():\n        return 2\n"),
        CONDITIONAL.format("else:\n    def poll():\n        return 2\n"), [("PK604", 6)],
    ),
    "a name for type checkers used at run time; in an annotation": Case(
        TYPES.format(""), TYPES.format("def is_it(x):\n    return isinstance(x, Parallel)\n"),
        TYPES.format("def same(x: Parallel) -> Parallel:\n    y: Parallel = x\n    return y\n"),
        [("PK602", 11)], {**PARALLEL, **CACHE},
    ),
    "a name that a star does not bring; one that it does": Case(
        USES_STAR.format(""), USES_STAR.format("    give()\n"), USES_STAR.format("    print(take)\n"),
        [("PK602", 5)], STAR,
    ),
    "a name behind a star that is gone; that is there": Case(
        "X = 1\n", "from sglang.srt.more import give\nX = give()\n", "from sglang.srt.more import take\nX = take()\n",
        [("PK606", 1)], {**STAR, "more.py": "from sglang.srt.names import *\n"},
    ),
    "a field without a default behind one with; with one": Case(
        FIELDS.format(""), FIELDS.format("    floor: int\n"), FIELDS.format("    floor: int = 0\n"), [("PK601", 7)]
    ),
    "a field that those who make it do not give; with a default": Case(
        FIELDS.replace("guests: int = 0", "guests: int").format(""),
        FIELDS.replace("guests: int = 0", "guests: int").format("    floor: int\n"),
        FIELDS.replace("guests: int = 0", "guests: int").format("    floor: int = 0\n"),
        [("PK608", 4)], MAKES_ROOM,
    ),
    "a name in __all__ that is not there; that is": Case(
        LISTED.format("", ""), LISTED.format(", 'g'", ""), LISTED.format(", 'g'", "\ndef g():\n    pass\n"),
        [("PK602", 1)],
    ),
    "a function that others import is gone; kept under its old name": Case(
        USED.format("def drop(req):\n    return 1\n"), USED.format(""), USED.format("drop = keep\n"), [("PK608", 1)],
        IMPORTER,
    ),
    "an attribute of a module that is gone; of a lambda's parameter": Case(
        SHADOWED.format(""), SHADOWED.format("    return cache.gone\n"),
        SHADOWED.format("    return sorted(reqs, key=lambda cache: cache.gone)\n"), [("PK605", 5)],
        {**CACHE, "more.py": "gone = 1\n"},
    ),
    "an attribute of a module that is gone; of what a case binds": Case(
        SHADOWED.format(""), SHADOWED.format("    cache.gone()\n"),
        SHADOWED.format("\ndef g(reqs):\n    match reqs:\n        case [cache]:\n            cache.append(1)\n"),
        [("PK605", 5)], CACHE,
    ),
    "a function that upstream has moved; one like it": Case(
        "import os\n", "import os\n\n\ndef order(table):\n" + MOVED,
        "import os\n\n\ndef order(table):\n    return table\n",
        [("PK503", 4)], {"moved.py": "def order(table):\n" + MOVED},
    ),
}  # fmt: skip
CASES = {**TO_BE_SEEN, **OF_OUR_OWN}


@pytest.mark.parametrize("name", CASES)
def test_hostile_patch_is_named(name: str) -> None:
    case = CASES[name]
    assert sorted((finding.rule, finding.line) for finding in find(case, case.hostile)) == case.expected


@pytest.mark.parametrize("name", CASES)
def test_sound_twin_is_silent(name: str) -> None:
    case = CASES[name]
    assert [(finding.rule, finding.line, finding.message) for finding in find(case, case.sound)] == []
