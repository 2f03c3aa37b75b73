"""The first-parent commits of a clone as a line of upstream states; their contents are read as they are asked for."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from patchkit.carry.nouns import Tree
from patchkit.upstream.clones import Commit
from patchkit.upstream.objects import ObjectStore

MOST_AHEAD = 64  # contents of one file that are read by one process


class Commits:
    """A line of commits. The first stands for the state before all others; its `changes` are its whole tree."""

    def __init__(self, commits: Sequence[Commit], objects: ObjectStore) -> None:
        self.commits = commits
        self._objects = objects
        self._contents: dict[str, bytes | None] = {}

    def __len__(self) -> int:
        return len(self.commits)

    @cached_property
    def _moves(self) -> dict[str, tuple[list[int], list[str]]]:
        """Each file's history: where it changes, and the ids that it then has."""
        moves: dict[str, tuple[list[int], list[str]]] = {}
        for at, commit in enumerate(self.commits):
            for path, blob in commit.changes.items():
                places, blobs = moves.setdefault(path, ([], []))
                places.append(at)
                blobs.append(blob)
        return moves

    def blob(self, at: int, path: str) -> str:
        """Return the id of a file's content; empty where there is no such file."""
        places, blobs = self._moves.get(path, ([], []))
        found = bisect_right(places, at)
        return blobs[found - 1] if found else ""

    def tree(self, at: int) -> Tree:
        """Return the whole state."""
        blobs: dict[str, str] = {}
        for commit in self.commits[: at + 1]:
            blobs.update(commit.changes)
        return _CommitTree({path: blob for path, blob in blobs.items() if blob}, self)

    def next_change(self, after: int, paths: Sequence[str]) -> int | None:
        """Return the first commit after this one that changes one of the files."""
        following = []
        for path in paths:
            places, _ = self._moves.get(path, ([], []))
            found = bisect_right(places, after)
            following += places[found : found + 1]
        return min(following, default=None)

    def texts(self, at: int, path: str) -> dict[str, bytes]:
        """Return the content that a file has here and in its next states, by its id."""
        places, blobs = self._moves.get(path, ([], []))
        first = max(bisect_right(places, at) - 1, 0)
        wanted = [blob for blob in dict.fromkeys(blobs[first : first + MOST_AHEAD]) if blob]
        return {blob: text for blob, text in zip(wanted, self._objects.read(wanted), strict=True) if text is not None}

    def contents(self, blobs: Sequence[str]) -> list[bytes | None]:
        """Return contents by their ids; each is read once, however many commits have it."""
        missing = [blob for blob in dict.fromkeys(blobs) if blob not in self._contents]
        self._contents.update(zip(missing, self._objects.read(missing), strict=True))
        return [self._contents[blob] for blob in blobs]


class _CommitTree:
    """The files of one commit."""

    def __init__(self, blobs: Mapping[str, str], line: Commits) -> None:
        self._blobs = blobs
        self._line = line

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None when there is no such file."""
        blob = self._blobs.get(path)
        return self._line.contents([blob])[0] if blob else None

    def paths(self) -> Sequence[str]:
        """Return all paths, sorted."""
        return sorted(self._blobs)

    def load(self, paths: Sequence[str]) -> None:
        """Fetch many files with one process."""
        self._line.contents([self._blobs[path] for path in paths if path in self._blobs])
