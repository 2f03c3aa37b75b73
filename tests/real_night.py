"""A real night's start: this repository with its newest pin taken out, and the part of a person."""

import shutil
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from patchkit.process import run
from patchkit.store import pin_names, read_pin, read_series_names
from patchkit.upstream.access import Access, cache_folder
from patchkit.upstream.bring import bring_pin
from patchkit.verbs.apply import Wish as ApplyWish
from patchkit.verbs.apply import apply_series
from patchkit.verbs.nightly import Wish
from patchkit.verbs.rebase import Settling, begin_rebase, continue_rebase
from patchkit.verbs.rebase import Wish as RebaseWish

ROOT = Path(__file__).parent.parent
CACHE = cache_folder()  # before HOME is sealed: upstreams are downloaded once
DAY = date(2037, 1, 1)
TAG = "nightly-dev-20370101a"
WHEN = 2_114_380_800
AUTHOR = ("A U Thor", "author@example.com")
NIGHT = Wish(day=DAY, when=WHEN, author=AUTHOR)


@dataclass(frozen=True)
class Start:
    """A clone at the second newest pin, which the newest is to be carried to. newest: its name."""

    root: Path
    second: str
    newest: str


def git(root: Path, *arguments: str) -> str:
    return run(["git", *arguments], cwd=root, timeout_s=60).stdout.decode().strip()


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "-c", f"user.name={AUTHOR[0]}", "-c", f"user.email={AUTHOR[1]}", "commit", "-q", "-m", message)


def make_start(folder: Path) -> Start:
    """Copy what git tracks here, take the newest pin out, and commit."""
    root = folder / "clone"
    tracked = run(["git", "ls-files", "-z"], cwd=ROOT, timeout_s=60).stdout.decode().split("\0")[:-1]
    for name in tracked:
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    *_, second, newest = pin_names(root)
    shutil.rmtree(root / "patches" / newest)
    _forget(root, newest.removeprefix("v"))
    (root / "patches/latest").write_text(f"{second}\n")
    (root / "docker/docker-bake.json").write_text('{"default": "nightly-dev-20260101a"}')
    git(root, "init", "-q", "-b", "main", ".")
    commit(root, f"start from {second}")
    return Start(root, second, newest)


def _forget(root: Path, version: str) -> None:
    """Take out the guards and smoke tests that only the newest release has: a night cannot write what they ask for."""
    for path in (root / "patches/guards").glob("*.yml"):
        guards = path.read_text().split("\n\n")
        path.write_text("\n\n".join(guard for guard in guards if f'releases: ">={version}"' not in guard))
    for path in (root / "patches/smoke").rglob("test_*.py"):
        path.write_text(path.read_text().replace(f'releases(since="{version}")', 'releases(since="99.0.0")'))


def settle(start: Start, access: Access, scratch: Path) -> bool:
    """Settle what the rebase stops at as a person would, and keep the ledger alone; return whether it stopped.

    The person's part is taken from the newest pin as it is shipped.
    """
    root, newest = start.root, start.newest
    told = begin_rebase(root, access, RebaseWish(newest, accept_suspects=True))
    if told.state != "stopped":
        shutil.rmtree(root / "patches" / newest)
        git(root, "checkout", "-q", "--", ".")
        return False
    while told.state == "stopped":
        tree = scratch / told.topics[-1].topic
        tree.mkdir(parents=True)
        bring_pin(read_pin(ROOT, newest), access).write_to(tree)
        done = [topic.topic for topic in told.topics]
        shipped = [name.removesuffix(".patch") for name in read_series_names(ROOT, newest)]
        apply_series(tree, ROOT, newest, ApplyWish(topics=tuple(name for name in shipped if name in done)))
        work = root / told.work
        for path in [file for file in work.rglob("*") if file.is_file()]:
            shutil.copyfile(tree / path.relative_to(work), path)
        told = continue_rebase(root, access, Settling(datetime.now(UTC).date(), "as shipped"))
    shutil.rmtree(root / "patches" / newest)
    git(root, "checkout", "-q", "--", "patches/latest")
    return True
