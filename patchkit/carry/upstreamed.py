"""Does upstream already have what an edit does? Asked before any merging, so that nothing is applied twice."""

from collections import Counter
from collections.abc import Collection

from patchkit.carry.blocks import openers
from patchkit.carry.likeness import is_alike
from patchkit.carry.nouns import Action, Cause, Edit, Outcome, Stage
from patchkit.carry.scene import Scene
from patchkit.carry.sites import Contact, find_sites
from patchkit.carry.wording import bound_names, key_of, telling
from patchkit.source.scopes import MODULE

SURE_LENGTH = 12  # a shorter text may stand there for another reason
FEW_LINES = 3  # so few equal lines count only near the place that they were written for
NEAR = 8  # lines

FEATURE_NAMES = 4  # fewer names of one feature may have landed by chance
FEATURE_SHARE = 0.75

_CONDITIONS = ("if ", "elif ", "while ", "raise ", "return ", "assert ")


def ask_upstream(edit: Edit, scene: Scene) -> Outcome | None:
    """Return a drop where upstream has the edit, verbatim or in another form; None where nothing says so."""
    for rule in (_same_change, _removed_too, _verbatim, _same_definition, _landed_names, _same_key, _same_binding):
        outcome = rule(edit, scene)
        if outcome is not None:
            return outcome
    return None


def _drop(edit: Edit, evidence: str, *, suspect: bool = False) -> Outcome:
    return Outcome(edit, Action.DROPPED, Stage.UPSTREAMED, (evidence,), suspect=suspect, cause=Cause.UPSTREAMED)


def _same_change(edit: Edit, scene: Scene) -> Outcome | None:
    """Upstream made the same change at the same place, up to layout."""
    low, high = scene.alignment.around(edit.lo, edit.hi)
    lo, hi = scene.alignment.new_index(low) + 1, scene.alignment.new_index(high)
    theirs = (*scene.base.lines[low + 1 : edit.lo], *edit.new, *scene.base.lines[edit.hi : high])
    ours = scene.new.lines[lo:hi]
    if ours == scene.base.lines[low + 1 : high]:
        return None
    if ours == theirs:
        return _drop(edit, f"upstream made the same change at {scene.path}:{lo + 1}")
    if telling(theirs) and telling(ours) == telling(theirs):
        return _drop(edit, f"upstream made the same change in another layout at {scene.path}:{lo + 1}")
    return None


def _removed_too(edit: Edit, scene: Scene) -> Outcome | None:
    """The edit only removes lines, or makes comments of them, and upstream no longer has them there either."""
    removed = Counter(telling(scene.base.lines[edit.lo : edit.hi]))
    scope = scene.scope_of(edit)
    if telling(edit.new) or not removed or scope == MODULE or not scene.has_scope(scope):
        return None
    if any(scene.alignment.keeps(at) for at in range(edit.lo, edit.hi) if scene.base.telling[at]):
        return None
    before, after = scene.counts(scene.base, scope), scene.counts(scene.new, scope)
    if any(after[line] > before[line] - n or scene.fresh[line] for line, n in removed.items()):
        return None
    return _drop(edit, f"upstream no longer has the lines that it removes in {scope} of {scene.path}")


def _verbatim(edit: Edit, scene: Scene) -> Outcome | None:
    """All that the edit adds is newly in the same scope upstream, and all that it removes is gone from there."""
    scope = scene.scope_of(edit)
    added, removed = Counter(telling(edit.new)), Counter(telling(scene.base.lines[edit.lo : edit.hi]))
    gain, loss = added - removed, removed - added
    if not gain or not scene.has_scope(scope):
        return None
    before, after = scene.counts(scene.base, scope), scene.counts(scene.new, scope)
    if any(after[line] < before[line] + n for line, n in gain.items()):
        return None
    if any(after[line] > before[line] - n for line, n in loss.items()):
        return None
    near = {scene.new.telling[at]: at for at in _fresh_at(edit, scene)}
    if sum(gain.values()) < FEW_LINES and any(line not in near for line in gain):
        return None
    evidence = f"upstream has these lines in {scope} of {scene.path}"
    if not any(_same_block(edit, at, scene) for line, at in near.items() if line in gain) and _is_untouched(
        edit, scene
    ):
        return _drop(edit, f"{evidence}, but at another place", suspect=True)
    return _drop(edit, evidence, suspect=sum(len(line) * n for line, n in gain.items()) < SURE_LENGTH)


def _is_untouched(edit: Edit, scene: Scene) -> bool:
    """Whether upstream changed nothing at the edit's place: what it has of the edit was written for another one."""
    return find_sites(edit, scene.base.lines, scene.alignment)[0].contact is Contact.CLEAN


def _same_block(edit: Edit, at: int, scene: Scene) -> bool:
    """Whether the new text's line that says what one of the edit's says stands in the same statements as that one."""
    said = scene.new.telling[at]
    return any(
        openers(scene.theirs.lines, there) == openers(scene.new.lines, at)
        for there in range(edit.at, edit.at + len(edit.new))
        if scene.theirs.telling[there] == said
    )


