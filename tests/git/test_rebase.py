"""A series is carried to a new release: it stops, goes on elsewhere, remembers, and leaves nothing half done."""

import hashlib
import shutil
from datetime import date
from pathlib import Path

import pytest

from patchkit.errors import ConfigError, ConflictError
from patchkit.rebasing.ledger import read_ledger
from patchkit.upstream.access import Access
from patchkit.upstream.objects import File
from patchkit.verbs.rebase import (
    Settling,
    Wish,
    abort_rebase,
    begin_rebase,
    continue_rebase,
    rebase_status,
    skip_topic,
)
from patchkit.verbs.refresh import refresh_pin
from tests.small_store import ABORT, PIN, UPSTREAM, write_store

NEXT = "v0.5.13"
SETTLING = Settling(date(2026, 1, 2), why="both words count")
Store = tuple[Path, Access]


def add_upstream(access: Access, version: str, changes: dict[str, str]) -> None:
    """Put another release into the cache."""
    ref = f"refs/patchkit/index/{version}/{hashlib.sha256(version.encode()).hexdigest()}"
    files = [(path, File(text.encode())) for path, text in {**UPSTREAM, **changes}.items()]
    access.objects.keep(ref, files, note=f"sglang-{version}.whl")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store whose next upstream rewrote the line that abort-guards changes."""
    root = tmp_path / "store"
    access = write_store(root, tmp_path / "cache")
    add_upstream(access, NEXT[1:], {ABORT: UPSTREAM[ABORT].replace("done", "finished")})
    return root, access


def tree_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def settle(root: Path) -> None:
    """Do what a person does."""
    path = root / "patches/.rebase/work" / ABORT
    text = path.read_text()
    assert text.count("<<<<<<< ") == 1
    path.write_text(UPSTREAM[ABORT].replace("req.done", "req.finished = req.gone"))


def test_conflict_stops_with_both_sides(store: Store) -> None:
    root, access = store
    before = tree_of(root)
    result = begin_rebase(root, access, Wish(NEXT))
    assert (result.state, result.exit_code) == ("stopped", 3)
    text = (root / "patches/.rebase/work" / ABORT).read_text()
    assert "    req.finished = True\n||||||| " in text
    assert "    req.gone = True\n>>>>>>> " in text
    after = {
        path: data for path, data in tree_of(root).items() if not path.startswith(("patches/.rebase/", ".patchkit/"))
    }
    assert after == before


def test_markers_that_are_left_are_refused(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    before = tree_of(root / "patches")
    with pytest.raises(ConflictError, match="conflict markers are left"):
        continue_rebase(root, access, SETTLING)
    assert tree_of(root / "patches") == before


def test_settled_series_is_written_in_one_step(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    settle(root)
    result = continue_rebase(root, access, SETTLING)
    assert (result.state, result.exit_code) == ("written", 0)
    assert not (root / "patches/.rebase").exists()
    patch = (root / "patches" / NEXT / "abort-guards.patch").read_bytes()
    assert b"-    req.finished = True\n+    req.finished = req.gone = True\n" in patch
    assert (root / "patches/latest").read_text() == f"{NEXT}\n"
    hunks = [hunk for topic in result.topics for hunk in topic.hunks]
    assert [hunk.stage for hunk in hunks] == ["by hand", "unchanged"]


def test_resolution_is_replayed_on_exact_match_only(store: Store, tmp_path: Path) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    settle(root)
    continue_rebase(root, access, SETTLING)
    (entry,) = read_ledger(root)
    assert (entry.result, entry.why) == ("    req.finished = req.gone = True\n", "both words count")
    add_upstream(access, "0.5.14", {ABORT: "# moved\n" + UPSTREAM[ABORT].replace("done", "finished")})
    add_upstream(access, "0.5.15", {ABORT: UPSTREAM[ABORT].replace("done", "ended")})
    again = begin_rebase(root, access, Wish("v0.5.14", source=PIN))
    assert again.state == "written"
    assert b"+    req.finished = req.gone = True\n" in (root / "patches/v0.5.14/abort-guards.patch").read_bytes()
    assert begin_rebase(root, access, Wish("v0.5.15", source=PIN)).state == "stopped"


def test_rebase_goes_on_elsewhere_to_the_same_bytes(store: Store, tmp_path: Path) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    clone = tmp_path / "clone"
    shutil.copytree(root, clone)
    (clone / "patches/.rebase/1-v0.5.13").mkdir(exist_ok=True)
    (clone / "patches/.rebase/1-v0.5.13/abort-guards.patch").write_text("of a killed run, before the state named it")
    for one in (root, clone):
        settle(one)
        continue_rebase(one, access, SETTLING)
    assert tree_of(root / "patches") == tree_of(clone / "patches")


def test_second_rebase_is_refused_and_abort_ends_the_first(store: Store) -> None:
    root, access = store
    before = tree_of(root / "patches")
    begin_rebase(root, access, Wish(NEXT))
    with pytest.raises(ConfigError, match="under way already"):
        begin_rebase(root, access, Wish(NEXT))
    assert rebase_status(root, access).state == "stopped"
    abort_rebase(root)
    assert tree_of(root / "patches") == before


def test_skipped_topic_is_left_out(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    result = skip_topic(root, access)
    assert [(topic.topic, topic.state) for topic in result.topics] == [
        ("abort-guards", "skipped"),
        ("timeouts", "carried"),
    ]
    assert (root / "patches" / NEXT / "series").read_text() == "timeouts.patch\n"


def test_series_of_which_nothing_is_left_is_not_written(store: Store) -> None:
    root, access = store
    (root / "patches" / PIN / "series").write_text("abort-guards.patch\n")
    (root / "patches" / PIN / "timeouts.patch").unlink()
    refresh_pin(root, PIN, access)
    begin_rebase(root, access, Wish(NEXT))
    with pytest.raises(ConfigError, match="nothing is left of the series") as caught:
        skip_topic(root, access)
    assert caught.value.hint == "patchkit rebase --abort"
    abort_rebase(root)
    assert not (root / "patches" / NEXT).exists()
