"""Releases in the object store as a line of upstream states."""

from collections.abc import Sequence

from patchkit.carry.nouns import Tree
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.upstream.bring import Upstream
from patchkit.upstream.objects import ObjectStore
from patchkit.upstream.trees import UpstreamTree


class Releases:
    """A line of releases."""

    def __init__(self, upstreams: Sequence[Upstream], objects: ObjectStore) -> None:
        self.upstreams = upstreams
        self._objects = objects
        self._blobs: dict[tuple[int, str], str] = {}

    def __len__(self) -> int:
        return len(self.upstreams)

    def blob(self, at: int, path: str) -> str:
        """Return the id of a file's content; empty where there is no such file."""
        if (at, path) not in self._blobs:
            self._learn([path])
        return self._blobs[at, path]

    def prime(self, paths: Sequence[str]) -> None:
        """Ask for the ids of many files at once."""
        self._learn([path for path in paths if (0, path) not in self._blobs])

    def tree(self, at: int) -> Tree:
        """Return the whole release."""
        return UpstreamTree(self.upstreams[at])

    def next_change(self, after: int, paths: Sequence[str]) -> int | None:
        """Return the next release: each is looked at."""
        return after + 1 if after + 1 < len(self) else None

    def texts(self, at: int, path: str) -> dict[str, bytes]:
        """Return the content that a file has here by its id."""
        content = self.upstreams[at].read([path])[path]
        return {} if content is None else {self.blob(at, path): content}

    def _learn(self, paths: Sequence[str]) -> None:
        asked = [(at, path) for at in range(len(self)) for path in paths]
        names = [f"{self.upstreams[at].tree}:{path.removeprefix(SOURCE_PREFIX)}" for at, path in asked]
        found = self._objects.ids(names)
        self._blobs.update({key: blob or "" for key, blob in zip(asked, found, strict=True)})
