"""Import statements as sets of names: carry what an edit adds or takes away, wherever upstream keeps its imports."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from patchkit.carry.nouns import Action, Cause, Edit, Lines, Outcome, Piece, Source, Stage
from patchkit.carry.scene import Scene

LINE_LENGTH = 88  # a longer import is written over several lines

_FROM = re.compile(r"from\s+([\w.]+)\s+import\s+(.*)$")
_PLAIN = re.compile(r"import\s+([\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*)\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """One imported name: of a module, or (module "") a module itself. text: as written, with `as`."""

    module: str
    text: str

    @property
    def bound(self) -> str:
        """The name that the file gets."""
        return self.text.rpartition(" as ")[2].partition(".")[0]


@dataclass(frozen=True, slots=True)
class Statement:
    """One import statement at a file's top level: lines [lo:hi]."""

    lo: int
    hi: int
    names: tuple[Name, ...]


def read_imports(lines: Sequence[str]) -> list[Statement]:
    """Return the import statements that begin in the first column."""
    found = []
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at + 1
        match = _FROM.match(line)
        if match:
            body = match[2]
            if "(" in body and ")" not in body:
                while end < len(lines) and ")" not in lines[end]:
                    end += 1
                body = " ".join(_code(part) for part in (body, *lines[at + 1 : end + 1]))
                end += 1
            names = [Name(match[1], text) for text in _split(body)]
            found.append(Statement(at, end, tuple(names)))
        elif _PLAIN.match(line):
            names = [Name("", text) for text in _split(line.removeprefix("import "))]
            found.append(Statement(at, end, tuple(names)))
        at = end
    return found


@lru_cache(maxsize=512)
def imports_of(source: Source) -> tuple[Statement, ...]:
    """Return a file's import statements."""
    return tuple(read_imports(source.lines))


def imported_names(edit: Edit, scene: Scene) -> frozenset[str]:
    """Return the names that an edit imports newly, if it changes nothing but import statements."""
    return frozenset(name.bound for name in _delta(edit, scene)[0])


def carry_imports(edit: Edit, scene: Scene) -> Outcome | None:
    """Return an edit of import statements carried as names; None where it changes anything else."""
    added, removed = _delta(edit, scene)
    if not added and not removed:
        return None
    here = imports_of(scene.new)
    have = {name for statement in here for name in statement.names}
    if not here or removed & have:
        return None
    bound = {name.bound for name in have}
    missing = sorted(name for name in added if name not in have)
    if any(name.bound in bound for name in missing):
        return None
    if not missing:
        evidence = f"upstream imports {', '.join(sorted(name.bound for name in added))} in {scene.path}"
        return Outcome(edit, Action.DROPPED, Stage.SETS, (evidence,))
    pieces = tuple(_insertions(missing, _near(edit, scene, here), scene.new.lines, scene.path, edit.at))
    told = f"upstream rewrote the imports around it; carried as names: {', '.join(name.bound for name in missing)}"
    return Outcome(edit, Action.CARRIED, Stage.SETS, (told,), pieces, suspect=True, cause=Cause.OVERLAP)


def imported_elsewhere(outcome: Outcome, scene: Scene, library: object) -> str:
    """The edit imports a name that upstream newly imports in this file too."""
    names = imported_names(outcome.edit, scene)
    had = {name.bound for statement in imports_of(scene.base) for name in statement.names}
    for statement in imports_of(scene.new):
        for name in statement.names:
            if name.bound in names - had:
                return f"upstream newly imports {name.bound} in {scene.path}:{statement.lo + 1}"
    return ""


def _near(edit: Edit, scene: Scene, here: Sequence[Statement]) -> Sequence[Statement]:
    """Return the statements between the kept lines around the edit, where there are any; else all."""
    low, high = scene.alignment.around(edit.lo, edit.hi)
    lo, hi = scene.alignment.new_index(low), scene.alignment.new_index(high)
    near = [one for one in here if lo <= one.lo and one.hi <= hi + 1]
    modules = {name.module for name in _delta(edit, scene)[0]}
    return [*near, *(one for one in here if one not in near and one.names[0].module in modules)] if near else here


