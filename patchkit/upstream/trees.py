"""Upstream files for the rebase engine: from a directory, or from a tree in the object store."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from patchkit.carry.nouns import Tree
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.upstream.bring import Upstream

_NO_SOURCE = (".pyc", ".so", ".pyd")


class DirectoryTree:
    """A directory that holds python/sglang/ as the repository does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._read: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None when there is no such file. No path leaves the directory."""
        if path not in self._read:
            self._read[path] = self._load(path)
        return self._read[path]

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        found = []
        for folder, _, names in os.walk(self.directory / SOURCE_PREFIX):
            inside = os.path.relpath(folder, self.directory).replace(os.sep, "/")
            found += [f"{inside}/{name}" for name in names if not name.endswith(_NO_SOURCE)]
        return tuple(sorted(found))

    def paths(self) -> Sequence[str]:
        """Return the paths below python/sglang/, sorted."""
        return self._paths

    def load(self, paths: Sequence[str]) -> None:
        """Do nothing: a directory is read file by file."""

    def _load(self, path: str) -> bytes | None:
        parts = path.split("/")
        if path.startswith("/") or ".." in parts or not (self.directory / path).is_file():
            return None
        return (self.directory / path).read_bytes()


class UpstreamTree:
    """A release in the object store."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self._read: dict[str, bytes | None] = {}

    def load(self, paths: Sequence[str]) -> None:
        """Read many files with one process."""
        missing = [path for path in paths if path not in self._read]
        if missing:
            self._read.update(self.upstream.read(missing))

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None when there is no such file."""
        self.load([path])
        return self._read[path]

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.upstream.entries()))

    def paths(self) -> Sequence[str]:
        """Return the paths below python/sglang/, sorted."""
        return self._paths


class LayeredTree:
    """A tree with some files replaced, added or (None) taken away: what topics before this one made of it."""

    def __init__(self, below: Tree, files: Mapping[str, bytes | None]) -> None:
        self.below = below
        self.files = files

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None when there is no such file."""
        return self.files[path] if path in self.files else self.below.read(path)

    def load(self, paths: Sequence[str]) -> None:
        """Fetch many files at once."""
        self.below.load([path for path in paths if path not in self.files])

    def paths(self) -> Sequence[str]:
        """Return all paths, sorted."""
        known = {*self.below.paths(), *self.files}
        return sorted(path for path in known if self.files.get(path, b"") is not None)
