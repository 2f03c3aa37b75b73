"""`topic`: rename, reorder and drop topics of a series."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.manifest import write_manifest
from patchkit.results.reshape import Reshape
from patchkit.series.files import open_series, refuse_name, reshape_series, series_names
from patchkit.series.parted import drop_draft, reorder_drafts
from patchkit.store import (
    MANIFEST,
    PATCHES,
    pin_folder,
    pin_names,
    read_manifest,
    read_topics,
    replace_file,
    replace_pin_files,
)
from patchkit.upstream.access import Access


def reorder_topics(root: Path, pin: str, topics: Sequence[str], access: Access, *, dry_run: bool = False) -> Reshape:
    """Put the topics of a pin in another order; every file ends as before."""
    opened = open_series(root, pin, access)
    return reshape_series(opened, reorder_drafts(opened.drafts, topics, opened.upstream), dry_run=dry_run)


def drop_topic(root: Path, pin: str, topic: str, access: Access, *, dry_run: bool = False) -> Reshape:
    """Take a topic out of a pin's series; those behind it are written anew without it."""
    opened = open_series(root, pin, access)
    opened.draft(topic)
    if len(opened.drafts) == 1:
        raise ConfigError(f"{topic} is the only topic of {opened.name}", hint=f"rm -r {PATCHES}/{opened.name}")
    drafts = drop_draft(opened.drafts, topic, opened.upstream)
    return reshape_series(opened, drafts, dry_run=dry_run, same_result=False)


def rename_topic(root: Path, former: str, name: str, *, dry_run: bool = False) -> Reshape:
    """Give a topic another name at every pin, in topics.toml, and in the names of its guards and smoke tests."""
    refuse_name(name)
    topics = read_topics(root)
    if former not in topics:
        known = f"topics: {', '.join(topics)}"
        raise ConfigError(f"there is no topic {former}", where=f"{PATCHES}/topics.toml", found=known)
    if name in topics:
        raise ConfigError(f"there is a topic {name} already", where=f"{PATCHES}/topics.toml")
    pins = [pin for pin in pin_names(root) if former in series_names(root, pin)]
    changed = [f"{PATCHES}/{pin}" for pin in pins] + [f"{PATCHES}/topics.toml"]
    if not dry_run:
        for pin in pins:
            replace_pin_files(root, pin, _renamed_files(root, pin, former, name))
        path = root / PATCHES / "topics.toml"
        table = re.compile(rf"(?m)^\[{re.escape(former)}(?=[\].])")
        replace_file(path, table.sub(f"[{name}", path.read_text()).encode())
        guards = root / PATCHES / "guards"
        if (guards / f"{former}.yml").is_file():
            (guards / f"{former}.yml").rename(guards / f"{name}.yml")
            changed.append(f"{PATCHES}/guards/{name}.yml")
    return Reshape(", ".join(pins) or "no pin", (former,), (name,), tuple(changed), same_result=True, dry_run=dry_run)


def _renamed_files(root: Path, pin: str, former: str, name: str) -> dict[str, bytes | None]:
    """Return the files of a pin with a topic under its new name; no byte of a patch changes."""
    folder = pin_folder(root, pin)
    series = (folder / "series").read_text()
    files: dict[str, bytes | None] = {
        f"{name}.patch": (folder / f"{former}.patch").read_bytes(),
        f"{former}.patch": None,
        "series": re.sub(rf"(?m)^{re.escape(former)}\.patch\b", f"{name}.patch", series).encode(),
    }
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(root, pin)
        renamed = {name if topic == former else topic: digest for topic, digest in manifest.topics.items()}
        locked = tuple(
            replace(
                file,
                hunks=tuple(
                    replace(hunk, topics=tuple(name if topic == former else topic for topic in hunk.topics))
                    for hunk in file.hunks
                ),
            )
            for file in manifest.files
        )
        files[MANIFEST] = write_manifest(replace(manifest, topics=renamed, files=locked))
    return files
