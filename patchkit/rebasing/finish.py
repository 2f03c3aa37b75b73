"""The new pin: its files in one step, the ledger's records, and the report of where every hunk ended."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from patchkit.adopt.naming import series_text
from patchkit.errors import ConfigError
from patchkit.model import CommitId, Pin, Series
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.patchtext import read_patch
from patchkit.rebasing.state import folder_of
from patchkit.series.generated import generate
from patchkit.store import PATCHES, latest_pin, pin_folder, pin_text, replace_file, write_new_pin
from patchkit.upstream.bring import Upstream, source_of
from patchkit.versions import order

REPORT = "rebase.json"
SCHEMA = "patchkit/rebase-report/1"

TopicResult = tuple[str, bytes, dict[str, Any]]


def pin_of(upstream: Upstream, former: Pin) -> Pin:
    """Return the pin of a release; the Python version stays, the base images become those of the release."""
    images = tuple(image.replace(f"v{former.version}", f"v{upstream.version}") for image in former.base_images)
    return Pin(
        version=upstream.version,
        commit=upstream.commit or CommitId(""),
        tree=upstream.tree,
        source=source_of(upstream),
        python=former.python,
        base_images=images,
    )


def pin_files(pin: Pin, upstream: Upstream, topics: Sequence[TopicResult], report: bytes) -> dict[str, bytes]:
    """Return every file of the new pin's folder."""
    kept = [(name, text) for name, text, _ in topics if text]
    if not kept:
        raise ConfigError(
            f"nothing is left of the series at {pin.name}: every topic was dropped or skipped",
            kept="the rebase is still open; the store is unchanged",
            hint="patchkit rebase --abort",
        )
    series = Series(pin, tuple(TopicPatch(name, read_patch(text, name=f"{name}.patch")) for name, text in kept))
    files = {"pin.toml": pin_text(pin), "series": series_text([name for name, _ in kept]).encode()}
    files |= {f"{name}.patch": text for name, text in kept}
    return {**files, **generate(series, upstream).files(), REPORT: report}


def report_text(legs: Sequence[str], by_leg: Mapping[str, Sequence[TopicResult]]) -> bytes:
    """Return rebase.json: for each leg and topic where every hunk ended."""
    document = {
        "schema": SCHEMA,
        "from": legs[0],
        "onto": legs[-1],
        "legs": [
            {"onto": leg, "topics": [{"topic": name, "dropped": not text, **report} for name, text, report in topics]}
            for leg, topics in by_leg.items()
        ],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape")


def decided_hunks(root: Path, old: str, new: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the decision about each hunk of the old pin in the rebase that made the new one, by topic and `path#n`.

    Empty where the new pin was not made so. Of a rebase through releases only the first step knows the old numbers.
    """
    path = pin_folder(root, new) / REPORT
    if not path.is_file():
        return {}
    try:
        document = json.loads(path.read_bytes())
        topics = document["legs"][0]["topics"] if document["from"] == old else []
        return {(topic["topic"], f"{one['path']}#{one['hunk']}"): one for topic in topics for one in topic["decisions"]}
    except (ValueError, KeyError, TypeError, IndexError) as exc:
        raise ConfigError("the report of a rebase is damaged", where=str(path), found=str(exc)) from exc


def write_pin(root: Path, pin: Pin, files: Mapping[str, bytes]) -> None:
    """Write the new pin, and let `latest` name it where it is the newest.

    Raises: ConfigError where there is a pin of this name that is not what a kill left of this very rebase.
    """
    folder = pin_folder(root, pin.name)
    if not folder.is_dir():
        write_new_pin(root, pin.name, files, spool_in=folder_of(root))
    elif {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} != dict(files):
        raise ConfigError(
            f"pin {pin.name} is there already, with other content",
            where=f"{PATCHES}/{pin.name}",
            kept="that pin, and the rebase with all that was settled",
            hint=f"mv {PATCHES}/{pin.name} ../ and then patchkit rebase --continue; or patchkit rebase --abort",
        )
    if order(pin.name) > order(latest_pin(root)):
        replace_file(root / PATCHES / "latest", f"{pin.name}\n".encode(), spool_in=folder_of(root))
