"""Has the class that an edit was followed into what the edit's `self.x` stand for?"""

from itertools import islice

from patchkit.carry.follow import Library
from patchkit.carry.nouns import Outcome, Source
from patchkit.carry.scene import Scene
from patchkit.carry.wording import chains, words
from patchkit.source.scopes import Definition

MOST_BASES = 12


def lacks_attribute(outcome: Outcome, scene: Scene, library: Library) -> str:
    """The edit's class became another one, which uses, sets or inherits no attribute of that name."""
    if not outcome.pieces:
        return ""
    used = chains(outcome.edit.new) - scene.vocabulary.brought - scene.vocabulary.attributes
    place = outcome.pieces[0]
    before, now = _class_at(scene.base, outcome.edit.lo), _class_at(scene.new, place.lo)
    if not used or before is None or now is None or (before.name == now.name and not scene.is_elsewhere):
        return ""
    known = set(_attributes(now, scene.new))
    for source, base in _bases(now, scene.new, library):
        known |= _attributes(base, source)
    missing = sorted(used - known)
    if missing:
        return f"{now.name} in {scene.path} has no self.{', self.'.join(missing[:3])}"
    return ""


def _class_at(source: Source, at: int) -> Definition | None:
    """Return the innermost class around a line."""
    around = [one for one in source.scopes.definitions if one.is_class and one.first <= at + 1 <= one.last + 1]
    return max(around, key=lambda one: one.first, default=None)


def _attributes(one: Definition, source: Source) -> frozenset[str]:
    """Return what a class uses of itself, defines, or sets in its body."""
    lines = source.lines[one.first - 1 : one.last]
    names = source.scopes.by_line[one.first - 1 : one.last]
    body = (
        line.partition("=")[0].partition(":")[0] for line, scope in zip(lines, names, strict=True) if scope == one.name
    )
    inner = {each.name.rpartition(".")[2] for each in source.scopes.definitions if each.name.startswith(one.name + ".")}
    return chains(lines) | words(body) | inner


def _bases(one: Definition, source: Source, library: Library) -> list[tuple[Source, Definition]]:
    """Return the classes that a class inherits from, as far as each name stands for one class of the new tree."""
    found: list[tuple[Source, Definition]] = []
    pending = [(source, one)]
    seen = {one.name}
    while pending and len(found) < MOST_BASES:
        where, current = pending.pop()
        for name in sorted(_named_bases(current, where) - seen):
            seen.add(name)
            sources = [where] if _class_named(name, where) else [text for _, text in islice(library.defining(name), 2)]
            base = _class_named(name, sources[0]) if len(sources) == 1 else None
            if base is not None:
                found.append((sources[0], base))
                pending.append((sources[0], base))
    return found


def _named_bases(one: Definition, source: Source) -> frozenset[str]:
    """Return the names in a class's header."""
    header: list[str] = []
    for line in source.lines[one.first - 1 : one.last]:
        if header or line.lstrip().startswith("class "):
            header.append(line)
            if line.rstrip().endswith(":"):
                break
    return words(header) - {"class", one.name.rpartition(".")[2]}


def _class_named(name: str, source: Source) -> Definition | None:
    return next((one for one in source.scopes.definitions if one.is_class and one.name == name), None)