def import_of(name: str, source: Source) -> Name | None:
    """Return the import that binds a name in a file."""
    for statement in imports_of(source):
        for one in statement.names:
            if one.bound == name:
                return one
    return None


def insertion_of(name: Name, source: Source, path: str, order: int) -> Piece | None:
    """Return the piece that imports a name; None where the file has no import statement to stand by."""
    here = imports_of(source)
    return next(_insertions([name], here, source.lines, path, order), None) if here else None


def _delta(edit: Edit, scene: Scene) -> tuple[set[Name], set[Name]]:
    """Return the names that an edit adds and takes away; none where it changes more than import statements."""
    before = _touched(scene.base, edit.lo, edit.hi)
    after = _touched(scene.theirs, edit.at, edit.at + len(edit.new))
    if before is None or after is None:
        return set(), set()
    old = {name for statement in before for name in statement.names}
    new = {name for statement in after for name in statement.names}
    whole = {name for statement in imports_of(scene.base) for name in statement.names}
    kept = {name for statement in imports_of(scene.theirs) for name in statement.names}
    return new - whole, old - kept


def _touched(source: Source, lo: int, hi: int) -> list[Statement] | None:
    """Return the import statements that lines [lo:hi] are part of; None where a line is of something else."""
    statements = imports_of(source)
    touched = [one for one in statements if one.lo < hi and lo < one.hi]
    covered = {at for one in touched for at in range(one.lo, one.hi)}
    if any(source.lines[at].strip() and at not in covered for at in range(lo, hi)):
        return None
    return touched


def _insertions(
    names: Sequence[Name], here: Sequence[Statement], lines: Lines, path: str, order: int
) -> Iterator[Piece]:
    """Yield the pieces that add names: into the statement of their module, or as statements of their own."""
    for module in sorted({name.module for name in names}):
        wanted = [name for name in names if name.module == module]
        home = next((one for one in here if module and any(name.module == module for name in one.names)), None)
        if home is not None and home.hi - home.lo > 1:
            for name in wanted:
                at = _sorted_place(name, home, lines)
                yield Piece(path, at, at, (f"    {name.text},",), order)
        elif home is not None:
            yield Piece(path, home.lo, home.hi, _written(module, [*home.names, *wanted]), order)
        else:
            at = _place_of(module or wanted[0].text, bool(module), here)
            yield Piece(path, at, at, _written(module, wanted), order)


def _sorted_place(name: Name, home: Statement, lines: Lines) -> int:
    for at in range(home.lo + 1, home.hi - 1):
        if lines[at].strip() and lines[at].strip().rstrip(",") > name.text:
            return at
    return home.hi - 1


def _place_of(module: str, is_from: bool, here: Sequence[Statement]) -> int:
    """Return the line in front of which a new statement goes: sorted among the statements of its package."""
    package = module.partition(".")[0]
    group = [
        one for one in here if one.names and (one.names[0].module or one.names[0].text).partition(".")[0] == package
    ]
    like = group or [one for one in here if one.names and bool(one.names[0].module) == is_from] or list(here)
    first_run = [one for one in like if one.hi <= like[0].lo + 400]
    keys = [one.names[0].module or one.names[0].text for one in first_run if one.names]
    at = bisect_right(sorted(keys), module)
    if not group or keys != sorted(keys) or at == 0:
        return (first_run[0].lo if at == 0 and group else first_run[-1].hi) if group else _after_future(here)
    return first_run[at - 1].hi


def _after_future(here: Sequence[Statement]) -> int:
    last = [one for one in here if any(name.module == "__future__" for name in one.names)]
    first = [one for one in here if one not in last]
    return first[0].lo if first else last[-1].hi


def _written(module: str, names: Sequence[Name]) -> Lines:
    if not module:
        return tuple(f"import {name.text}" for name in names)
    texts = sorted({name.text for name in names})
    line = f"from {module} import {', '.join(texts)}"
    if len(line) <= LINE_LENGTH:
        return (line,)
    return (f"from {module} import (", *(f"    {text}," for text in texts), ")")


def _split(body: str) -> list[str]:
    return [
        " ".join(part.split()) for part in _code(body).replace("(", " ").replace(")", " ").split(",") if part.strip()
    ]


def _code(text: str) -> str:
    return text.partition("#")[0]
