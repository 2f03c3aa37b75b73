"""The commands, ended at many points: exit 130, and no container, file, folder or process is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchkit.engines.podman import Podman
from patchkit.process import run
from patchkit.upstream.access import Access
from tests.container.test_engines import containers

pytestmark = pytest.mark.container
INTERRUPTED = 130
PROJECT = Path(__file__).parents[2]


def patchkit(root: Path, access: Access, scratch: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    scratch.mkdir(exist_ok=True)
    env = {
        **os.environ,
        "PYTHONPATH": str(PROJECT),
        "XDG_CACHE_HOME": str(access.cache.parent),
        "TMPDIR": str(scratch),
        "PATCHKIT_ENGINE": "podman",
    }
    command = [sys.executable, "-m", "patchkit", "--root", str(root), *arguments]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tree(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(params=["build", "smoke"])
def arguments(request: pytest.FixtureRequest, small_base: str) -> list[str]:
    return ["smoke", "--control"] if request.param == "smoke" else ["build", "--base", small_base, "--no-cache"]


def test_ended_at_any_point_nothing_is_left(
    podman: Podman, root: Path, access: Access, tmp_path: Path, arguments: list[str]
) -> None:
    small_base = "localhost/patchkit-test/base:pin"
    scratch = tmp_path / "scratch"
    before = tree(root)
    assert patchkit(root, access, scratch, "build", "--base", small_base).wait(timeout=120) == 0
    started = time.monotonic()
    assert patchkit(root, access, scratch, *arguments).wait(timeout=120) == 0
    whole_s = time.monotonic() - started
    ended = []
    for part in range(1, 9):
        child = patchkit(root, access, scratch, *arguments)
        time.sleep(whole_s * part / 9)
        child.send_signal(signal.SIGINT if part % 2 else signal.SIGTERM)
        status = child.wait(timeout=60)
        ended.append(INTERRUPTED if status == -signal.SIGINT else status)  # on its way out, after its work
        assert containers(podman) == "", f"after {part} of 9"
        assert list(scratch.iterdir()) == [], f"after {part} of 9"
        run(["podman", "images", "-a"], cwd=tmp_path, timeout_s=60, env=podman.environment)
    assert tree(root) == before
    assert set(ended) <= {INTERRUPTED, 0}, ended
    assert ended.count(INTERRUPTED) >= 2, f"too fast to be ended: {ended}"
    assert patchkit(root, access, scratch, *arguments).wait(timeout=120) == 0
    asked = ["ps", "-eo", "args"]
    assert str(scratch) not in run(asked, cwd=tmp_path, timeout_s=30).stdout.decode()
