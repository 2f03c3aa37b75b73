"""What persons decided, in patches/ledger/, one JSON file each: settled conflicts, and doubts read and accepted."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from patchkit.carry.nouns import Conflict, Settle, Settled, Stage
from patchkit.errors import ConfigError
from patchkit.store import PATCHES, replace_file

FOLDER = "ledger"
_ACCEPTED = "accepted-"
_Kind = TypeVar("_Kind")


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


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One doubt that a person has read and accepted.

    hunk: a digest of its lines. before, after: blob ids of the file `to` without the topic and as the engine left it.
    number, cause, evidence: what was doubted. by, when, why, topic, onto: as of a resolution.
    """

    path: str
    to: str
    hunk: str
    before: str
    after: str
    number: int
    cause: str
    evidence: str
    by: str = ""
    when: str = ""
    why: str = ""
    topic: str = ""
    onto: str = ""

    @property
    def name(self) -> str:
        """The file's name, out of what must match."""
        parts = (self.path, self.to, self.hunk, self.before, self.after, self.cause)
        return _ACCEPTED + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def read_ledger(root: Path) -> list[Entry]:
    """Return all recorded resolutions, by name."""
    found = [_read(path, Entry) for path in _files(root) if not path.name.startswith(_ACCEPTED)]
    return sorted(found, key=lambda entry: entry.name)


def read_accepted(root: Path) -> dict[str, Acceptance]:
    """Return all accepted doubts by name."""
    found = [_read(path, Acceptance) for path in _files(root) if path.name.startswith(_ACCEPTED)]
    return {one.name: one for one in found}


def write_entry(root: Path, entry: Entry | Acceptance, *, spool_in: Path) -> Path:
    """Record a resolution, or an accepted doubt. spool_in: as of replace_file."""
    folder = root / PATCHES / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{entry.name}.json"
    replace_file(path, (json.dumps(asdict(entry), indent=1) + "\n").encode(), spool_in=spool_in)
    return path


def _files(root: Path) -> list[Path]:
    return sorted((root / PATCHES / FOLDER).glob("*.json"))


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return kind(**json.loads(path.read_bytes()))
    except (ValueError, TypeError) as exc:
        raise ConfigError("a record of the ledger is damaged", where=str(path), found=str(exc)) from exc


def drop_entry(root: Path, name: str) -> Path:
    """Remove a record by its name. Raises: ConfigError where there is none."""
    path = root / PATCHES / FOLDER / f"{name}.json"
    if not path.is_file() or path.parent != root / PATCHES / FOLDER:
        raise ConfigError(f"the ledger has no record {name}", where=f"{PATCHES}/{FOLDER}", hint="patchkit ledger")
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
        what = "; it takes upstream's side" if entry.result.removesuffix("\n") == entry.ours else ""
        return Settled(text, Stage.LEDGER, f"recorded resolution {entry.name} by {entry.by}, {entry.when}{what}")

    return settle


def _key(entry: Entry) -> tuple[str, str, str, str]:
    return entry.path, entry.base, entry.ours, entry.theirs
