"""The names of an upstream tree: its words and its definitions, read once a tree and kept beside the object store."""

import os
import re
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream

_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
_DEFINITION = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_STORE = re.compile(rb"(\bself)?\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)|setattr\([^\n]*?[\"'](\w+)[\"']")
_HEIR = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^)]*)\)", re.MULTILINE)
_SECTIONS = ("paths", "words", "stores", "outer", "definitions", "heirs")
_FEW = 100  # files that are read one by one; whoever asks for more reads them all
_FORMAT = 3  # raised when the text below changes


class NameIndex:
    """Answers what the rules ask about a tree as a whole.

    list_sources: returns every Python file; slow.
    kept_at: where the names are kept between runs, with the files that were read the last time, so that the next
    run fetches them at once. None for a tree that has no id.
    """

    def __init__(
        self,
        read: Callable[[Iterable[str]], Mapping[str, bytes | None]],
        list_sources: Callable[[], Mapping[str, bytes]],
        kept_at: Path | None = None,
    ) -> None:
        self._fetch = read
        self._list_sources = list_sources
        self._kept_at = kept_at
        self._contents: dict[str, bytes | None] = {}
        self._asked: set[str] = set()

    @classmethod
    def of(cls, upstream: Upstream, access: Access) -> "NameIndex":
        """Return the index of a tree in the object store."""

        def list_sources() -> Mapping[str, bytes]:
            paths = [path for path in upstream.entries() if path.endswith(".py")]
            return {path: text for path, text in upstream.read(paths).items() if text is not None}

        return cls(upstream.read, list_sources, access.cache / "names" / f"{upstream.tree}.{_FORMAT}")

    def prime(self, contents: Mapping[str, bytes | None]) -> None:
        """Take in files that were read already."""
        self._contents.update(contents)

    def read(self, path: str) -> bytes | None:
        """Return a file of the unpatched tree; None where there is none."""
        if path not in self._contents:
            if path.endswith(".py") and not self._has(path):
                return None  # an import asks for several, of which one is there
            if not self._asked:
                self._contents.update(self._fetch(self._read_last_time()))
            self._asked.add(path)
            if len(self._asked) > _FEW:
                self._contents.update(self.sources())
            if path not in self._contents:
                self._contents.update(self._fetch([path]))
        return self._contents[path]

    def keep(self) -> None:
        """Remember which files were read one by one, for the next run."""
        if self._kept_at is not None and not self._asked <= (known := self._read_last_time()):
            _write(self._kept_at.with_suffix(".read"), "\n".join(sorted(self._asked | known)).encode())

    def _read_last_time(self) -> set[str]:
        if self._kept_at is None:
            return set()
        try:
            return set(self._kept_at.with_suffix(".read").read_text().split("\n"))
        except FileNotFoundError:
            return set()

    def _has(self, path: str) -> bool:
        return b"\n" + os.fsencode(path) + b"\n" in self._names["paths"]

    def has_word(self, word: str) -> bool:
        """Whether the identifier stands anywhere in the Python files of the unpatched tree."""
        return word.encode() in self._words

    def is_stored(self, attribute: str) -> bool:
        """Whether some line of the unpatched tree assigns an attribute of this name, on whatever object."""
        return b"\n" + attribute.encode() + b"\n" in self._names["stores"]

    def is_stored_from_outside(self, attribute: str) -> bool:
        """Whether some line of the unpatched tree assigns an attribute of this name, on an object other than `self`."""
        return b"\n" + attribute.encode() + b"\n" in self._names["outer"]

    def definitions(self, name: str) -> tuple[tuple[str, int], ...]:
        """Return (path, line) of each class or function of this bare name."""
        found = _entries_of(self._definitions, name)
        return tuple((os.fsdecode(path), int(line)) for path, line in found)

    def heirs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return (path, name) of each class that names this one as a base."""
        found = _entries_of(self._heirs, name)
        return tuple((os.fsdecode(path), heir.decode()) for path, heir in found)

    @cached_property
    def _words(self) -> frozenset[bytes]:
        return frozenset(self._names["words"].split(b"\n"))

    @cached_property
    def _definitions(self) -> Sequence[bytes]:
        return self._names["definitions"].split(b"\n")[1:-1]

    @cached_property
    def _heirs(self) -> Sequence[bytes]:
        return self._names["heirs"].split(b"\n")[1:-1]

    def sources(self) -> Mapping[str, bytes]:
        """Return every Python file of the unpatched tree."""
        return self._sources

    @cached_property
    def _sources(self) -> Mapping[str, bytes]:
        return self._list_sources()

    @cached_property
    def _names(self) -> Mapping[str, bytes]:
        if self._kept_at is not None and self._kept_at.is_file():
            return dict(zip(_SECTIONS, self._kept_at.read_bytes().split(b"\0"), strict=True))
        names = _read_names(self._sources)
        if self._kept_at is not None:
            _write(self._kept_at, b"\0".join(names[section] for section in _SECTIONS))
        return names


def _entries_of(lines: Sequence[bytes], name: str) -> Iterator[list[bytes]]:
    """Yield what stands behind the name on each of its lines, which are sorted: a release asks for 10,000 names."""
    key = name.encode() + b"\t"
    at = bisect_left(lines, key)
    while at < len(lines) and lines[at].startswith(key):
        yield lines[at].split(b"\t")[1:]
        at += 1


def _read_names(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return each section as sorted lines: text that is searched as it is, with nothing to be parsed."""
    found: dict[str, set[bytes]] = {section: set() for section in _SECTIONS}
    for file, text in sources.items():
        path = os.fsencode(file)
        found["paths"].add(path)
        found["words"].update(_WORD.findall(text))
        for match in _STORE.finditer(text):
            found["stores"].add(name := match[2] or match[3])
            if match[1] != b"self":
                found["outer"].add(name)
        for match in _DEFINITION.finditer(text):
            line = text.count(b"\n", 0, match.start(1)) + 1
            found["definitions"].add(b"%s\t%s\t%d" % (match[1], path, line))
        for match in _HEIR.finditer(text):
            found["heirs"].update(b"%s\t%s\t%s" % (base, path, match[1]) for base in _WORD.findall(match[2]))
    return {section: b"\n" + b"\n".join(sorted(found[section])) + b"\n" for section in _SECTIONS}


def _write(path: Path, content: bytes) -> None:
    """Write the file in one step; two at once write the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as spool:
        spool.write(content)
    os.replace(spool.name, path)
