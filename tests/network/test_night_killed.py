"""A real night in a virtual environment, killed at random points and resumed, ends in the same commit and tag."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchkit.upstream.access import Access
from tests.real_night import AUTHOR, CACHE, DAY, ROOT, TAG, WHEN, Start, commit, git, make_start, settle

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(3600)]
DEADLINE_S = 600


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """A clone with the ledger that a person's part leaves behind."""
    folder = tmp_path_factory.mktemp("start")
    start = make_start(folder)
    if settle(start, Access(CACHE, deadline_s=DEADLINE_S), folder / "settle"):
        commit(start.root, "ledger: how the conflicts were settled")
    return start


def begin(root: Path, *more: str) -> "subprocess.Popen[bytes]":
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(CACHE.parent), "SOURCE_DATE_EPOCH": str(WHEN),
        "GIT_AUTHOR_NAME": AUTHOR[0], "GIT_AUTHOR_EMAIL": AUTHOR[1],
    }  # fmt: skip
    command = [sys.executable, "-m", "patchkit", "--deadline", str(DEADLINE_S), "nightly", *more]
    return subprocess.Popen(command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(root: Path, *more: str) -> str:
    child = begin(root, *more)
    told = child.communicate(timeout=DEADLINE_S)[0].decode()
    assert child.returncode == 0, told
    return told


def ends(root: Path) -> list[str]:
    return git(root, "rev-parse", TAG, f"{TAG}^{{commit}}", f"nightly/{TAG}").split()


def copy(start: Start, folder: Path) -> Path:
    shutil.copytree(start.root, folder, symlinks=True)
    return folder


def test_killed_night_ends_in_the_same_commit_and_tag(
    start: Start, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    wish = ("--engine", "venv", "--date", f"{DAY}", "--accept-suspects")
    undisturbed = copy(start, tmp_path / "undisturbed")
    finish(undisturbed, *wish)  # fills what is remembered, so that the next one takes as long as those to be killed
    shutil.rmtree(undisturbed)
    undisturbed = copy(start, undisturbed)
    began = time.monotonic()
    finish(undisturbed, *wish)
    took_s = time.monotonic() - began
    points = random.Random(request.config.getoption("--night-seed"))
    for number in range(request.config.getoption("--night-kills")):
        at_s = points.uniform(0.3, took_s)
        root = copy(start, tmp_path / f"killed-{number}")
        child = begin(root, *wish)
        time.sleep(at_s)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=60)
        state = sorted((root / "out").glob("*/state.json"))
        is_over = child.returncode == 0
        if not is_over:
            finish(root, *(("--resume",) if state else wish))
        assert ends(root) == ends(undisturbed), f"killed after {at_s:.2f} of {took_s:.2f} s"
        assert git(root, "status", "--porcelain") == ""
        print(f"{number}: killed after {at_s:5.2f} of {took_s:.2f} s, {'too late' if is_over else 'resumed'}")
        shutil.rmtree(root)
