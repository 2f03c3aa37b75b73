"""What is kept on disk: of a release, of a pin, of a topic; and what 50 forks and 100 pins make of it.

The upstreams must be in the cache: `patchkit verify --all` once brings them.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import ROOT, Row, sealed
from patchkit.store import pin_names, read_pin
from patchkit.upstream.access import cache_folder

FORKS, PINS = 50, 100
MB = 1e6


def bytes_below(folder: Path) -> int:
    """Return the size of all files of a folder, or of a file."""
    files = [folder] if folder.is_file() else [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files)


def objects_bytes(pins: list[str]) -> int:
    """Return what the objects of these releases take in the object store, each once."""
    refs = [f"--glob=refs/patchkit/index/{pin[1:]}/*" for pin in pins]
    command = ["git", "rev-list", "--objects", "--disk-usage", *refs]
    folder = cache_folder() / "objects.git"
    return int(subprocess.run(command, cwd=folder, env=sealed(), capture_output=True, check=True, text=True).stdout)


def newest_names(pin: str) -> int:
    """Return the size of a release's index of names; 0 where no rebase or verify has asked for it."""
    kept = sorted((cache_folder() / "names").glob(f"{read_pin(ROOT, pin).tree}.[0-9]*"))
    return bytes_below(kept[-1]) if kept else 0


def rows() -> Iterator[Row]:
    """Yield bytes in megabytes, and in the note what they grow to."""
    pins = pin_names(ROOT)
    first, every = objects_bytes(pins[:1]), objects_bytes(pins)
    more = (every - first) / (len(pins) - 1)
    grown = (first + more * (PINS - 1)) / MB
    yield Row("object store, the first release", first / MB, "MB", note="shared by all forks on a machine")
    yield Row("object store, each further release", more / MB, "MB", note=f"{PINS} pins: {grown:,.0f} MB")
    names = [size for pin in pins if (size := newest_names(pin))]
    mean = sum(names) / max(len(names), 1)
    yield Row(
        "index of names, a release", mean / MB, "MB", note=f"{PINS} pins: {mean * PINS / MB:,.0f} MB; can be deleted"
    )
    mean = sum(bytes_below(ROOT / "patches" / pin) for pin in pins) / len(pins)
    yield Row(
        "patches/, a pin",
        mean / MB,
        "MB",
        note=f"{PINS} pins: {mean * PINS / MB:,.1f} MB in a fork, {FORKS * PINS * mean / MB:,.0f} MB in {FORKS} forks",
    )
    weather = bytes_below(cache_folder() / "weather")
    yield Row("memory of weather, every topic over every release looked at", weather / MB, "MB", note="can be deleted")
