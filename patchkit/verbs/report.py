"""`report`: one page of what the store holds and what the verbs have shown of it."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from patchkit.errors import ConfigError
from patchkit.model import LockedHunk, Manifest
from patchkit.patch.hunks import Hunk
from patchkit.patch.patchtext import read_patch
from patchkit.repository import find_repository, read_tag
from patchkit.results.report import Evidence, PinPage, PublishedTag, Report, ReportedHunk
from patchkit.store import (
    COMBINED,
    latest_pin,
    pin_names,
    read_combined,
    read_images,
    read_manifest,
    read_topics,
    read_version,
)
from patchkit.upstream.objects import ObjectStore

AROUND = 12  # lines above and below each hunk

_SCHEMA_PREFIX = "patchkit/"
_TAG_FIELDS = (
    "refname:strip=2",
    "creatordate:short",
    *("objectname", "*objectname", "subject", "*subject"),
    *(f"{of}contents:trailers:key=Pin,valueonly,separator=%2C" for of in ("", "*")),
)


def make_report(root: Path, evidence: Path | None, objects: ObjectStore | None = None) -> Report:
    """Return the store's pins, topics and hunks with the JSON documents of the verbs beside them.

    evidence: a folder with documents as `--json` prints them, any names; every one is taken by its schema.
    objects: where upstream's lines around each hunk are read, as far as they are there.
    """
    topics = read_topics(root)
    return Report(
        version=str(read_version(root)),
        latest=latest_pin(root),
        made=_now(),
        topics=tuple(topics.values()),
        pins=tuple(_pin_page(root, name, objects) for name in pin_names(root)),
        evidence=tuple(_documents(evidence)) if evidence else (),
        tags=tuple(_published(root)),
    )


def _now() -> str:
    """Return the time of day, or that of SOURCE_DATE_EPOCH, so that the same input can give the same page."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _published(root: Path) -> Iterator[PublishedTag]:
    """Yield the nightly tags that git knows, the newest first."""
    repository = find_repository(root)
    if repository is None:
        return
    form = "%00".join(f"%({field})" for field in _TAG_FIELDS)
    listed = repository.git("for-each-ref", f"--format={form}", "--sort=-version:refname", "refs/tags/nightly-dev-*")
    for row in listed.decode("utf-8", "replace").splitlines():
        name, date, own, tagged, subject, tagged_subject, pin, tagged_pin = row.split("\0")
        if read_tag(name) is not None:
            yield PublishedTag(name, date, tagged or own, (tagged_pin or pin).strip(), tagged_subject or subject)


def _pin_page(root: Path, name: str, objects: ObjectStore | None) -> PinPage:
    manifest = read_manifest(root, name)
    patch = read_patch(read_combined(root, name), name=f"patches/{name}/{COMBINED}")
    around = _upstream_lines(manifest, objects)
    hunks = tuple(hunk for section in patch.files for hunk in section.hunks)
    return PinPage(
        pin=name,
        commit=manifest.commit,
        tree=manifest.tree,
        sha256=manifest.sha256,
        topics=tuple(manifest.topics),
        added=sum(len(hunk.added) for hunk in hunks),
        removed=sum(len(hunk.removed) for hunk in hunks),
        hunks=tuple(
            reported
            for section in patch.files
            for reported in report_hunks(section.hunks, manifest, around.get(section.path, []))
        ),
        images=tuple(read_images(root, name)),
    )


def _upstream_lines(manifest: Manifest, objects: ObjectStore | None) -> dict[str, list[str]]:
    """Return the lines of each touched file as the pin has it, as far as it is in the cache."""
    if objects is None:
        return {}
    blobs = {file.path: file.preimage for file in manifest.files if file.preimage}
    contents = objects.read(list(blobs.values()))
    return {
        path: [_text(line) for line in content.split(b"\n")]
        for path, content in zip(blobs, contents, strict=True)
        if content is not None
    }


def report_hunks(hunks: Sequence[Hunk], manifest: Manifest, lines: Sequence[str]) -> Iterator[ReportedHunk]:
    """Yield the hunks of one file, each with the lines around it that belong to no other hunk."""
    ends = [0, *(hunk.old_start - 1 + hunk.old_count for hunk in hunks)]
    starts = [*(hunk.old_start - 1 for hunk in hunks), len(lines)]
    for at, hunk in enumerate(hunks):
        start, end = starts[at], ends[at + 1]
        locked = _locked(hunk, manifest)
        yield ReportedHunk(
            path=hunk.path,
            number=hunk.number,
            line=hunk.new_start,
            old_line=hunk.old_start,
            scope=locked.scope,
            topics=locked.topics,
            lines=tuple(f"{line.kind.value}{_text(line.text)}" for line in hunk.lines),
            above=tuple(lines[max(ends[at], start - AROUND) : start]),
            below=tuple(lines[end : min(starts[at + 1], end + AROUND)]),
        )


def _locked(hunk: Hunk, manifest: Manifest) -> LockedHunk:
    for file in manifest.files:
        if file.path == hunk.path and hunk.number <= len(file.hunks):
            return file.hunks[hunk.number - 1]
    raise ConfigError(f"the manifest does not know {hunk.name}", hint=f"patchkit refresh v{manifest.version}")


def _text(line: bytes) -> str:
    return line.removesuffix(b"\n").decode("utf-8", "backslashreplace")


def _documents(folder: Path) -> Iterator[Evidence]:
    for path in sorted(folder.glob("**/*.json")):
        document = _document(path)
        if document is not None:
            _, verb, _ = document["schema"].split("/")
            yield Evidence(verb=verb, file=str(path.relative_to(folder)), document=document)


def _document(path: Path) -> dict[str, Any] | None:
    """Return one of our verbs' documents; None for any other JSON file."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise ConfigError("this document cannot be read", where=str(path), found=str(exc)) from exc
    schema = document.get("schema", "") if isinstance(document, dict) else ""
    is_ours = isinstance(schema, str) and schema.startswith(_SCHEMA_PREFIX) and schema.count("/") == 2
    return document if is_ours else None
