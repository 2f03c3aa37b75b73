"""What was found out before, kept by the blob ids of the files that decided."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from patchkit.store import replace_file
from patchkit.weather.nouns import Outlook, Row, Sight, State

_DECIDING = ("carry", "weather", "source", "patch")
Blob = Callable[[str], str]
Outlooks = dict[str, list[dict[str, Any]]]


class Memory:
    """The outlooks of one topic, in one file.

    Known by the ids of the files that the topic and those below it name. Where hunks go to other files, the ids of
    these must be the same too.
    """

    def __init__(self, folder: Path, row: Row) -> None:
        self._path = folder / _engine() / f"{row.key}.json"
        self._paths = row.paths
        self._known, self._signs = _read(self._path)
        self._is_changed = False

    def find(self, blob: Blob) -> Outlook | None:
        """Return the outlook on a state whose files have these ids."""
        for kept in self._known.get(self._name(blob), ()):
            if all(blob(path) == wanted for path, wanted in kept["outside"].items()):
                return Outlook(tuple(_sight(one) for one in kept["sights"]), tuple(kept["outside"]))
        return None

    def add(self, blob: Blob, outlook: Outlook) -> None:
        """Remember an outlook."""
        kept = {
            "outside": {path: blob(path) for path in outlook.outside},
            "sights": [[one.path, one.number, one.state, one.to, one.scope, one.evidence] for one in outlook.sights],
        }
        self._known.setdefault(self._name(blob), []).append(kept)
        self._is_changed = True

    def sign(self, path: str, blob: str) -> str:
        """Return what the topic's lines can see of a file's content; empty where that is not known."""
        return self._signs.get(f"{path} {blob}", "")

    def add_sign(self, path: str, blob: str, sign: str) -> None:
        """Remember what the topic's lines can see of a file's content."""
        self._signs[f"{path} {blob}"] = sign
        self._is_changed = True

    def save(self) -> None:
        """Write what is new. Of two that write at once the later wins, and the other's work is done again."""
        if self._is_changed:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            outlooks, signs = _read(self._path)
            kept = {"outlooks": {**outlooks, **self._known}, "signs": {**signs, **self._signs}}
            replace_file(self._path, json.dumps(kept).encode())
            self._is_changed = False

    def _name(self, blob: Blob) -> str:
        return _digest([blob(path) for path in self._paths])


def _read(path: Path) -> tuple[Outlooks, dict[str, str]]:
    try:
        kept = json.loads(path.read_bytes())
        return kept["outlooks"], kept["signs"]
    except (FileNotFoundError, ValueError, KeyError):
        return {}, {}  # a damaged memory costs time, nothing else


def _sight(kept: Sequence[Any]) -> Sight:
    path, number, state, to, scope, evidence = kept
    return Sight(path, number, State(state), to, scope, tuple(evidence))


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@cache
def _engine() -> str:
    """Return a digest of the code that decides: another engine remembers nothing of this one."""
    package = Path(__file__).parent.parent
    found = [path for name in _DECIDING for path in sorted((package / name).glob("*.py"))]
    digest = hashlib.sha256()
    for path in found:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
