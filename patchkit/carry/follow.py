"""Find where code went: the same definition elsewhere in its file, or in another file of the new tree."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from types import MappingProxyType

from patchkit.carry.nouns import Edit, Source, Tree
from patchkit.carry.scene import Region, Scene
from patchkit.carry.wording import telling
from patchkit.source.scopes import MODULE, Definition

LEAST_KEPT = 0.5  # share of a definition's telling lines that its new home must have
LEAST_LINES = 2
SAMPLED_LENGTH = 20
SAMPLED_LINES = 24  # so many of a gone definition's rarest lines are looked for in all files
MOST_FILES = 24  # a name that more files define says nothing about where one of them went

_DEFINES = (b"def ", b"class ")
_NAME = re.compile(rb"\w*")


class Library:
    """A tree's Python files, searched for definitions; read once, when first asked."""

    def __init__(self, tree: Tree, known: Mapping[str, Source] = MappingProxyType({})) -> None:
        """known: files of the tree that are read already; each is parsed only once."""
        self.tree = tree
        self._texts: dict[str, Source] | None = None
        self._words: dict[str, bool] = {}
        self._single = dict(known)
        self.known_homes: dict[tuple[int, int, str], list[Home]] = {}

    def source(self, path: str) -> Source:
        """Return a file's text; an empty one where there is no such file."""
        if path not in self._single:
            self._single[path] = Source(self.tree.read(path) or b"")
        return self._single[path]

    def defining(self, name: str) -> Iterator[tuple[str, Source]]:
        """Yield each file that has a `def` or `class` of this name."""
        for path in self._defined.get(name.encode("utf-8", "surrogateescape"), ()):
            yield path, self._all()[path]

    def holding(self, said: Sequence[str]) -> list[tuple[str, Source]]:
        """Return the files that hold most of some lines: all that have at least half as many as the best."""
        wanted = [line.encode("utf-8", "surrogateescape") for line in said if len(line) >= SAMPLED_LENGTH]
        counts = {path: sum(line in source.data for line in wanted) for path, source in self._all().items()}
        most = max(counts.values(), default=0)
        if most < LEAST_LINES:
            return []
        return [(path, self._all()[path]) for path, count in counts.items() if 2 * count >= most][:MOST_FILES]

    def has_word(self, word: str) -> bool:
        """Whether an identifier occurs anywhere in the new tree."""
        if word not in self._words:
            plain = word.encode("utf-8", "surrogateescape")
            wanted = re.compile(rb"\b" + re.escape(plain) + rb"\b")
            self._words[word] = any(
                wanted.search(source.data) is not None for source in self._all().values() if plain in source.data
            )
        return self._words[word]

    @cached_property
    def _defined(self) -> dict[bytes, list[str]]:
        """The files that define each name, in order; a word after `def` in a comment does no harm."""
        found: dict[bytes, list[str]] = {}
        for path, source in self._all().items():
            for word in _DEFINES:
                for rest in source.data.split(word)[1:]:
                    name = _NAME.match(rest)
                    paths = found.setdefault(name[0] if name else b"", [])
                    if paths[-1:] != [path]:
                        paths.append(path)
        return found

    def _all(self) -> dict[str, Source]:
        if self._texts is None:
            self._texts = {}
            paths = [path for path in self.tree.paths() if path.endswith(".py")]
            self.tree.load(paths)
            for path in paths:
                if self.tree.read(path) is not None:
                    self._texts[path] = self.source(path)
        return self._texts


Home = tuple[str, Source, Definition]


def homes(edit: Edit, scene: Scene, library: Library) -> list[Scene]:
    """Return the scenes in which an edit may be tried: its scope in its file, else where it went; ties give several."""
    own = scene.scope_of(edit)
    while own != MODULE:
        old = _definition(scene.base, own)
        if old is not None:
            found = [_scene(scene, old, home) for home in _homes_of(old, scene, library)]
            if found:
                return found
        own = own.rpartition(".")[0] or MODULE
    return []


