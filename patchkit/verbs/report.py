"""`report`: one page of what the store holds and what the verbs have shown of it."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from patchkit.errors import ConfigError
from patchkit.model import Hunk, LockedHunk, Manifest
from patchkit.patchtext import read_patch
from patchkit.results.report import Evidence, PinPage, Report, ReportedHunk
from patchkit.store import COMBINED, latest_pin, pin_names, read_combined, read_manifest, read_topics, read_version

_SCHEMA_PREFIX = "patchkit/"


def make_report(root: Path, evidence: Path | None) -> Report:
    """Return the store's pins, topics and hunks with the JSON documents of the verbs beside them.

    evidence: a folder with documents as `--json` prints them, any names; every one is taken by its schema.
    """
    topics = read_topics(root)
    return Report(
        version=str(read_version(root)),
        latest=latest_pin(root),
        made=_now(),
        topics=tuple(topics.values()),
        pins=tuple(_pin_page(root, name) for name in pin_names(root)),
        evidence=tuple(_documents(evidence)) if evidence else (),
    )


def _now() -> str:
    """Return the time of day, or that of SOURCE_DATE_EPOCH, so that the same input can give the same page."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _pin_page(root: Path, name: str) -> PinPage:
    manifest = read_manifest(root, name)
    patch = read_patch(read_combined(root, name), name=f"patches/{name}/{COMBINED}")
    hunks = tuple(hunk for section in patch.files for hunk in section.hunks)
    return PinPage(
        pin=name,
        commit=manifest.commit,
        tree=manifest.tree,
        sha256=manifest.sha256,
        topics=tuple(manifest.topics),
        added=sum(len(hunk.added) for hunk in hunks),
        removed=sum(len(hunk.removed) for hunk in hunks),
        hunks=tuple(_reported(hunk, manifest) for hunk in hunks),
    )


def _reported(hunk: Hunk, manifest: Manifest) -> ReportedHunk:
    locked = _locked(hunk, manifest)
    return ReportedHunk(
        path=hunk.path,
        number=hunk.number,
        line=hunk.new_start,
        scope=locked.scope,
        topics=locked.topics,
        lines=tuple(f"{line.kind.value}{_text(line.text)}" for line in hunk.lines),
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
