"""The shipped series carried from each pin to each other one, against what that pin itself has there."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from patchkit.carry.compose import compose
from patchkit.carry.edits import read_edits
from patchkit.carry.engine import carry_patch
from patchkit.carry.nouns import Action, Carried, Decision, Piece, Source, join
from patchkit.carry.wording import telling
from patchkit.patch.hunks import FilePatch, LineKind
from patchkit.patch.patchtext import read_patch
from patchkit.store import pin_folder, pin_names, read_pin
from patchkit.upstream.access import Access, cache_folder
from patchkit.upstream.bring import bring_pin
from patchkit.upstream.trees import UpstreamTree

ROOT = Path(__file__).parents[2]
CACHE = cache_folder()  # read before the environment is sealed

# What a person decided anew for a later pin, told by a line of it: no engine can know that.
DECIDED = {
    "tags = [tag for tag in tags if tag in self.offload_tags]": "left to upstream since 0.5.15.post1",
    "elapsed = time.time() - self.init_time": "since 0.5.13 a method of upstream's does this",
}

pytestmark = [pytest.mark.network, pytest.mark.slow]


@cache
def tree(pin: str) -> UpstreamTree:
    return UpstreamTree(bring_pin(read_pin(ROOT, pin), Access(CACHE)))


@cache
def series(pin: str) -> tuple[FilePatch, ...]:
    return read_patch((pin_folder(ROOT, pin) / "sglang.patch").read_bytes()).files


@cache
def patched(pin: str) -> Mapping[str, list[str]]:
    """Return what each patched file of a pin says."""
    found = {}
    for section in series(pin):
        base = Source(tree(pin).read(section.old_path) or b"").lines
        edits, _ = read_edits(section.hunks, base)
        pieces = [Piece(section.path, edit.lo, edit.hi, edit.new, edit.at) for edit in edits]
        found[section.path] = said(join(compose(base, pieces)))
    return found


def said(data: bytes | None) -> list[str]:
    return ["<top>", *telling(Source(data or b"").lines), "<end>"]


def added(pin: str, decision: Decision) -> Iterator[list[str]]:
    """Yield what each run of added lines of a decision's hunk says."""
    (section,) = (one for one in series(pin) if one.path == decision.path)
    run: list[str] = []
    for line in section.hunks[decision.hunk - 1].lines:
        if line.kind is LineKind.ADDED:
            run += telling([line.text.decode()])
        elif run:
            yield run
            run = []
    if run:
        yield run


def places(lines: list[str], run: list[str]) -> list[tuple[str, str]]:
    """Return the neighbours above and below of each place at which lines have a run."""
    size = len(run)
    return [(lines[at - 1], lines[at + size]) for at in range(1, len(lines) - size) if lines[at : at + size] == run]


def is_as_shipped(run: list[str], decision: Decision, carried: Carried, pin: str) -> bool:
    """Whether the pin has these lines beside a neighbour that they have in the result; for a drop, not more often."""
    upstream = tree(pin).read(decision.to)
    own = patched(pin).get(decision.to, said(upstream))
    if decision.action is Action.DROPPED:
        return len(places(own, run)) <= len(places(said(upstream), run))
    if all(line.isidentifier() for line in run):
        return set(run) <= set(own)  # imported names: their order says nothing
    there = places(own, run)
    return any(
        above == one or below == other
        for above, below in places(said(carried.files.get(decision.to)), run)
        for one, other in there
    )


@pytest.mark.parametrize(("old", "new"), [*permutations(pin_names(ROOT), 2)])
def test_what_is_carried_without_a_word_is_what_the_pin_has(old: str, new: str) -> None:
    carried = carry_patch(series(old), tree(old), tree(new))
    wrong = [
        f"{decision.path}#{decision.hunk} {decision.action}: {run[0]}"
        for decision in carried.decisions
        if not decision.suspect and decision.action not in {Action.UNRESOLVED, Action.SHRUNK}
        for run in added(old, decision)
        if not DECIDED.keys() & set(run) and not is_as_shipped(run, decision, carried, new)
    ]
    assert wrong == []
