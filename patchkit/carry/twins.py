"""Did upstream newly write what an edit says, right beside its place or in a function that the place newly calls?

Two fixes of one fault seldom share a line, but they name the same things: the flag they set, the queue they empty.
Measured on 564 hunks carried rightly between the shipped pins, one names two or more of them by chance.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from keyword import kwlist

from patchkit.carry.follow import Library
from patchkit.carry.imports import imported_names
from patchkit.carry.nouns import Lines, Outcome, Source
from patchkit.carry.scene import Scene
from patchkit.carry.undefined import KNOWN
from patchkit.carry.wording import telling, words
from patchkit.source.scopes import MODULE

NEAR = 8  # lines
LEAST_NAMES = 2
LEAST_SHARE = 0.2  # of the names that the edit brings to its place
LEAST_LINES_SHARE = 0.15
LONGEST = 80  # lines of a called function that are read
TELLING_NAME = 5  # shorter names of functions are too common to be looked for in all files

_CALL = re.compile(r"\b(\w+)\(")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_COMMON = frozenset(kwlist) | KNOWN | {"self", "cls"}


def twin_beside(outcome: Outcome, scene: Scene, library: Library) -> str:
    """Upstream's new code next to the place names what the edit names, or has one of its lines."""
    edit = outcome.edit
    if not outcome.pieces or not edit.new or imported_names(edit, scene):
        return ""
    place = outcome.pieces[0]
    before = scene.base.lines[max(0, edit.lo - NEAR) : edit.hi + NEAR]
    fresh = _fresh_lines(range(max(0, place.lo - NEAR), min(len(scene.new.lines), place.hi + NEAR)), scene)
    if not fresh:
        return ""
    known = {*telling(before), *telling(scene.base.lines[edit.lo : edit.hi])}
    gain = [line for line in telling(edit.new) if line not in known]
    common = [line for line in gain if line in _gained(fresh, outcome, scene)]
    if common and len(common) >= LEAST_LINES_SHARE * len(gain):
        return f"upstream newly has `{common[0]}` next to it in {scene.path}"
    own = _names(edit.new, before)
    shared = own & _names((scene.new.lines[at] for at in fresh), before)
    called = _names(_called(fresh, scene, library), before) & own
    if len(shared | called) >= max(LEAST_NAMES, LEAST_SHARE * len(own)):
        where = "next to it" if shared else "in what the place now calls"
        return f"upstream newly says {', '.join(sorted(shared | called)[:4])} {where} in {scene.path}"
    return ""


def _fresh_lines(window: range, scene: Scene) -> list[int]:
    """Return the lines of a window that come from no old line; in another file, that the old one did not say."""
    said = scene.new.telling
    moved = scene.is_elsewhere
    return [at for at in window if said[at] and at in scene.fresh_lines and not (moved and scene.base.said[said[at]])]


def _gained(fresh: Iterable[int], outcome: Outcome, scene: Scene) -> set[str]:
    """Return what the fresh lines say that upstream says more often in this scope than before."""
    scope = scene.scope_of(outcome.edit)
    if scope != MODULE and not scene.is_elsewhere and scene.has_scope(scope):
        now, before = scene.counts(scene.new, scope), scene.counts(scene.base, scope)
    else:
        now, before = scene.new.said, scene.base.said
    return {line for at in fresh if now[line := scene.new.telling[at]] > before[line]}


def _names(lines: Iterable[str], known: Lines) -> frozenset[str]:
    return words(_COMMENT.sub("", line) for line in lines) - words(known) - _COMMON


def _called(fresh: Iterable[int], scene: Scene, library: Library) -> Iterator[str]:
    """Yield the lines of the functions that the fresh lines call and the old file did not have."""
    called = {name for at in fresh for name in _CALL.findall(scene.new.lines[at])}
    for name in sorted(called - scene.base.words - _COMMON):
        own = list(_body(name, scene.new))
        if own:
            yield from own
        elif len(name) >= TELLING_NAME:
            files = list(islice(library.defining(name), 2))
            if len(files) == 1:
                yield from _body(name, files[0][1])


def _body(name: str, source: Source) -> Iterator[str]:
    for one in source.scopes.definitions:
        if one.name.rpartition(".")[2] == name and not one.is_class:
            yield from source.lines[one.first - 1 : min(one.last, one.first - 1 + LONGEST)]
