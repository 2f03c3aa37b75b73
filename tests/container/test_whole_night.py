"""A real night: from the second newest pin of this repository to the newest release, in podman.

The person's part is taken from the newest pin as it is shipped: where the rebase stops, its files settle it, and the
ledger that this leaves behind lets the night carry the series alone.
"""

import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from patchkit.nightly.report import Surroundings
from patchkit.process import run
from patchkit.store import pin_names, read_pin, read_series_names
from patchkit.upstream import Access, bring_pin, cache_folder
from patchkit.verbs.apply import Wish as ApplyWish
from patchkit.verbs.apply import apply_series
from patchkit.verbs.nightly import Wish, run_nightly
from patchkit.verbs.rebase import Settling, begin_rebase, continue_rebase
from patchkit.verbs.rebase import Wish as RebaseWish

pytestmark = [pytest.mark.network, pytest.mark.container, pytest.mark.slow, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parent.parent.parent
CACHE = cache_folder()  # before HOME is sealed: upstreams are downloaded once
NIGHT = Wish(day=date(2037, 1, 1), when=2_114_380_800, author=("A U Thor", "author@example.com"), engine="podman")


@pytest.fixture
def access() -> Access:
    return Access(CACHE, deadline_s=1800)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """This repository as it stands, with the newest pin taken out."""
    root = tmp_path / "clone"
    tracked = run(["git", "ls-files", "-z"], cwd=ROOT, timeout_s=60).stdout.decode().split("\0")[:-1]
    for name in tracked:
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    *_, second, newest = pin_names(root)
    shutil.rmtree(root / "patches" / newest)
    (root / "patches/latest").write_text(f"{second}\n")
    (root / "docker/docker-bake.json").write_text('{"default": "nightly-dev-20260101a"}')
    git(root, "init", "-q", "-b", "main", ".")
    commit(root, f"start from {second}")
    return root


def git(root: Path, *arguments: str) -> str:
    return run(["git", *arguments], cwd=root, timeout_s=60).stdout.decode().strip()


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "-c", "user.name=A U Thor", "-c", "user.email=author@example.com", "commit", "-q", "-m", message)


def settle(root: Path, access: Access, newest: str, scratch: Path) -> None:
    """Carry the series as a person would, with the shipped files of the newest pin; keep the ledger alone."""
    told = begin_rebase(root, access, RebaseWish(newest))
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


def test_night_carries_to_the_newest_release(clone: Path, access: Access, tmp_path: Path) -> None:
    newest = pin_names(ROOT)[-1]
    first = run_nightly(clone, access, NIGHT, Surroundings())
    if first.outcome == "failed":
        assert first.exit_code == 3, first
        assert git(clone, "status", "--porcelain") == "", "a failure leaves the repository as it was"
        settle(clone, access, newest, tmp_path / "settle")
        commit(clone, "ledger: how the conflicts were settled")
        first = run_nightly(clone, access, replace(NIGHT, accept_suspects=True), Surroundings())
    assert first.outcome == "published", first
    assert (first.pin_to, first.tag) == (newest, "nightly-dev-20370101a")
    assert git(clone, "rev-parse", f"{first.tag}^{{commit}}") == first.commit
    assert git(clone, "show", f"{first.commit}:patches/latest") == newest
    assert git(clone, "show", f"{first.commit}:version.txt") == first.tag
    assert first.tag in git(clone, "show", f"{first.commit}:docker/docker-bake.json")
    body = Path(first.folder, "pr-body.md").read_text()
    assert f"Series carried from {first.pin_from} to {newest}" in body
    assert run_nightly(clone, access, NIGHT, Surroundings()).outcome == "nothing"
