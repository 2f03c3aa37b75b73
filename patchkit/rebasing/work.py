"""The files that a person settles: whole, with both sides and the old text at each conflict; and what they become."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from patchkit.carry.nouns import Cause, Tree
from patchkit.patch.patchtext import blob_id
from patchkit.rebasing.ledger import Acceptance
from patchkit.rebasing.opened import opened_files
from patchkit.rebasing.page import page_of
from patchkit.rebasing.state import clear_work, damaged, folder_of, shown_folder, work_folder
from patchkit.rebasing.steps import Move
from patchkit.store import replace_file


@dataclass(frozen=True, slots=True)
class Stop:
    """A topic at which a rebase stops. source: the pin that it comes from. new: the new upstream below it."""

    move: Move
    source: str
    new: Tree
    report: dict[str, Any]
    doubts: Sequence[Acceptance]


def write_work(root: Path, stop: Stop) -> None:
    """Write the topic's files, once more as they were shown, and a page that says what to do about each hunk."""
    clear_work(root)
    move = stop.move
    shown = {path: data for path, data in move.carried.files.items() if data is not None}
    shown |= opened_files(move, stop.new)
    for folder in (work_folder(root), shown_folder(root)):
        for path, data in shown.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    kept = {
        "topic": move.former.topic,
        "deleted": sorted(path for path, data in move.carried.files.items() if data is None),
        "may_delete": sorted(one.path for one in move.unresolved if one.cause is Cause.DELETE_MODIFY),
        "shown": {path: blob_id(data) for path, data in sorted(shown.items())},
        "report": stop.report,
        "doubts": [asdict(one) for one in stop.doubts],
    }
    replace_file(folder_of(root) / "stopped.json", (json.dumps(kept, indent=1) + "\n").encode())
    page = "\n".join(page_of(move, stop.source, shown)) + "\n"
    replace_file(folder_of(root) / "CONFLICTS.md", page.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Stopped:
    """A topic that waits for a person. shown: its files as they were written; texts: as they are now."""

    topic: str
    report: dict[str, Any]
    doubts: tuple[Acceptance, ...]
    shown: Mapping[str, bytes]
    texts: Mapping[str, bytes | None]


def read_work(root: Path) -> Stopped:
    """Return what is known of the topic that the rebase stopped at. Raises: ConfigError where that is damaged."""
    path = folder_of(root) / "stopped.json"
    shown, texts = _read_files(shown_folder(root)), _read_files(work_folder(root))
    try:
        kept: dict[str, Any] = json.loads(path.read_bytes())
        if kept["shown"] != {name: blob_id(data) for name, data in shown.items()}:
            raise ValueError(f"{shown_folder(root).name}/ is not as it was written")
        may_be_gone = [*kept["deleted"], *kept["may_delete"]]
        doubts = tuple(Acceptance(**one) for one in kept["doubts"])
        return Stopped(kept["topic"], kept["report"], doubts, shown, {**dict.fromkeys(may_be_gone), **texts})
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise damaged(path, exc) from exc


def _read_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
