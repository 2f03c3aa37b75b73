"""Recorded resolutions in patches/ledger/: one JSON file each, written when a person settles a conflict."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from patchkit.carry.nouns import Conflict, Settle, Settled, Stage
from patchkit.errors import ConfigError
from patchkit.store import PATCHES, replace_file

FOLDER = "ledger"


@dataclass(frozen=True, slots=True)
class Entry:
    """One resolution: the three texts of the conflict and what a person made of them.

    by: name of the person. when: the day. why: their words, or empty. topic, onto: where it was made.
    """

    path: str
    scope: str
    base: str
    ours: str
    theirs: str
    result: str
    by: str
    when: str
    why: str = ""
    topic: str = ""
    onto: str = ""

    @property
    def name(self) -> str:
        """The file's name, out of what must match."""
        digest = hashlib.sha256("\0".join(_key(self)).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]


def read_ledger(root: Path) -> list[Entry]:
    """Return all recorded resolutions, by name."""
    entries = []
    for path in sorted((root / PATCHES / FOLDER).glob("*.json")):
        try:
            entries.append(Entry(**json.loads(path.read_bytes())))
        except (ValueError, TypeError) as exc:
            raise ConfigError("a recorded resolution is damaged", where=str(path), found=str(exc)) from exc
    return sorted(entries, key=lambda entry: entry.name)


def write_entry(root: Path, entry: Entry) -> Path:
    """Record a resolution."""
    folder = root / PATCHES / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{entry.name}.json"
    replace_file(path, (json.dumps(asdict(entry), indent=1) + "\n").encode())
    return path


def drop_entry(root: Path, name: str) -> Path:
    """Remove a recorded resolution by its name. Raises: ConfigError where there is none."""
    path = root / PATCHES / FOLDER / f"{name}.json"
    if not path.is_file() or path.parent != root / PATCHES / FOLDER:
        raise ConfigError(f"the ledger has no resolution {name}", where=f"{PATCHES}/{FOLDER}", hint="patchkit ledger")
    path.unlink()
    return path


def replay(entries: Sequence[Entry]) -> Settle:
    """Return what settles a conflict when all three texts and the path are exactly those of a record."""
    known = {_key(entry): entry for entry in entries}

    def settle(conflict: Conflict) -> Settled | None:
        entry = known.get((conflict.path, conflict.base, conflict.ours, conflict.theirs))
        if entry is None:
            return None
        text = tuple(entry.result.split("\n")[:-1])  # each line has its line feed, so that one empty line is not none
        return Settled(text, Stage.LEDGER, f"recorded resolution {entry.name} by {entry.by}, {entry.when}")

    return settle


def _key(entry: Entry) -> tuple[str, str, str, str]:
    return entry.path, entry.base, entry.ours, entry.theirs
