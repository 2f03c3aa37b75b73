"""How cost grows with hunks, files and pins: once, ten and a hundred times as many. (weather does so with commits.)

In seconds of CPU, which other work disturbs least. A row holds a hundred times against ten times: what is
proportional stays below 10, as part of the cost is fixed; what grows with the square goes towards 100.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.large import make_sides
from benchmarks.table import ROOT, Row, figure, measure, patchkit

FACTORS = (1, 10, 100)
ROUNDS = 2
MOST = 12.0  # 10 is proportional; the rest is noise and caches that no longer fit


def make_patched(folder: Path, *, files: int, hunks: int) -> None:
    """Write a tree, its patch and the next release."""
    (folder / "x.patch").write_bytes(make_sides(folder, files=files, hunks=hunks))


def make_pins(folder: Path, pins: int) -> None:
    """Write a store with so many copies of the newest pin."""
    source = ROOT / "patches" / (ROOT / "patches/latest").read_text().strip()
    shutil.copytree(ROOT / "patches/guards", folder / "patches/guards")
    shutil.copytree(ROOT / "patches/smoke", folder / "patches/smoke", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "patches/topics.toml", folder / "patches/topics.toml")
    for number in range(1, pins + 1):
        pin = folder / f"patches/v1.{number}.0"
        shutil.copytree(source, pin)
        for name in ("pin.toml", "manifest.json"):
            text = (pin / name).read_text().replace(source.name[1:], pin.name[1:])
            (pin / name).write_text(text)
    (folder / "patches/latest").write_text(f"v1.{pins}.0\n")
    (folder / "version.txt").write_text("nightly-dev-20260101a\n")


def apply(folder: Path) -> list[str]:
    """Return the command that applies the patch to a new copy of the tree."""
    shutil.rmtree(folder / "tree", ignore_errors=True)
    shutil.copytree(folder / "a", folder / "tree")
    return patchkit("apply", str(folder / "tree"), "--patch", str(folder / "x.patch"))


def verify(folder: Path) -> list[str]:
    """Return the command that proves the patch against its tree."""
    return patchkit("verify", "--patch", str(folder / "x.patch"), "--upstream", str(folder / "a"))


def rebase(folder: Path) -> list[str]:
    """Return the command that carries the patch to the next release."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    sides = ("--patch", "x.patch", "--base", "a", "--onto", "next", "--out", "out")
    return patchkit("rebase", *(side if side.startswith("--") else str(folder / side) for side in sides))


def status(folder: Path) -> list[str]:
    """Return the command that tells about every pin."""
    return patchkit("--offline", "--root", str(folder), "status")


def grown(
    what: str, make: Callable[[Path, int], None], commands: tuple[Callable[[Path], list[str]], ...]
) -> Iterator[Row]:
    """Yield for each command how it grows with what is made."""
    seconds: dict[str, list[float]] = {command.__name__: [] for command in commands}
    for factor in FACTORS:
        with tempfile.TemporaryDirectory() as name:
            make(Path(name), factor)
            for command in commands:
                best = min(measure(command(Path(name)), cwd=Path(name)).cpu_s for _ in range(ROUNDS))
                seconds[command.__name__].append(best)
    for verb, (once, ten, hundred) in seconds.items():
        told = ", ".join(figure(value, "s") for value in (once, ten, hundred))
        what_grew = f"{verb}, CPU: 1, 10, 100 times the {what}"
        yield Row(what_grew, hundred, peer=ten, peer_name="10 times", limit=MOST, note=f"1, 10, 100 times: {told}")


def rows() -> Iterator[Row]:
    """Yield the growth in hunks, in files, and in pins."""
    each = (apply, verify, rebase)
    yield from grown("hunks in 20 files", lambda folder, n: make_patched(folder, files=20, hunks=n), each)
    yield from grown("files of 20 hunks", lambda folder, n: make_patched(folder, files=n, hunks=20), each)
    yield from grown("pins (2, 20, 200)", lambda folder, n: make_pins(folder, 2 * n), (status,))
