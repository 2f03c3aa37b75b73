"""A store in a git repository, small enough to copy for each test."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.process import run

Git = Callable[..., str]

TOPIC = """
[timeouts]
title = "deadlines"
fault = "It waits."
why = "A lost peer."
upstream = ["sgl-project/sglang#28652"]
"""


def git(root: Path, *arguments: str) -> str:
    names = {key: value for key, value in os.environ.items() if key.startswith("GIT_")}
    return run(["git", *arguments], cwd=root, timeout_s=30, env=names).stdout.decode().strip()


@pytest.fixture(scope="session")
def pristine_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that tests copy, not yet a repository."""
    root = tmp_path_factory.mktemp("pristine")
    for name, text in {
        "patches/topics.toml": TOPIC,
        "patches/latest": "v0.5.13\n",
        "patches/v0.5.13/series": "timeouts.patch\n",
        "patches/v0.5.13/timeouts.patch": "Description: deadlines\n",
        "version.txt": "nightly-dev-20260809a\n",
        ".gitignore": "ignored\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def store(pristine_store: Path, tmp_path: Path) -> Path:
    """The store in a git repository with one commit."""
    root = tmp_path / "store"
    shutil.copytree(pristine_store, root)
    git(root, "init", "-q", "-b", "main", ".")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "store")
    return root
