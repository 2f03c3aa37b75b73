"""Does upstream's change look like the patch's? Half of a change that landed, or a pattern that upstream rewrote."""

import re
from collections import Counter
from collections.abc import Collection
from difflib import SequenceMatcher

from patchkit.carry.follow import Library
from patchkit.carry.imports import imported_names
from patchkit.carry.nouns import Outcome, Stage
from patchkit.carry.scene import Scene
from patchkit.carry.wording import key_of, plain, telling

LARGE_SHARE = 0.5
LIKE = 0.8  # difflib's ratio
LIKE_START = 4  # lines that are alike begin alike
NEARLY_LENGTH = 16
LEAST_COPIED = 2
SIBLINGS = 3  # so many rewritten neighbours make a pattern

_BLOCK = re.compile(r"\s*(?:if|for|while|with|try)\b")
_STRING = re.compile(r'"[^"]*"')


def half_upstreamed(outcome: Outcome, scene: Scene, library: Library) -> str:
    """Much of what the edit adds is new in upstream's file too; lines that the file is full of hardly count."""
    edit = outcome.edit
    old, fresh = scene.base.said, scene.fresh
    gain = Counter(telling(edit.new)) - Counter(telling(scene.base.lines[edit.lo : edit.hi]))
    lines = sorted(gain)
    if not lines or (len(lines) == 1 and outcome.stage is not Stage.NEIGHBOURS):
        return ""
    if imported_names(edit, scene):
        return ""
    if len(lines) == 1:
        scope = scene.scope_of(edit)
        fresh = scene.counts(scene.new, scope) - scene.counts(scene.base, scope)
        return f"upstream newly has it in {scope} of {scene.path}" if lines[0] in fresh else ""
    weights = {line: 1 / (1 + old[line]) for line in lines}
    common = [line for line in lines if line in fresh or is_like_fresh(line, scene)]
    if sum(weights[line] for line in common) >= LARGE_SHARE * sum(weights.values()) > 0 and common:
        return f"upstream newly has {len(common)} of its {len(lines)} lines in {scene.path}, or nearly"
    return ""


def is_like_fresh(line: str, scene: Scene) -> bool:
    """Whether a line newly sets the same as a new upstream line, or says it in nearly the same words."""
    return is_alike(line, scene.fresh, by_key=key_of(line) not in scene.old_keys)


def is_alike(line: str, others: Collection[str], *, by_key: bool = True) -> bool:
    """Whether one of some lines says nearly the same words, or (by_key) sets the same."""
    if line[0] == '"':
        return line in others
    key = key_of(line)
    starts = (line[:LIKE_START], line.removeprefix("self.")[:LIKE_START])
    near = [
        other
        for other in others
        if abs(len(other) - len(line)) <= NEARLY_LENGTH
        and (other.startswith(starts[0]) or other.removeprefix("self.").startswith(starts[1]))
    ]
    if key and by_key and any(key == key_of(other) for other in near):
        return True
    role = key.removeprefix("self.")
    same_role = (other for other in near if not key or key_of(other).removeprefix("self.") in {"", role})
    matchers = (SequenceMatcher(None, line, other, autojunk=False) for other in same_role)
    return any(one.real_quick_ratio() >= LIKE and one.quick_ratio() >= LIKE and one.ratio() >= LIKE for one in matchers)


def rewritten_pattern(outcome: Outcome, scene: Scene, library: Library) -> str:
    """The edit follows the pattern of its neighbours, and upstream rewrote these."""
    if outcome.stage is not Stage.NEIGHBOURS or imported_names(outcome.edit, scene):
        return ""
    edit = outcome.edit
    before, after = _rewritten_beside(outcome, scene)
    gone = max(before, after, key=len)
    if len(gone) < SIBLINGS:
        return ""
    if edit.hi > edit.lo:
        return f"upstream rewrote the {len(gone)} lines next to it"
    shapes = tuple({_shape(line) for line in gone if len(_shape(line)) >= 3})
    added = telling(edit.new)
    alike = sum(_shape(line).startswith(shapes) for line in added) if shapes else 0
    if alike * 2 >= len(added):
        return f"upstream rewrote the {len(gone)} lines next to it whose pattern it follows"
    return ""


def copied_sibling(outcome: Outcome, scene: Scene, library: Library) -> str:
    """The edit is a statement made like the one next to it, and upstream rewrote that one."""
    edit = outcome.edit
    added = telling(edit.new)
    if edit.hi > edit.lo or len(added) < LEAST_COPIED or not any(_BLOCK.match(line) for line in edit.new):
        return ""
    reach = len(edit.new) + 1
    beside = [*range(max(0, edit.lo - reach), edit.lo), *range(edit.hi, min(len(scene.base.lines), edit.hi + reach))]
    gone = {_shape(line) for line in telling(scene.base.lines[at] for at in beside if not scene.alignment.keeps(at))}
    alike = [line for line in added if _shape(line) in gone]
    if len(alike) >= LEAST_COPIED and 2 * len(alike) >= len(added):
        return f"it is made like the lines next to it ({alike[0][:40]}), and upstream rewrote these"
    return ""


def copied_anchor(outcome: Outcome, scene: Scene, library: Library) -> str:
    """The line that the edit was placed by stands at more places than before: upstream copied the code."""
    edit = outcome.edit
    if outcome.stage is not Stage.NEIGHBOURS or edit.hi > edit.lo:
        return ""
    for at in (edit.lo - 1, edit.hi):
        line = scene.base.lines[at] if 0 <= at < len(scene.base.lines) else ""
        if telling([line]) and scene.alignment.keeps(at):
            before, after = scene.base.lines.count(line), scene.new.lines.count(line)
            if before == 1 < after:
                return f"upstream now has its neighbour ({line.strip()[:40]}) at {after} places"
    return ""


def _rewritten_beside(outcome: Outcome, scene: Scene) -> tuple[list[str], list[str]]:
    """Return the telling old lines directly above and below the edit that upstream no longer has there."""
    low, high = scene.alignment.around(outcome.edit.lo, outcome.edit.hi)
    lines = scene.base.lines
    return telling(lines[low + 1 : outcome.edit.lo]), telling(lines[outcome.edit.hi : high])


def _shape(line: str) -> str:
    """Return a line with its words and strings blotted out."""
    return re.sub(r"\w+", "w", _STRING.sub("s", plain(line)))
