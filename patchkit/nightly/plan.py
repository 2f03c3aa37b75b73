"""What a night has to do, decided from what is published and what upstream has."""

from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.versions import NightlyTag, order

NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Published:
    """The newest nightly that git knows. pin: the latest pin in it.

    covers_head: nothing that goes into an image changed between it and the head.
    merged: the head has it, or the same content.
    """

    tag: NightlyTag
    pin: str
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


def plan_work(
    latest: str, pins: Sequence[str], newest_upstream: str, published: Published | None, *, onto: str = NEWEST
) -> Work | Nothing:
    """Return what the night has to do.

    latest, pins: of the store at the head. newest_upstream: as "v0.5.16". onto: "newest", or a pin that was asked for.
    """
    target = newest_upstream if onto == NEWEST else onto
    if onto == NEWEST and order(target) < order(latest):
        target = latest
    if target not in pins:
        if published and published.covers_head and published.pin == target:
            return Nothing(f"{published.tag} carries {target} already and waits to be merged")
        return Work(latest, target, f"upstream has {target}, the newest pin is {latest}")
    if published and published.covers_head and published.pin == target:
        waits = "" if published.merged else " and waits to be merged"
        return Nothing(f"nothing new upstream, nothing changed since {published.tag} on {target}{waits}")
    return Work(
        target, target, f"the series changed since {published.tag}" if published else "no nightly was published yet"
    )
