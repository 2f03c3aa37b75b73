"""Gather what the PK8xx rules judge: the folder of a pin, the store beside its pins, and what pin.toml accepts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from patchkit.errors import ConfigError
from patchkit.model import Pin, Series
from patchkit.patch.headers import read_head
from patchkit.patch.hunks import TopicPatch
from patchkit.rules.accept import Acceptance
from patchkit.rules.compose import Composed, NamedPatch
from patchkit.rules.store import PinFacts, StoreFacts
from patchkit.series.generated import generate
from patchkit.source.guards import Guard, read_guards
from patchkit.store import (
    COMBINED,
    PATCHES,
    latest_pin,
    pin_folder,
    pin_names,
    read_pin_table,
    read_series_names,
    read_topics,
    stale_sites,
)
from patchkit.upstream.bring import Upstream


def read_all_guards(root: Path) -> list[Guard]:
    """Return every guard of the store, whatever release it is for."""
    files = sorted((root / PATCHES / "guards").glob("*.yml"))
    return [
        guard
        for file in files
        for guard in read_guards(file.read_bytes(), topic=file.stem, where=str(file.relative_to(root)))
    ]


def pin_facts(root: Path, patches: Sequence[NamedPatch], whole: Composed, pin: Pin, upstream: Upstream) -> PinFacts:
    """Return what the folder of a pin holds. patches: the series as read; whole: what it composes to."""
    folder = pin_folder(root, pin.name)
    listed = read_series_names(root, pin.name)
    applies = bool(whole.steps) and all(step.result.ok for step in whole.steps)
    series = Series(pin, tuple(TopicPatch(patch.topic, patch.patch) for patch in patches))
    wanted = generate(series, upstream, whole).files() if applies and len(patches) == len(listed) else {}
    return PinFacts(
        name=folder.name,
        folder=str(folder.relative_to(root)),
        listed=tuple(listed),
        present=frozenset(path.name for path in folder.glob("*.patch") if path.name != COMBINED),
        stale={
            file: (folder / file).is_file()
            for file, content in wanted.items()
            if not (folder / file).is_file() or (folder / file).read_bytes() != content
        },
        heads={f"{patch.topic}.patch": read_head(patch.patch.preamble) for patch in patches},
    )


def store_facts(root: Path, guards: Iterable[Guard]) -> StoreFacts:
    """Return what the store holds beside its pins."""
    by_topic: dict[str, set[str]] = {}
    for guard in guards:
        by_topic.setdefault(guard.topic, set()).add(guard.id)
    pins = pin_names(root)
    smoke = root / PATCHES / "smoke"
    return StoreFacts(
        topics=read_topics(root),
        carried=frozenset(listed.removesuffix(".patch") for pin in pins for listed in read_series_names(root, pin)),
        guards={topic: frozenset(ids) for topic, ids in by_topic.items()},
        smoke=frozenset(path.name for path in smoke.glob("*/") if any(path.glob("test_*.py"))),
        stale_sites=tuple(f"{site.file}: {site.text}" for site in stale_sites(root)),
        dockerfiles={
            str(path.relative_to(root)): path.read_text("utf-8", "replace")
            for path in sorted((root / "docker").glob("*Dockerfile*"))
            if path.is_file()
        },
        pins=tuple(pins),
        latest=latest_pin(root),
    )


def read_acceptances(root: Path, name: str) -> list[Acceptance]:
    """Return what a pin.toml accepts: `[[accept]]` tables with rule, reason, until, and what narrows them."""
    where = str((pin_folder(root, name) / "pin.toml").relative_to(root))
    return [_acceptance(entry, where) for entry in read_pin_table(root, name).get("accept", ())]


def _acceptance(entry: Any, where: str) -> Acceptance:
    words = {"rule", "reason", "until", "path", "scope", "topic", "guard"}
    if not isinstance(entry, Mapping) or set(entry) - words or {"rule", "reason", "until"} - set(entry):
        found = f"it has {', '.join(map(str, entry))}" if isinstance(entry, Mapping) else str(entry)
        raise ConfigError("an acceptance has rule, reason, until, and may have path, scope, topic, guard",
                          where=where, found=found)  # fmt: skip
    if type(entry["until"]) is not date:
        raise ConfigError(
            "until is a day, without quotes", where=where, found=repr(entry["until"]), hint="until = 2027-01-31"
        )
    texts = {word: entry[word] for word in words - {"until"} if word in entry}
    if not all(isinstance(value, str) and value.strip() for value in texts.values()):
        raise ConfigError("an acceptance has empty words", where=where, found=str(dict(entry)))
    return Acceptance(until=entry["until"], where=where, **texts)
