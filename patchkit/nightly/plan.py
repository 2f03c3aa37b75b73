"""What a night has to do, decided from what is published and what upstream has."""

from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.versions import NightlyTag, order

NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Published:
    """The newest nightly of a pin that git knows.

    covers_head: nothing that goes into an image changed between it and the head.
    merged: the head has it, or the same content.
    """

    tag: NightlyTag
    covers_head: bool
    merged: bool


@dataclass(frozen=True, slots=True)
class Work:
    """From which pin to which; equal where upstream has nothing new. reason: why there is something to do."""

    pin_from: str
    pin_to: str
    reason: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to do."""

    reason: str


def choose_target(latest: str, newest_upstream: str) -> str:
    """Return the pin that "newest" stands for: never one before the latest that is carried already."""
    return max(latest, newest_upstream, key=order)


def plan_work(latest: str, pins: Sequence[str], target: str, published: Published | None) -> Work | Nothing:
    """Return what the night has to do.

    latest, pins: of the store at the head. published: the newest nightly of the target.
    """
    is_covered = published is not None and published.covers_head
    if target not in pins:
        if published and is_covered:
            return Nothing(f"{published.tag} carries {target} already and waits to be merged")
        return Work(latest, target, f"upstream has {target}, the newest pin is {latest}")
    if published and is_covered:
        waits = "" if published.merged else " and waits to be merged"
        return Nothing(f"nothing new upstream, nothing changed since {published.tag} on {target}{waits}")
    changed = f"the series changed since {published.tag}" if published else f"no nightly of {target} was published yet"
    return Work(target, target, changed)
