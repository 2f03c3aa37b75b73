"""rebase of the shipped series, whole process, against `git cherry-pick` of the same topics as commits.

Each pin's series goes to the next pin's release, as if that pin were not there yet. Where git stops at a conflict its
half-merged files are committed and the next topic is picked, which is the least that a person would do.
The upstreams must be in the cache: `patchkit verify --all` once brings them.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.table import ROOT, Cost, Row, measure, patchkit, sealed
from patchkit.store import pin_names, read_manifest, read_series_names
from patchkit.upstream.access import cache_folder

ROUNDS = 3
LIMIT = 2.0
CAUSE = (
    "cherry-pick merges texts and proves nothing; of ours about a third is parsing the touched files before and after, "
    "and a third reading every file of the new release to learn where code went"
)
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@invalid", "-c", "core.editor=true", "-c", "rerere.enabled=false"]


def git(folder: Path, *arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
    """Run git in the folder and return its stdout."""
    done = subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=folder, env=sealed(), capture_output=True, text=True, check=False
    )
    if done.returncode not in allowed:
        raise SystemExit(f"git {' '.join(arguments)}\n{done.stderr}")
    return done.stdout.strip()


def release_commit(objects: Path, pin: str) -> str:
    """Return the commit under which the cache keeps the release of a pin."""
    return git(objects, "for-each-ref", "--format=%(objectname)", f"refs/patchkit/index/{pin[1:]}/*").split()[0]


def make_repository(folder: Path, old: str, new: str) -> tuple[str, list[str]]:
    """Make a repository with the old series as commits; return the new release and these commits."""
    objects = cache_folder() / "objects.git"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".git/objects/info/alternates").write_text(f"{objects / 'objects'}\n")
    git(folder, "checkout", "-q", "--detach", release_commit(objects, old))
    topics = []
    for name in read_series_names(ROOT, old):
        git(folder, "apply", "--index", str(ROOT / "patches" / old / name))
        git(folder, "commit", "-qm", name)
        topics.append(git(folder, "rev-parse", "HEAD"))
    return release_commit(objects, new), topics


def pick(folder: Path, onto: str, topics: list[str]) -> float:
    """Return the seconds that cherry-pick takes for all topics."""
    git(folder, "checkout", "-q", "--force", "--detach", onto)
    seconds = 0.0
    for topic in topics:
        command = ["git", *IDENTITY, "cherry-pick", "--allow-empty", "--keep-redundant-commits", topic]
        seconds += measure(command, cwd=folder, allowed=(0, 1)).wall_s
        if (folder / ".git/CHERRY_PICK_HEAD").exists():
            git(folder, "add", "--all")
            seconds += measure(["git", *IDENTITY, "cherry-pick", "--continue"], cwd=folder).wall_s
    return seconds


def carry(folder: Path, pins: list[str], at: int) -> Cost:
    """Measure our rebase of pin `at` to the next one's release, in a store that ends with it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "patches", folder / "patches")
    for later in pins[at + 1 :]:
        shutil.rmtree(folder / "patches" / later)
    (folder / "patches/latest").write_text(f"{pins[at]}\n")
    (folder / "version.txt").write_text("nightly-dev-20260101a\n")
    return measure(patchkit("--offline", "--root", str(folder), "rebase", "--onto", pins[at + 1]), allowed=(0, 3))


def rows() -> Iterator[Row]:
    """Yield all moves together; CPU of ours and the slowest move to inform."""
    pins = pin_names(ROOT)
    ours = peer = cpu = 0.0
    slowest = (0.0, "")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        for at, (old, new) in enumerate(pairwise(pins)):
            onto, topics = make_repository(Path(name, old), old, new)
            best = min((carry(Path(name, "store"), pins, at) for _ in range(ROUNDS)), key=lambda cost: cost.wall_s)
            ours, cpu = ours + best.wall_s, cpu + best.cpu_s
            slowest = max(slowest, (best.wall_s, f"{old} to {new}"))
            peer += min(pick(Path(name, old), onto, topics) for _ in range(ROUNDS))
            shutil.rmtree(Path(name, old))
    hunks = sum(len(file.hunks) for pin in pins[:-1] for file in read_manifest(ROOT, pin).files)
    moves = len(pins) - 1
    yield Row(
        f"rebase of the series, {moves} moves, {hunks} hunks",
        ours,
        peer=peer,
        peer_name="cherry-pick",
        limit=LIMIT,
        cause=CAUSE,
    )
    yield Row(f"rebase {slowest[1]}, the slowest move", slowest[0], note=f"all moves together: {cpu:.1f} s of CPU")
