"""The outlooks of a topic along a line, from each place at which one begins to hold."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.errors import CommandError
from patchkit.patch.patchtext import split_lines
from patchkit.patch.place import place_hunks
from patchkit.weather.memory import Memory
from patchkit.weather.nouns import Line, Outlook, Row
from patchkit.weather.outlook import Sky


@dataclass(frozen=True, slots=True)
class Change:
    """An outlook, and the first place on the line at which it holds."""

    at: int
    outlook: Outlook


class Watch:
    """Looks at one topic along a line. asked: how often the engine had to be asked."""

    def __init__(self, row: Row, line: Line, skies: dict[int, Sky], memory: Memory) -> None:
        self._row = row
        self._line = line
        self._skies = skies
        self._memory = memory
        self._paths = row.paths
        self.asked = 0

    def everywhere(self) -> list[Change]:
        """Return the outlook at every place of the line."""
        return [Change(at, self.look(at)) for at in range(len(self._line))]

    def changes(self) -> list[Change]:
        """Return each change of a state, in order, the first place included.

        The engine is asked where a file changes in a way that the topic's lines can see: another of them, or one
        fewer, stands there, or stands elsewhere than before. Where its answer changes, every commit back to the
        last answer is suspected, and the one that did it is found by halving.
        """
        found = [Change(0, self.look(0))]
        seen = 0  # the last place that was looked at, or that cannot differ from it
        at = self._line.next_change(0, self._watched(found[-1]))
        while at is not None:
            following = self._line.next_change(at, self._watched(found[-1]))
            watched = self._watched(found[-1])
            if following is None or self._sign(at, watched) != self._sign(at - 1, watched):
                found += self._between(found[-1].outlook, seen, at)
                seen = at
            at = self._line.next_change(at, self._watched(found[-1]))
        return found

    def look(self, at: int) -> Outlook:
        """Return the outlook at one place; remembered by the ids of the files that decide."""

        def blob(path: str) -> str:
            return self._line.blob(at, path)

        outlook = self._memory.find(blob)
        if outlook is None:
            if at not in self._skies:
                self._skies.clear()  # one state's files are enough to hold
                self._skies[at] = Sky(self._line.tree(at))
            outlook = self._skies[at].look(self._row)
            self.asked += 1
            self._memory.add(blob, outlook)
        return outlook

    def _between(self, before: Outlook, low: int, high: int) -> list[Change]:
        """Return the changes after `low`, where `before` holds, up to `high`."""
        after = self.look(high)
        if after.states == before.states:
            return []
        paths = sorted({*self._paths, *before.outside, *after.outside})
        places = [low]
        while (at := self._line.next_change(places[-1], paths)) is not None and at < high:
            places.append(at)
        return self._halve(before, [*places, high], after)

    def _halve(self, before: Outlook, places: list[int], after: Outlook) -> list[Change]:
        if after.states == before.states:
            return []
        if len(places) == 2:
            return [Change(places[1], after)]
        middle = len(places) - 2  # most often it was the last one; then halves
        if self.look(places[middle]).states != before.states:
            middle = len(places) // 2
        between = self.look(places[middle])
        return [
            *self._halve(before, places[: middle + 1], between),
            *self._halve(between, places[middle:], after),
        ]

    def _watched(self, last: Change) -> list[str]:
        return [*self._paths, *last.outlook.outside]

    def _sign(self, at: int, paths: Sequence[str]) -> str:
        """Return what the topic's lines can see of the files, without asking the engine."""
        return " ".join(self._sign_of(at, path) for path in paths)

    def _sign_of(self, at: int, path: str) -> str:
        blob = self._line.blob(at, path)
        if not blob:
            return "-"
        if not self._memory.sign(path, blob):
            texts = self._line.texts(at, path)
            if blob not in texts:
                raise CommandError(f"the content of {path} is not here", found=blob, hint="is the clone a partial one?")
            for found, text in texts.items():
                self._memory.add_sign(path, found, self._read_sign(path, text))
        return self._memory.sign(path, blob)

    def _read_sign(self, path: str, text: bytes) -> str:
        lines = split_lines(text)
        there = {line.strip() for line in lines}
        digest = hashlib.sha256()
        for row in (*self._row.below, self._row):
            for section in row.sections:
                for hunk in section.hunks:
                    digest.update(bytes(line.text.strip() in there for line in hunk.lines))
                if path == section.old_path:
                    placements = place_hunks(section.hunks, lines, twins=False)
                    digest.update(" ".join(placement.place for placement in placements).encode())
        return digest.hexdigest()[:16]
