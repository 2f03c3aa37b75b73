"""What commit a checkout is at, for messages: the one question that is put to GitPython."""

import os
from pathlib import Path

import pytest

from patchkit.checkout.directory import find_checkout, read_head
from tests.git.upstream_tree import Fixture, git


def head(folder: Path) -> str:
    return git("rev-parse", "HEAD", cwd=folder).decode()[:12]


def test_commit_and_tag(upstream: Fixture) -> None:
    assert read_head(find_checkout(upstream.repository)) == head(upstream.repository)
    git("tag", "v9", cwd=upstream.repository)
    assert read_head(find_checkout(upstream.repository)) == f"{head(upstream.repository)} (v9)"


def test_a_variable_in_the_name_is_not_expanded(upstream: Fixture, tmp_path: Path) -> None:
    moved = tmp_path / "$HOME"
    upstream.repository.rename(moved)
    assert read_head(find_checkout(moved)) == head(moved)


def test_a_hook_s_environment_does_not_lead_elsewhere(
    upstream: Fixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = head(upstream.repository)
    git("init", "-q", str(tmp_path / "other"), cwd=tmp_path)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "other/.git"))
    assert read_head(find_checkout(upstream.repository)) == expected
    monkeypatch.setenv("GIT_COMMON_DIR", str(tmp_path / "other/.git"))
    assert read_head(find_checkout(upstream.repository)) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_somebody_else_is_told_or_left_out_but_never_a_traceback(upstream: Fixture) -> None:
    expected = head(upstream.repository)
    for base, folders, files in os.walk(upstream.repository):
        for name in [".", *folders, *files]:
            os.chown(os.path.join(base, name), 65534, 65534, follow_symlinks=False)
    assert read_head(find_checkout(upstream.repository)) in ("", expected)


def test_a_repository_that_is_damaged_is_left_out(upstream: Fixture) -> None:
    (upstream.repository / ".git/HEAD").write_text("nonsense\n")
    assert read_head(find_checkout(upstream.repository)) == ""


def test_a_folder_below_a_repository_is_not_that_repository(upstream: Fixture) -> None:
    inner = upstream.repository / "python/sglang/inner"
    inner.mkdir()
    assert read_head(find_checkout(inner)) == ""
