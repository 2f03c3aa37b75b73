"""A real night: from the second newest pin of this repository to the newest release, in podman."""

from dataclasses import replace
from pathlib import Path

import pytest

from patchkit.nightly.report import Surroundings
from patchkit.upstream.access import Access
from patchkit.verbs.nightly import run_nightly
from tests.real_night import CACHE, NIGHT, TAG, commit, git, make_start, settle

pytestmark = [pytest.mark.network, pytest.mark.container, pytest.mark.slow, pytest.mark.timeout(1800)]


def test_night_carries_to_the_newest_release(tmp_path: Path) -> None:
    access = Access(CACHE, deadline_s=1800)
    start = make_start(tmp_path)
    if settle(start, access, tmp_path / "settle"):
        commit(start.root, "ledger: how the conflicts were settled")
    wish = replace(NIGHT, engine="podman", accept_suspects=True)
    night = run_nightly(start.root, access, wish, Surroundings())
    assert night.outcome == "published", night
    assert [step.name for step in night.steps] == ["resolve", "rebase", "verify", "bump", "build", "smoke", "publish"]
    assert (night.pin_from, night.pin_to, night.tag) == (start.second, start.newest, TAG)
    assert git(start.root, "rev-parse", f"{TAG}^{{commit}}") == night.commit
    assert git(start.root, "show", f"{night.commit}:patches/latest") == start.newest
    assert git(start.root, "show", f"{night.commit}:version.txt") == TAG
    assert TAG in git(start.root, "show", f"{night.commit}:docker/docker-bake.json")
    assert git(start.root, "status", "--porcelain") == ""
    folder = Path(night.folder)
    assert f"Series carried from {start.second} to {start.newest}" in (folder / "pr-body.md").read_text()
    assert f"carry the series from {start.second}" in (folder / "pr-title.txt").read_text()
    assert run_nightly(start.root, access, wish, Surroundings()).outcome == "nothing"


def test_night_that_stops_for_a_person_leaves_the_repository_as_it_was(tmp_path: Path) -> None:
    access = Access(CACHE, deadline_s=1800)
    start = make_start(tmp_path)
    (start.root / "patches/guards/abort-guards.yml").write_text("not a guard")
    commit(start.root, "a guard that cannot be read")
    head, refs = git(start.root, "rev-parse", "HEAD"), git(start.root, "show-ref")
    night = run_nightly(start.root, access, replace(NIGHT, engine="podman", accept_suspects=True), Surroundings())
    assert (night.outcome, night.commit) == ("failed", "")
    assert night.exit_code in (2, 3), night
    assert (git(start.root, "rev-parse", "HEAD"), git(start.root, "show-ref")) == (head, refs)
    assert git(start.root, "status", "--porcelain") == ""
    assert "nightly failed" in Path(night.folder, "pr-title.txt").read_text()
