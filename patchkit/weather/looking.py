"""Look at all topics along a line, and find the commits behind their changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from patchkit.errors import CommandError
from patchkit.upstream.access import Access
from patchkit.upstream.clones import Commit, objects_of, read_line
from patchkit.weather.commits import Commits
from patchkit.weather.memory import Memory
from patchkit.weather.nouns import Line, Row
from patchkit.weather.outlook import Sky
from patchkit.weather.releases import Releases
from patchkit.weather.spread import Change, Watch

Culprits = dict[tuple[str, str, int, str], Commit]  # by topic, path, hunk and the release that has the new state


@dataclass
class Looker:
    """Looks at rows along lines, and remembers."""

    access: Access
    rows: list[Row]
    asked: int = 0
    notes: list[str] = field(default_factory=list)
    _memories: dict[str, Memory] = field(default_factory=dict)
    _skies: dict[int, Sky] = field(default_factory=dict)

    def everywhere(self, line: Releases) -> dict[str, list[Change]]:
        """Return the outlook of each topic at each place; place by place, so that topics share what is read."""
        watches = {row.topic: self._watch(row, line) for row in self.rows}
        found: dict[str, list[Change]] = {row.topic: [] for row in self.rows}
        for at, upstream in enumerate(line.upstreams):
            for topic, watch in watches.items():
                self.access.progress(f"weather: {topic} at {upstream.version}")
                found[topic].append(Change(at, watch.look(at)))
            self._finish(watches.values())
        self._skies.clear()
        return found

    def changes(self, line: Line, rows: Sequence[Row] | None = None) -> dict[str, list[Change]]:
        """Return each change of each topic."""
        found = {}
        for row in self.rows if rows is None else rows:
            self.access.progress(f"weather: {row.topic} over {len(line)} states")
            watch = self._watch(row, line)
            found[row.topic] = watch.changes()
            self._finish([watch])
        self._skies.clear()
        return found

    def _watch(self, row: Row, line: Line) -> Watch:
        if row.key not in self._memories:
            self._memories[row.key] = Memory(self.access.cache / "weather", row)
        return Watch(row, line, self._skies, self._memories[row.key])

    def _finish(self, watches: Iterable[Watch]) -> None:
        for watch in watches:
            self.asked += watch.asked
            watch.asked = 0
        for memory in self._memories.values():
            memory.save()


@dataclass
class Search:
    """Finds, between two releases, the commit that changed a hunk's state."""

    clone: Path
    looker: Looker

    def find(self, releases: Sequence[str], changes: dict[str, list[Change]]) -> Culprits:
        """Return the commits behind the changes from each release to the next."""
        found: Culprits = {}
        for at, (old, new) in enumerate(pairwise(releases)):
            rows = [
                row
                for row in self.looker.rows
                if changes[row.topic][at].outlook.states != changes[row.topic][at + 1].outlook.states
            ]
            if rows:
                found |= self._between(rows, old, new)
        return found

    def _between(self, rows: Sequence[Row], old: str, new: str) -> Culprits:
        try:
            commits = read_line(self.clone, f"v{old}", f"v{new}")
        except CommandError:
            self.looker.notes.append(f"no culprits from {old} to {new}: the clone lacks tag v{old} or v{new}")
            return {}
        found: Culprits = {}
        along = self.looker.changes(Commits(commits, objects_of(self.clone)), rows)
        for topic, changes in along.items():
            for before, after in pairwise(changes):
                for was, now in zip(before.outlook.sights, after.outlook.sights, strict=True):
                    if was.state is not now.state:
                        found[topic, now.path, now.number, new] = commits[after.at]  # the last one that did counts
        return found
