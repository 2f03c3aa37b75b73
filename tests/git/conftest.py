"""One upstream a session; each test gets its own copy."""

import shutil
from pathlib import Path

import pytest

from tests.git.upstream_tree import FIRST, PRISTINE, SECOND, Fixture, git, make_patch, write_tree


@pytest.fixture(scope="session")
def upstream_once(tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    folder = tmp_path_factory.mktemp("upstream")
    git("init", "-q", "-b", "main", cwd=folder)
    names = {
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    patches = []
    for files in (PRISTINE, FIRST, SECOND):
        write_tree(folder, dict(files))
        if files is not PRISTINE:
            patches.append(make_patch(folder))
        git("add", "-A", cwd=folder)
        git("commit", "-qm", "x", cwd=folder, env=names)
    whole = git("diff-tree", "-p", "--full-index", "HEAD~2", "HEAD", cwd=folder)
    git("checkout", "-q", "--detach", "HEAD~2", cwd=folder)
    return Fixture(folder, (patches[0], patches[1]), whole)


@pytest.fixture
def upstream(upstream_once: Fixture, tmp_path: Path) -> Fixture:
    """A git checkout at the pin."""
    folder = tmp_path / "checkout"
    shutil.copytree(upstream_once.repository, folder)
    return Fixture(folder, upstream_once.topics, upstream_once.all_in_one)


@pytest.fixture
def wheel_tree(upstream_once: Fixture, tmp_path: Path) -> Path:
    """The same files without a repository."""
    folder = tmp_path / "wheel"
    write_tree(folder, dict(PRISTINE))
    return folder
