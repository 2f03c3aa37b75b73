"""Every command in the docs does what the page says: each `sh` block runs, and ends with the status it names."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patchkit.upstream.access import Access, cache_folder
from patchkit.upstream.bring import bring_version

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*(ROOT / f"docs/{name}.md" for name in ("tutorial", "adopt", "scale")), *(ROOT / "docs/howto").glob("*.md")]
)
BLOCK = re.compile(r"^```sh(?: exit=(\d+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SANDBOX = re.compile(r"<!-- sandbox: (fork|store) -->")
PIN = "v0.5.12.post1"

pytestmark = [pytest.mark.network, pytest.mark.slow]


def make_fork(folder: Path) -> None:
    """A repository as a fork has it: a folder a version, a tag in docker/version.txt."""
    patch = folder / f"docker/patch/{PIN}/sglang.patch"
    patch.parent.mkdir(parents=True)
    shutil.copyfile(ROOT / f"patches/{PIN}/sglang.patch", patch)
    (folder / "docker/version.txt").write_text("nightly-dev-20260810a\n")


def make_store(folder: Path) -> None:
    """A repository with the shipped store."""
    shutil.copytree(ROOT / "patches", folder / "patches")
    shutil.copytree(ROOT / "docker", folder / "docker")
    for name in ("version.txt", "README.md"):
        shutil.copyfile(ROOT / name, folder / name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_page_runs(page: Path, tmp_path: Path, real_cache: Path) -> None:
    text = page.read_text("utf-8")
    sandbox = SANDBOX.match(text)
    assert sandbox, f"{page.name} names no sandbox"
    folder = tmp_path / "repository"
    (make_fork if sandbox[1] == "fork" else make_store)(folder)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    checkout = tmp_path / "checkout"
    bring_version(PIN[1:], Access(real_cache)).write_to(checkout)
    shim = tmp_path / "bin/patchkit"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m patchkit "$@"\n')
    shim.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{shim.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "CHECKOUT": str(checkout),
        "XDG_CACHE_HOME": str(real_cache.parent),
    }
    blocks = BLOCK.findall(text)
    assert blocks, f"{page.name} has no command"
    for status, block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == int(status or 0), f"{block}{done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def real_cache() -> Path:
    """The user's own cache, as it was before the environment was sealed: releases are downloaded once."""
    return cache_folder()
