"""The state of a rebase: plain files in patches/.rebase/ that can be committed and continued elsewhere."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from patchkit.errors import ConfigError
from patchkit.model import Series
from patchkit.store import PATCHES, replace_file

FOLDER = ".rebase"
SCHEMA = "patchkit/rebase-state/1"


@dataclass(frozen=True, slots=True)
class RebaseState:
    """legs: the pins that the series goes through, the old and the new one included.

    leg: which of the moves is at work, from 0. done: how many topics of this leg are written. stopped: whether
    the next topic waits for a person, with its files in work/. upstream: the git repository whose tags the releases
    are, or empty for the package index. commit: what the last leg goes to, where that is no release.
    series: the sha256 of the series that is carried, as it was at the beginning.
    """

    legs: tuple[str, ...]
    leg: int = 0
    done: int = 0
    stopped: bool = False
    accept_suspects: bool = False
    resolver: str = ""
    upstream: str = ""
    commit: str = ""
    series: str = ""

    def __post_init__(self) -> None:
        """Raise a ValueError where the values cannot be those of a rebase."""
        counts, flags = (self.leg, self.done), (self.stopped, self.accept_suspects)
        texts = (*self.legs, self.resolver, self.upstream, self.commit, self.series)
        if not (
            all(type(one) is int for one in counts)
            and all(type(one) is bool for one in flags)
            and all(type(one) is str for one in texts)
            and 0 <= self.leg < len(self.legs) - 1
            and self.done >= 0
        ):
            raise ValueError("values that no rebase has")

    @property
    def source(self) -> str:
        """The pin that this leg comes from."""
        return self.legs[self.leg]

    @property
    def target(self) -> str:
        """The pin that this leg goes to."""
        return self.legs[self.leg + 1]

    @property
    def is_last_leg(self) -> bool:
        """Whether the new pin is written after this leg."""
        return self.leg + 2 == len(self.legs)


def folder_of(root: Path) -> Path:
    """Return the folder of the state."""
    return root / PATCHES / FOLDER


def find_state(root: Path) -> RebaseState | None:
    """Return the rebase that is under way, if there is one."""
    path = folder_of(root) / "state.json"
    if not path.is_file():
        return None
    try:
        table = json.loads(path.read_bytes())
        if table.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        return RebaseState(**{**table, "legs": tuple(table["legs"])})
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise damaged(path, exc) from exc


def series_id(series: Series) -> str:
    """Return the sha256 of the topics of a series: names and bytes, in order."""
    digest = hashlib.sha256()
    for topic in series.topics:
        digest.update(b"%s\0%d\0" % (topic.topic.encode(), len(topic.patch.raw)) + topic.patch.raw)
    return digest.hexdigest()


def damaged(path: Path, reason: object) -> ConfigError:
    """Return the error for a state that nobody can go on from."""
    return ConfigError(
        "the state of the rebase is damaged",
        where=str(path),
        found=str(reason),
        kept="the pins; --abort touches none of them",
        hint="git checkout -- patches/.rebase, if it was committed; else: patchkit rebase --abort, and once more",
    )


def read_state(root: Path) -> RebaseState:
    """Return the rebase that is under way. Raises: ConfigError where there is none."""
    state = find_state(root)
    if state is None:
        raise ConfigError("no rebase is under way", where=f"{PATCHES}/{FOLDER}", hint="patchkit rebase --onto PIN")
    return state


def write_state(root: Path, state: RebaseState) -> None:
    """Write the state last: what it does not name does not count."""
    table: dict[str, Any] = {
        "schema": SCHEMA,
        "legs": list(state.legs),
        "leg": state.leg,
        "done": state.done,
        "stopped": state.stopped,
        "accept_suspects": state.accept_suspects,
        "resolver": state.resolver,
        "upstream": state.upstream,
        "commit": state.commit,
        "series": state.series,
    }
    folder_of(root).mkdir(parents=True, exist_ok=True)
    replace_file(folder_of(root) / "state.json", (json.dumps(table, indent=1) + "\n").encode())


def remove_state(root: Path) -> None:
    """End the rebase: the state first, so that a kill leaves no half of it that counts."""
    (folder_of(root) / "state.json").unlink(missing_ok=True)
    shutil.rmtree(folder_of(root), ignore_errors=True)


def keep_result(root: Path, state: RebaseState, topic: str, patch: bytes, report: dict[str, Any]) -> RebaseState:
    """Keep what became of a topic and return the state after it."""
    folder = _leg_folder(root, state)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / f"{topic}.patch", patch)
    replace_file(folder / f"{topic}.json", _json(report))
    after = replace(state, done=state.done + 1, stopped=False)
    write_state(root, after)
    clear_work(root)
    return after


def read_results(root: Path, state: RebaseState, topics: Sequence[str]) -> list[tuple[str, bytes, dict[str, Any]]]:
    """Return the finished topics of this leg in order: name, patch text (empty: dropped), report."""
    folder = _leg_folder(root, state)
    if state.done > len(topics):
        raise damaged(folder_of(root) / "state.json", f"{state.done} of {len(topics)} topics are done")
    found = []
    for topic in topics[: state.done]:
        patch, report = folder / f"{topic}.patch", folder / f"{topic}.json"
        if not patch.is_file() or not report.is_file():
            raise damaged(patch, f"topic {topic} is done, and its result is missing")
        found.append((topic, patch.read_bytes(), json.loads(report.read_bytes())))
    return found


def work_folder(root: Path) -> Path:
    """Return the folder with the files that a person settles."""
    return folder_of(root) / "work"


def shown_folder(root: Path) -> Path:
    """Return the folder with the same files as they were before a person settled them."""
    return folder_of(root) / "shown"


def clear_work(root: Path) -> None:
    """Remove the files of a topic that is settled."""
    for folder in (work_folder(root), shown_folder(root)):
        shutil.rmtree(folder, ignore_errors=True)
    for name in ("CONFLICTS.md", "stopped.json"):
        (folder_of(root) / name).unlink(missing_ok=True)


def _leg_folder(root: Path, state: RebaseState) -> Path:
    return folder_of(root) / f"{state.leg + 1}-{state.target}"


def _json(report: dict[str, Any]) -> bytes:
    return (json.dumps(report, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape")
