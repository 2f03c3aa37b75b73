"""The outcome of `rebase`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from patchkit.model import UntilVerdict


@dataclass(frozen=True, slots=True)
class RebasedHunk:
    """Where one hunk ended. action: carried, moved, shrunk, dropped or unresolved. stage: what decided it.

    accepted: who has read the doubt about it and accepted it, and when. at: the pin of the leg that decided it; empty
    for a patch file.
    """

    path: str
    number: int
    action: str
    stage: str = ""
    to: str = ""
    suspect: bool = False
    cause: str = ""
    scope: str = ""
    evidence: tuple[str, ...] = ()
    accepted: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class RebasedTopic:
    """One topic. state: carried, dropped, skipped or stopped; empty for a patch file. counts: hunks by action.

    edited: the files in which a person changed more than the conflicts.
    """

    topic: str
    state: str
    counts: Mapping[str, int]
    hunks: tuple[RebasedHunk, ...]
    edited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rebase:
    """`rebase`: what became of every hunk. state: written, stopped, interrupted or aborted.

    legs: the pins that it goes through, both ends included; empty for a patch file.
    """

    verb: ClassVar[str] = "rebase"
    schema: ClassVar[int] = 1

    source: str
    target: str
    state: str
    topics: tuple[RebasedTopic, ...]
    written: str = ""
    work: str = ""
    next_step: str = ""
    until: tuple[UntilVerdict, ...] = ()
    legs: tuple[str, ...] = ()

    def before(self, pin: str) -> str:
        """Return the pin of the leg before; empty where there is none."""
        at = self.legs.index(pin) if pin in self.legs else 0
        return self.legs[at - 1] if at else ""

    @property
    def exit_code(self) -> int:
        """3 when a person must settle something."""
        unresolved = any(hunk.action == "unresolved" for topic in self.topics for hunk in topic.hunks)
        return 3 if unresolved or self.state == "stopped" else 0