def successors(scene: Scene, library: Library) -> list[str]:
    """Return the files that an old file's top-level code is in now, the one with most of it first; a tie gives none."""
    votes: Counter[str] = Counter()
    for one in scene.base.scopes.definitions:
        if "." not in one.name:
            found = _homes_of(one, scene, library)
            if len(found) == 1 and found[0][0] != scene.path:
                votes[found[0][0]] += one.last - one.first + 1
    best = votes.most_common()
    return [path for path, _ in best] if len(best) == 1 or (len(best) > 1 and best[0][1] > best[1][1]) else []


def _definition(source: Source, name: str) -> Definition | None:
    return next((one for one in source.scopes.definitions if one.name == name), None)


def _homes_of(old: Definition, scene: Scene, library: Library) -> list[Home]:
    """Return the definitions that an old one became: itself in its file, else its likest elsewhere."""
    key = (id(scene.base), id(scene.new), old.name)
    if key not in library.known_homes:
        library.known_homes[key] = _search(old, scene, library)
    return library.known_homes[key]


def _search(old: Definition, scene: Scene, library: Library) -> list[Home]:
    same = _definition(scene.new, old.name)
    if same is not None:
        return [(scene.path, scene.new, same)]
    wanted = telling(scene.base.lines[old.first - 1 : old.last])
    if len(wanted) < LEAST_LINES:
        return []
    outer = old.name.rpartition(".")[0]
    parent = _definition(scene.base, outer)
    parents = _homes_of(parent, scene, library) if parent is not None else []
    return (
        [home for one in parents for home in _same_inside(one, old)]
        or _best(_namesakes(old, wanted, library))
        or [home for one in parents for home in _alike_inside(one, wanted)]
        or ([] if outer else _alike(old, scene, wanted, library))
    )


def _same_inside(parent: Home, old: Definition) -> list[Home]:
    """Return the method of the same name in what its class became."""
    path, source, new = parent
    last = _last_name(old)
    same = [one for one in source.scopes.definitions if one.name.startswith(new.name + ".") and _last_name(one) == last]
    return [(path, source, same[0])] if len(same) == 1 else []


def _alike_inside(parent: Home, wanted: Sequence[str]) -> list[Home]:
    """Return the method of another name in what its class became that has most of its lines."""
    path, source, new = parent
    below = [one for one in source.scopes.definitions if one.name.startswith(new.name + ".")]
    return _best([(_share(wanted, _said(source, one)), (path, source, one)) for one in below])


def _alike(old: Definition, scene: Scene, wanted: Sequence[str], library: Library) -> list[Home]:
    """Return the definition under another name that has most of a gone one's lines."""
    rare = sorted({line for line in wanted if scene.base.said[line] == 1}, key=lambda line: (-len(line), line))
    files = library.holding(rare[:SAMPLED_LINES])
    scored = [
        (_share(wanted, _said(source, one)), (path, source, one))
        for path, source in files
        for one in source.scopes.definitions
        if one.is_class == old.is_class
    ]
    return _best(scored)


def _best(scored: Sequence[tuple[float, Home]]) -> list[Home]:
    top = max((share for share, _ in scored), default=0.0)
    return [home for share, home in scored if share == top] if top >= LEAST_KEPT else []


def _said(source: Source, one: Definition) -> list[str]:
    return [line for line in source.telling[one.first - 1 : one.last] if line]


def _namesakes(old: Definition, wanted: Sequence[str], library: Library) -> list[tuple[float, Home]]:
    """Return the definitions of the same name anywhere, with the share of the old one's lines that they have."""
    last = _last_name(old)
    if last.startswith("__") and last.endswith("__"):
        return []
    files = list(islice(library.defining(last), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        return []
    return [
        (_share(wanted, _said(source, one)), (path, source, one))
        for path, source in files
        for one in source.scopes.definitions
        if _last_name(one) == last and one.is_class == old.is_class
    ]


def _last_name(one: Definition) -> str:
    return one.name.rpartition(".")[2].partition("#")[0]


def _share(wanted: Sequence[str], having: Sequence[str]) -> float:
    present = set(having)
    return sum(line in present for line in wanted) / len(wanted)


def _scene(scene: Scene, old: Definition, home: Home) -> Scene:
    path, source, new = home
    region = Region(old.name, old.first - 1, old.last, new.name, new.first - 1, new.last)
    return replace(scene, path=path, new=source, region=region, is_elsewhere=path != scene.path)
