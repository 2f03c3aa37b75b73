"""`status`: pins, topics, what is stale, and the next step."""

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from patchkit.errors import ConfigError, PatchkitError
from patchkit.model import Topic, UntilVerdict
from patchkit.rebasing.state import find_state
from patchkit.results.status import PinStatus, Status, TopicStatus
from patchkit.series.worktree import edit_folder, is_untouched, open_edits
from patchkit.store import (
    MANIFEST,
    latest_pin,
    pin_folder,
    pin_names,
    read_manifest,
    read_pin,
    read_series_names,
    read_topics,
    read_version,
)
from patchkit.until import judge_until
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_version, kept_versions
from patchkit.upstream.index import listed_versions
from patchkit.versions import order


def tell_status(root: Path, access: Access, *, today: date, topic: str | None = None) -> Status:
    """Return what the store holds, how far it is behind upstream, and what to do next.

    topic: tell of this one alone.
    """
    topics = read_topics(root)
    if topic is not None and topic not in topics:
        raise ConfigError(
            f"there is no topic {topic}", where="patches/topics.toml", found=f"topics: {', '.join(topics)}"
        )
    carried = _carried(root)
    latest = latest_pin(root)
    newest = _newest_upstream(access)
    kept = kept_versions(access.objects)
    cached = set(kept)
    edits = [pin for pin in open_edits(root) if not is_untouched(edit_folder(root, pin))]
    judged_at = kept[-1] if kept and any(each.until for each in topics.values()) else ""
    verdicts = tuple(_judge(topics.values(), judged_at, access, today)) if judged_at else ()
    return Status(
        topic=topic or "",
        version=_version(root),
        latest=latest,
        newest_upstream=newest,
        pins=tuple(_pin_status(root, pin, carried[pin], cached) for pin in carried),
        topics=tuple(_topic_status(each, carried) for each in topics.values() if topic in (None, each.name)),
        next_step=_next_step(root, latest, newest, edits),
        edits=tuple(edits),
        todos=tuple(name for name, each in topics.items() if _has_todo(each)),
        until=verdicts,
        judged_at=judged_at,
    )


def tell_topics(root: Path) -> tuple[list[str], list[TopicStatus]]:
    """Return every pin and every topic with the pins that carry it. Asks nobody outside the store."""
    carried = _carried(root)
    return list(carried), [_topic_status(topic, carried) for topic in read_topics(root).values()]


def _carried(root: Path) -> dict[str, list[str]]:
    return {pin: [name.removesuffix(".patch") for name in read_series_names(root, pin)] for pin in pin_names(root)}


def _version(root: Path) -> str:
    """Return the nightly tag, or nothing in a store that has not been given one yet."""
    try:
        return str(read_version(root))
    except ConfigError:
        return ""


def _newest_upstream(access: Access) -> str:
    """Return the newest release, or nothing where the index does not answer: status works without a network."""
    try:
        return f"v{listed_versions(access)[0]}"
    except PatchkitError:
        return ""


def _pin_status(root: Path, pin: str, topics: list[str], cached: set[str]) -> PinStatus:
    try:
        files = read_manifest(root, pin).files
    except ConfigError:
        files = ()
    return PinStatus(
        pin=pin,
        topics=tuple(topics),
        files=len(files),
        hunks=sum(len(file.hunks) for file in files),
        upstream_cached=read_pin(root, pin).version in cached,
    )


def _topic_status(topic: Topic, carried: dict[str, list[str]]) -> TopicStatus:
    pins = tuple(pin for pin, names in carried.items() if topic.name in names)
    return TopicStatus(topic, pins)


def _judge(topics: Iterable[Topic], version: str, access: Access, today: date) -> Iterator[UntilVerdict]:
    upstream = bring_version(version, access)
    return judge_until(topics, version, today, lambda path: upstream.read([path])[path])


def _has_todo(topic: Topic) -> bool:
    return any(text.startswith("TODO") for text in (topic.title, topic.fault, topic.why))


def _next_step(root: Path, latest: str, newest: str, edits: list[str]) -> str:
    """Return what is to be done: what was begun first, then what is broken, then what is new."""
    if (rebase := find_state(root)) is not None:
        return f"patchkit rebase --status    (a rebase to {rebase.target} is under way)"
    if edits:
        return f"patchkit refresh {edits[0]}    (its edit holds work that the series has not)"
    for pin in reversed(pin_names(root)):
        if not (pin_folder(root, pin) / MANIFEST).is_file():
            return f"patchkit verify {pin}    (its generated files are missing: does the series apply?)"
    if newest and order(newest) > order(latest):
        return f"patchkit rebase --onto {newest}"
    return "patchkit run"