def _same_definition(edit: Edit, scene: Scene) -> Outcome | None:
    """The edit consists of definitions that upstream newly has in the same scope."""
    first, last = edit.at, edit.at + len(edit.new)
    inside = {name: span for name, span in scene.introduced.items() if first <= span[0] and span[1] <= last}
    outer = [name for name in inside if not any(name.startswith(other + ".") for other in inside)]
    if not outer or any(name not in scene.upstream_new for name in outer):
        return None
    covered = {at for name in outer for at in range(*inside[name])}
    rest = telling(line for at, line in enumerate(edit.new, first) if at not in covered)
    if rest:
        return None
    return _drop(edit, f"upstream newly defines {', '.join(sorted(outer))} in {scene.path}")


def _landed_names(edit: Edit, scene: Scene) -> Outcome | None:
    """Every name that the edit brings is one that upstream newly has: in this scope, or with the whole feature.

    Only names that tie several hunks together make a feature.
    """
    names = scene.vocabulary.names_in(edit.new)
    if not names or not names <= scene.vocabulary.landed or keeps_replaced(edit, scene):
        return None
    scope = scene.scope_of(edit)
    shown = ", ".join(sorted(names)[:4])
    here = scene.has_scope(scope) and names <= scene.words_in(scene.new, scope) - scene.words_in(scene.base, scope)
    rest = _own_condition(edit, scene, scope) if here else ""
    unsaid = rest or _unsaid_use(edit, scene, scope) if here else ""
    if here and not unsaid:
        return _drop(edit, f"upstream newly has {shown} in {scope} of {scene.path}")
    landed, whole = scene.vocabulary.feature(names)
    if not rest and whole > names and len(whole) >= FEATURE_NAMES and len(landed) >= FEATURE_SHARE * len(whole):
        return _drop(edit, f"upstream has the feature: {shown} and {len(landed)} of its {len(whole)} names")
    if here:
        return _drop(edit, f"upstream newly has {shown} in {scope} of {scene.path}, but not: {unsaid}", suspect=True)
    return None


def _same_binding(edit: Edit, scene: Scene) -> Outcome | None:
    """Each variable that the edit newly binds is newly bound upstream, a few lines away in the same scope."""
    scope = scene.scope_of(edit)
    lines = telling(edit.new)
    names = bound_names(edit.new)
    if edit.hi > edit.lo or len(names) != len(lines) or not names or scope == MODULE or not scene.has_scope(scope):
        return None
    had = bound_names(scene.base.lines[at] for at in scene.lines_in(scene.base, scope))
    if names & had or not names <= bound_names(_fresh_near(edit, scene)):
        return None
    return _drop(edit, f"upstream newly binds {', '.join(sorted(names))} in {scope} of {scene.path}")


def _own_condition(edit: Edit, scene: Scene, scope: str) -> str:
    """Return a condition of the edit that upstream's version does not have."""
    there = scene.counts(scene.new, scope) - scene.counts(scene.base, scope)
    for line in telling(edit.new):
        if line.startswith(_CONDITIONS) and not there[line] and not scene.vocabulary.names_in([line]):
            return line
    return ""


def _unsaid_use(edit: Edit, scene: Scene, scope: str) -> str:
    """Return a line with a name that the edit brings which is like nothing that upstream newly has in the scope.

    Where upstream left the place itself alone only lines near it count: others are of a sibling branch or call.
    """
    there: Collection[str] = scene.counts(scene.new, scope) - scene.counts(scene.base, scope)
    if _is_untouched(edit, scene):
        there = _fresh_near(edit, scene)
    for line in telling(edit.new):
        if scene.vocabulary.names_in([line]) and not line.startswith(_CONDITIONS) and not is_alike(line, there):
            return line
    return ""


def _same_key(edit: Edit, scene: Scene) -> Outcome | None:
    """Each name that the edit sets (field, parameter, argument, flag) is newly set in the same scope upstream."""
    scope = scene.scope_of(edit)
    if not edit.new or not scene.has_scope(scope):
        return None
    gain = Counter(telling(edit.new)) - Counter(telling(scene.base.lines[edit.lo : edit.hi]))
    keys = {line: key_of(line) for line in gain}
    if not gain or keeps_replaced(edit, scene) or any(not key for key in keys.values()):
        return None
    wanted = set(keys.values())
    if not wanted <= scene.new_keys(scope):
        return None
    if len(wanted) < FEW_LINES and not wanted <= {key_of(line) for line in _fresh_near(edit, scene)}:
        return None
    return _drop(edit, f"upstream newly sets {', '.join(sorted(wanted))} in {scope} of {scene.path}")


def keeps_replaced(edit: Edit, scene: Scene) -> bool:
    """Whether upstream still has each line that the edit takes away: then it did not make this change here."""
    replaced = [at for at in range(edit.lo, edit.hi) if scene.base.telling[at]]
    return bool(replaced) and all(scene.alignment.keeps(at) for at in replaced)


def _fresh_near(edit: Edit, scene: Scene) -> set[str]:
    """Return what upstream newly says within a few lines of the edit's place."""
    return {scene.new.telling[at] for at in _fresh_at(edit, scene)}


def _fresh_at(edit: Edit, scene: Scene) -> list[int]:
    """Return the new text's lines that come from no old line and stand within a few lines of the edit's place."""
    low, high = scene.alignment.around(edit.lo, edit.hi)
    lo, hi = scene.alignment.new_index(low) + 1, scene.alignment.new_index(high)
    window = range(max(0, lo - NEAR), min(len(scene.new.lines), hi + NEAR))
    return [at for at in window if at in scene.fresh_lines]
