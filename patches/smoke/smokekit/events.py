"""One ordered log that all fakes of a test write to."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    what: str
    who: object = None


class EventLog(list[Event]):
    """What happened, in order. `who` is a request id where there is one."""

    def add(self, what: str, who: object = None) -> None:
        self.append(Event(what, who))

    def times(self, what: str, who: object = None) -> int:
        return self.count(Event(what, who))

    def of(self, who: object) -> list[str]:
        """Return what happened to one request."""
        return [event.what for event in self if event.who == who]

    def is_before(self, first: str, then: str, who: object = None) -> bool:
        """Say whether both happened to `who`, and the first of each in this order."""
        seen = self.of(who)
        return first in seen and then in seen and seen.index(first) < seen.index(then)
