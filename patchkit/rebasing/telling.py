"""What a rebase shows of its topics: where every hunk ended, over all the releases that it went through."""

from collections.abc import Mapping, Sequence
from typing import Any

from patchkit.rebasing.finish import TopicResult
from patchkit.results.rebase import RebasedHunk, RebasedTopic

_PASSING = ("unchanged", "merge")  # carried so at a release between, a hunk only passed through it


def tell_topics(by_leg: Mapping[str, Sequence[TopicResult]]) -> list[RebasedTopic]:
    """Return one entry a topic, in the order of the series: how it left its last leg, and what came before."""
    told: dict[str, RebasedTopic] = {}
    for leg, results in by_leg.items():
        for topic, patch, report in results:
            state = "skipped" if report.get("skipped") else "carried" if patch else "dropped"
            told[topic] = _joined(told.get(topic), tell_topic(topic, state, leg, report))
    return list(told.values())


def tell_stopped(told: list[RebasedTopic], topic: str, leg: str, report: dict[str, Any]) -> list[RebasedTopic]:
    """Return the entries with the one of the topic that waits for a person."""
    before = next((one for one in told if one.topic == topic), None)
    now = _joined(before, tell_topic(topic, "stopped", leg, report))
    return [now if one is before else one for one in told] if before else [*told, now]


def tell_topic(topic: str, state: str, leg: str, report: dict[str, Any]) -> RebasedTopic:
    """Return the entry of a topic at one leg, out of its report."""
    hunks = [
        RebasedHunk(
            path=one["path"],
            number=one["hunk"],
            action=one["action"],
            stage=one["stage"],
            to=one["to"],
            suspect=one["suspect"],
            cause=one["class"],
            scope=one["scope"],
            evidence=tuple(one["evidence"]),
            accepted=one.get("accepted", ""),
            at=leg,
        )
        for one in report["decisions"]
    ]
    hunks += [
        RebasedHunk(path=one["path"], number=one["hunk"], action="unresolved", evidence=(one["reason"],), at=leg)
        for one in report.get("unresolved", ())
    ]
    return RebasedTopic(topic, state, report["counts"], tuple(hunks), tuple(report.get("edited", ())))


def _joined(before: RebasedTopic | None, now: RebasedTopic) -> RebasedTopic:
    """Return a topic after one leg more: what it passed is forgotten, what was decided about it is not."""
    if before is None:
        return now
    kept = tuple(one for one in before.hunks if one.action != "carried" or one.accepted or one.stage not in _PASSING)
    counts = dict(now.counts)
    for action in ("dropped", "hunks"):  # the hunks dropped before are no longer among those of this leg
        counts[action] = counts.get(action, 0) + before.counts.get("dropped", 0)
    edited = tuple(dict.fromkeys([*before.edited, *now.edited]))
    return RebasedTopic(now.topic, now.state, counts, (*kept, *now.hunks), edited)
