"""CONFLICTS.md: for each hunk that waits for a person where to look, what is known, and what the hunk did."""

from collections.abc import Iterator, Mapping

from patchkit.carry.compose import OURS
from patchkit.carry.nouns import Action, Decision, Source
from patchkit.carry.report import conflict_of
from patchkit.patch.hunks import Hunk
from patchkit.rebasing.marks import marked_span
from patchkit.rebasing.opened import candidates, section_of
from patchkit.rebasing.steps import Move

_MOST = 60  # lines of a hunk that are shown; the patch has them all


def page_of(move: Move, source: str, shown: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the lines of the page. source: the pin that the hunks come from. shown: the files as they are laid open."""
    yield f"# Topic {move.former.topic}"
    yield ""
    yield (
        "Edit the files in `work/` until they are what the topic should make of the new upstream, "
        "take every conflict marker out, then run `patchkit rebase --continue`."
    )
    yield "A hunk of which nothing is left in `work/` is left out, and the report says so."
    yield 'What stands under "To look at" counts as read and accepted unless you edit its file.'
    yield "`patchkit rebase --skip` leaves the topic out, `--abort` ends the rebase."
    yield ""
    for title, decisions in (("Unresolved", move.unresolved), ("To look at", move.suspects)):
        if decisions:
            yield f"## {title}"
            yield ""
            for decision in decisions:
                yield from _entry(decision, move, source, shown)


def _entry(decision: Decision, move: Move, source: str, shown: Mapping[str, bytes]) -> Iterator[str]:
    cause = f" ({decision.cause.value})" if decision.cause.value else ""
    yield f"### {decision.path}#{decision.hunk}{cause}"
    yield ""
    if decision.scope:
        yield f"Scope: `{decision.scope}`"
    yield from (f"- {line}" for line in decision.evidence)
    hunk = _hunk(move, decision)
    yield from (f"- see `work/{place}`" for place in _places(decision, hunk, move, shown))
    if decision.action is Action.DROPPED:
        yield "- it is dropped: nothing of it is in `work/`"
    if hunk is not None:
        yield f"- what it did in {source}:"
        yield ""
        yield from _diff(hunk)
    yield ""


def _hunk(move: Move, decision: Decision) -> Hunk | None:
    hunks = section_of(move, decision.path).hunks
    return next((hunk for hunk in hunks if hunk.number == decision.hunk), None)


def _places(decision: Decision, hunk: Hunk | None, move: Move, shown: Mapping[str, bytes]) -> Iterator[str]:
    """Yield where to look: the conflict's markers, what the hunk added, or the files that its code may be in."""
    if decision.action is not Action.UNRESOLVED:
        text = shown.get(decision.to)
        line = _line_of(hunk, text) if hunk and text else 0
        if text is not None and decision.action is not Action.DROPPED:
            yield f"{decision.to}:{line}" if line else decision.to
        return
    for path in dict.fromkeys([decision.path, *candidates(decision)]):
        if path in shown:
            line = _marked_line(decision, move, shown[path]) if path == decision.path else 0
            yield f"{path}:{line}" if line else path


def _marked_line(decision: Decision, move: Move, text: bytes) -> int:
    lines = Source(text).lines
    for conflict in move.carried.conflicts:
        span = marked_span(lines, conflict_of(conflict))
        if span and (conflict.path, conflict.hunk) == (decision.path, decision.hunk):
            return span[0] + 1
    return next((at for at, line in enumerate(lines, start=1) if line.startswith(OURS)), 0)


def _line_of(hunk: Hunk, text: bytes) -> int:
    """Return the line at which a file has the lines that a hunk added; 0 if nowhere in one piece."""
    added = [line.removesuffix(b"\n") for line in hunk.added]
    lines = text.split(b"\n")
    if added:
        for at in range(len(lines) - len(added) + 1):
            if lines[at : at + len(added)] == added:
                return at + 1
    return 0


def _diff(hunk: Hunk) -> Iterator[str]:
    yield "```diff"
    for line in hunk.lines[:_MOST]:
        yield line.kind.value + line.text.decode("utf-8", "surrogateescape").removesuffix("\n")
    yield "```"
    if len(hunk.lines) > _MOST:
        yield f"and {len(hunk.lines) - _MOST} lines more."
