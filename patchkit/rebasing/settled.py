"""What a person made of a topic that stopped: which hunks were settled or left out, and which doubts were accepted."""

from collections.abc import Collection
from typing import Any

from patchkit.carry.nouns import Action, Carried, Decision, Source, Stage
from patchkit.carry.report import report_of
from patchkit.rebasing.doubts import with_accepted
from patchkit.rebasing.ledger import Acceptance
from patchkit.rebasing.marks import marked_span, resolutions
from patchkit.rebasing.work import Stopped
from patchkit.series.drafts import Draft


def settled_report(stopped: Stopped, accepted: list[Acceptance], changed: Collection[str]) -> dict[str, Any]:
    """Return the report of a topic that a person has settled: nothing is unresolved any more.

    accepted: the doubts that count as read; another one was settled by editing what the engine had written.
    changed: the files that the topic changes now.
    """
    report = stopped.report
    settled = [_by_hand(one, is_left_out=_is_left_out(stopped, one, changed)) for one in report["unresolved"]]
    edited = {(one.path, one.number) for one in stopped.doubts} - {(one.path, one.number) for one in accepted}
    decisions = [
        {**one, "suspect": False, "stage": "by hand"} if (one["path"], one["hunk"]) in edited else one
        for one in report["decisions"]
    ]
    counts = {**report["counts"], "unresolved": 0}
    for one in settled:
        counts[one["action"]] += 1
    both = sorted([*decisions, *settled], key=lambda one: (one["path"], one["hunk"]))
    edited_files = sorted(path for path in stopped.texts if not _kept_all_else(stopped, path))
    done = {**report, "counts": counts, "unresolved": [], "decisions": both, "edited": edited_files}
    return with_accepted(done, {(one.path, one.number): one for one in accepted})


def skipped_report(draft: Draft) -> dict[str, Any]:
    """Return the report of a topic that a person left out: every hunk of it is dropped by hand."""
    assert draft.former is not None
    named = [(section.path, hunk.number) for section in draft.former.files for hunk in section.hunks]
    by_hand = "the topic was left out by hand"
    decisions = tuple(Decision(path, at, Action.DROPPED, Stage.HAND, path, evidence=(by_hand,)) for path, at in named)
    return {**report_of(Carried({}, {}, decisions)), "skipped": True}


def untouched_doubts(stopped: Stopped) -> list[Acceptance]:
    """Return the doubts about files in which a person changed nothing but conflicts: these results were accepted."""
    return [one for one in stopped.doubts if _kept_all_else(stopped, one.to)]


def _by_hand(one: dict[str, Any], *, is_left_out: bool) -> dict[str, Any]:
    return {
        "path": one["path"],
        "hunk": one["hunk"],
        "class": "",
        "action": "dropped" if is_left_out else "carried",
        "to": one["path"],
        "suspect": False,
        "stage": "by hand",
        "scope": "",
        "evidence": [f"left out; {one['reason']}" if is_left_out else one["reason"]],
    }


def _is_left_out(stopped: Stopped, hunk: dict[str, Any], changed: Collection[str]) -> bool:
    """Whether nothing of a hunk is in the settled files: upstream's side was taken, or no line of it is there."""
    own = [one for one in stopped.report["conflicts"] if (one["path"], one["hunk"]) == (hunk["path"], hunk["hunk"])]
    if not own:  # a change of a whole file
        return hunk["path"] not in changed
    taken = {_texts(conflict): result for conflict, result in resolutions(own, stopped.shown, stopped.texts)}
    return all(_is_upstreams(stopped, one, taken.get(_texts(one))) for one in own)


def _is_upstreams(stopped: Stopped, conflict: dict[str, Any], result: str | None) -> bool:
    if result is not None:
        return result.removesuffix("\n") == str(conflict["ours"])
    before, after = (Source(conflict[side].encode("utf-8", "surrogateescape")).said for side in ("base", "theirs"))
    added, removed = after - before, before - after
    if not added:
        return all(removed[line] <= _count(stopped, line) for line in removed)
    return not any(_count(stopped, line) > _count_shown(stopped, line) for line in added)


def _count(stopped: Stopped, line: str) -> int:
    return sum(Source(text).said[line] for text in stopped.texts.values() if text is not None)


def _count_shown(stopped: Stopped, line: str) -> int:
    return sum(Source(text).said[line] for text in stopped.shown.values())


def _texts(conflict: dict[str, Any]) -> tuple[str, str, str]:
    return conflict["base"], conflict["ours"], conflict["theirs"]


def _kept_all_else(stopped: Stopped, path: str) -> bool:
    """Whether a file is as it was shown, with its conflicts settled."""
    shown, now = stopped.shown.get(path), stopped.texts.get(path)
    if shown is None or now is None or shown == now:
        return shown == now
    lines = list(Source(shown).lines)
    for conflict, result in _from_below(stopped, path, lines):
        span = marked_span(lines, conflict)
        assert span is not None
        lines[span[0] : span[1]] = result.split("\n")[:-1]
    return tuple(lines) == Source(now).lines


def _from_below(stopped: Stopped, path: str, lines: list[str]) -> list[tuple[dict[str, Any], str]]:
    own = [one for one in stopped.report["conflicts"] if one["path"] == path]
    found = list(resolutions(own, stopped.shown, stopped.texts))
    return sorted(found, key=lambda pair: marked_span(lines, pair[0]) or (0, 0), reverse=True)
