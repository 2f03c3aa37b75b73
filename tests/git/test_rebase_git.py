"""Releases from the tags of a git repository, and a rebase onto a commit between two of them."""

from pathlib import Path

import pytest

from patchkit.errors import CommandError, ConfigError
from patchkit.model import GitSource
from patchkit.store import latest_pin, pin_names, read_pin
from patchkit.upstream.access import Access
from patchkit.upstream.index import listed_versions
from patchkit.verbs.rebase import Wish, abort_rebase, begin_rebase, continue_rebase
from patchkit.verbs.verify import verify_pins
from tests.git.patchfolders import git
from tests.git.test_rebase import SETTLING, settle
from tests.small_store import ABORT, PIN, UPSTREAM, write_store

EDITED = UPSTREAM[ABORT].replace("def abort(req):\n", "\n\ndef abort(req):\n")


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return write_store(tmp_path / "root", tmp_path / "cache")


@pytest.fixture
def root(access: Access, tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with v0.5.12.post1, then a commit, then v0.5.13."""
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "-q", "-b", "main")
    steps = [({}, PIN), ({ABORT: EDITED}, ""), ({ABORT: "import os\n" + EDITED}, "v0.5.13")]
    for number, (changes, tag) in enumerate(steps):
        for path, text in {**UPSTREAM, **changes}.items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            (clone / path).write_text(text)
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "-m", f"commit {number}")
        if tag:
            git(clone, "tag", tag)
    return clone


def test_release_tag_becomes_a_pin_with_its_commit(root: Path, access: Access, clone: Path) -> None:
    assert begin_rebase(root, access, Wish("v0.5.13", upstream=str(clone))).exit_code == 0
    pin = read_pin(root, "v0.5.13")
    assert (pin.source, pin.commit) == (GitSource(str(clone)), git(clone, "rev-parse", "v0.5.13").strip())
    assert verify_pins(root, ["v0.5.13"], access).subjects[1].errors == 0


def test_commit_between_releases_becomes_a_pin(root: Path, access: Access, clone: Path) -> None:
    commit = git(clone, "rev-parse", "main~1").strip()
    assert begin_rebase(root, access, Wish("main~1", upstream=str(clone))).exit_code == 0
    assert pin_names(root) == [PIN, f"{PIN}+g{commit[:10]}"]
    assert latest_pin(root) == f"{PIN}+g{commit[:10]}"
    assert read_pin(root, f"{PIN}+g{commit[:10]}").commit == commit
    assert begin_rebase(root, access, Wish("v0.5.13", upstream=str(clone))).exit_code == 0, "and on from there"


def test_conflict_on_a_commit_is_settled_like_any_other(root: Path, access: Access, clone: Path) -> None:
    (clone / ABORT).write_text(UPSTREAM[ABORT].replace("done", "finished"))
    git(clone, "commit", "-q", "-a", "-m", "rewritten")
    assert begin_rebase(root, access, Wish("HEAD", upstream=str(clone))).state == "stopped"
    (clone / ABORT).write_text("moved on\n")
    git(clone, "commit", "-q", "-a", "-m", "HEAD is another commit now")
    settle(root)
    assert continue_rebase(root, access, SETTLING).state == "written"
    assert read_pin(root, latest_pin(root)).commit == git(clone, "rev-parse", "HEAD~1").strip()


def test_through_steps_on_the_tags_between(root: Path, access: Access, clone: Path) -> None:
    git(clone, "tag", "v0.5.12.post2", "main~1")
    told = begin_rebase(root, access, Wish("v0.5.13", through=True, upstream=str(clone)))
    assert [topic.state for topic in told.topics] == ["carried", "carried"]
    assert "v0.5.12.post2" in (root / "patches/v0.5.13/rebase.json").read_text()


def test_what_is_no_release_needs_a_clone(root: Path, access: Access) -> None:
    for wish in (Wish("main"), Wish("main", upstream="https://sglang.invalid/x.git")):
        with pytest.raises(ConfigError, match="main is no release") as caught:
            begin_rebase(root, access, wish)
        assert "--upstream CLONE" in caught.value.hint


def test_revision_that_is_not_there_leaves_no_rebase_behind(root: Path, access: Access, clone: Path) -> None:
    for onto in ("v0.5.99", "nothing-like-it"):
        with pytest.raises(CommandError):
            begin_rebase(root, access, Wish(onto, upstream=str(clone)))
        with pytest.raises(ConfigError, match="no rebase is under way"):
            abort_rebase(root)


def test_offline_asks_no_remote_repository(access: Access) -> None:
    with pytest.raises(CommandError, match="--offline"):
        listed_versions(access, "https://sglang.invalid/x.git")
