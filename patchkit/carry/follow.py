"""Find where code went: the same definition elsewhere in its file, or in another file of the new tree."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from patchkit.carry.nouns import Edit, Source, Tree
from patchkit.carry.scene import Region, Scene
from patchkit.carry.wording import telling
from patchkit.scopes import MODULE, Definition

LEAST_KEPT = 0.5  # share of a definition's telling lines that its new home must have
LEAST_LINES = 2
MOST_FILES = 24  # a name that more files define says nothing about where one of them went


class Library:
    """The new tree's Python files, searched for definitions; read once, when first asked."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._texts: dict[str, Source] | None = None
        self._words: dict[str, bool] = {}
        self._single: dict[str, Source] = {}

    def source(self, path: str) -> Source:
        """Return a file's text; an empty one where there is no such file."""
        if path not in self._single:
            self._single[path] = Source(self.tree.read(path) or b"")
        return self._single[path]

    def defining(self, name: str) -> Iterator[tuple[str, Source]]:
        """Yield each file that has a `def` or `class` of this name."""
        for path, source in self._all().items():
            data = source.data
            wanted = name.encode("utf-8", "surrogateescape")
            if any(word + wanted + end in data for word in (b"def ", b"class ") for end in (b"(", b":")):
                yield path, source

    def has_word(self, word: str) -> bool:
        """Whether an identifier occurs anywhere in the new tree."""
        if word not in self._words:
            plain = word.encode("utf-8", "surrogateescape")
            wanted = re.compile(rb"\b" + re.escape(plain) + rb"\b")
            self._words[word] = any(
                wanted.search(source.data) is not None for source in self._all().values() if plain in source.data
            )
        return self._words[word]

    def _all(self) -> dict[str, Source]:
        if self._texts is None:
            self._texts = {}
            paths = [path for path in self.tree.paths() if path.endswith(".py")]
            self.tree.load(paths)
            for path in paths:
                data = self.tree.read(path)
                if data is not None:
                    self._texts[path] = Source(data)
        return self._texts


def homes(edit: Edit, scene: Scene, library: Library) -> list[Scene]:
    """Return the scenes in which an edit may be tried, the likeliest first: in its file, then in others."""
    own = scene.scope_of(edit)
    if own == MODULE:
        return []
    for scope in _outward(own):
        old = _definition(scene.base, scope)
        if old is None:
            continue
        found = [_scene(scene, old, home) for home in _homes_of(old, scene, library)]
        if found:
            return found
    return []


def successors(base: Source, path: str, library: Library) -> dict[str, int]:
    """Return the files of the new tree that have top-level definitions of an old file, and how many."""
    counts: dict[str, int] = {}
    for definition in base.scopes.definitions:
        if "." in definition.name:
            continue
        for where, _ in library.defining(definition.name):
            if where != path:
                counts[where] = counts.get(where, 0) + 1
    return counts


def _outward(scope: str) -> Iterator[str]:
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]


def _definition(source: Source, name: str) -> Definition | None:
    return next((one for one in source.scopes.definitions if one.name == name), None)


def _homes_of(old: Definition, scene: Scene, library: Library) -> list[tuple[str, Source, Definition]]:
    """Return the definitions that an old one became: itself in its file, else its likest namesakes elsewhere."""
    same = _definition(scene.new, old.name)
    if same is not None:
        return [(scene.path, scene.new, same)]
    wanted = telling(scene.base.lines[old.first - 1 : old.last])
    if len(wanted) < LEAST_LINES:
        return []
    outermost, last = (_plain_name(part) for part in (old.name.partition(".")[0], old.name.rpartition(".")[2]))
    for name in dict.fromkeys((outermost, last)):
        files = list(islice(library.defining(name), MOST_FILES + 1))
        if len(files) > MOST_FILES:
            continue
        scored = list(_namesakes(old, wanted, files))
        best = max((share for share, _ in scored), default=0.0)
        if best >= LEAST_KEPT:
            return [home for share, home in scored if share == best]
    return []


def _namesakes(
    old: Definition, wanted: Sequence[str], files: Sequence[tuple[str, Source]]
) -> Iterator[tuple[float, tuple[str, Source, Definition]]]:
    """Yield the definitions of the same name, with the share of the old one's lines that they have."""
    last = _plain_name(old.name.rpartition(".")[2])
    for path, source in files:
        for one in source.scopes.definitions:
            if _plain_name(one.name.rpartition(".")[2]) == last and one.is_class == old.is_class:
                yield _share(wanted, telling(source.lines[one.first - 1 : one.last])), (path, source, one)


def _plain_name(name: str) -> str:
    return name.partition("#")[0]


def _share(wanted: Sequence[str], having: Sequence[str]) -> float:
    present = set(having)
    return sum(line in present for line in wanted) / len(wanted)


def _scene(scene: Scene, old: Definition, home: tuple[str, Source, Definition]) -> Scene:
    path, source, new = home
    region = Region(old.name, old.first - 1, old.last, new.name, new.first - 1, new.last)
    return replace(scene, path=path, new=source, region=region)
