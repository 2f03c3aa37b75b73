"""Engines, a small Debian with Python, and on it a small sglang laid out as in the field."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import socket as socket_of_os

import pytest

from patchkit.engines.containers import ContainerEngine
from patchkit.engines.cpu_base import bring_python_image
from patchkit.engines.docker import Docker
from patchkit.engines.engine import BuildRequest
from patchkit.engines.podman import Podman, own_settings
from patchkit.process import run
from patchkit.upstream.access import Access
from tests.small_store import UPSTREAM, VERSION, write_store

# Read before HOME is sealed: the settings of docker/setup-podman.sh lie below it.
SETTINGS = {} if "CONTAINERS_CONF" in os.environ else own_settings()
DAEMON = "PATCHKIT_TEST_DOCKER_HOST"
REGISTRY = "PATCHKIT_TEST_REGISTRY"
DOCKERFILE = f"""\
ARG BASE_IMAGE
FROM ${{BASE_IMAGE}}
COPY python /sgl-workspace/sglang/python
RUN echo /sgl-workspace/sglang/python > /usr/lib/python3/dist-packages/sglang.pth \\
 && mkdir /usr/lib/python3/dist-packages/sglang-{VERSION}.dist-info
"""


@pytest.fixture(scope="session")
def own_storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Settings of podman with a storage of the tests' own; images of the user's storage can be read there."""
    folder = tmp_path_factory.mktemp("storage")
    asked = ["podman", "info", "--format", "{{.Store.GraphRoot}} {{.Store.GraphDriverName}}"]
    root, driver = run(asked, cwd=folder, timeout_s=60, env=SETTINGS).stdout.decode().split()
    text = f'[storage]\ndriver = "{driver}"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    (folder / "storage.conf").write_text(f'{text}[storage.options]\nadditionalimagestores = ["{root}"]\n')
    yield {**SETTINGS, "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}
    run(["umount", "-R", "-l", str(folder / "graph" / driver)], cwd=Path("/"), timeout_s=60, allowed=range(256))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def settings(sealed: Path, own_storage: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in own_storage.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def podman(own_storage: dict[str, str]) -> Podman:
    engine = Podman()
    engine.environment.update(own_storage)
    engine.prove()
    return engine


@pytest.fixture(scope="session")
def socket(podman: Podman, own_storage: dict[str, str]) -> Iterator[str]:
    """Podman's socket, which docker's command line takes for a daemon."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix://{folder}/podman.sock"
        command = ["podman", "system", "service", "--time=0", address]
        service = subprocess.Popen(command, env={**os.environ, **own_storage}, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not Path(folder, "podman.sock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield address
        service.terminate()
        service.wait(timeout=20)


@pytest.fixture(scope="session")
def dockerd() -> str:
    """The address of a real docker daemon."""
    address = os.environ.get(DAEMON, "")
    if not address:
        pytest.skip(f"no docker daemon: {DAEMON} names the address of one")
    return address


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A container registry on a loopback port, as host:port."""
    program = shutil.which(os.environ.get(REGISTRY, "docker-registry"))
    if program is None:
        pytest.skip(f"no docker-registry on PATH, and {REGISTRY} names none")
    folder = tmp_path_factory.mktemp("registry")
    with socket_of_os() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    settings = {
        "version": "0.1",
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": address},
        "log": {"level": "error"},
    }
    (folder / "config.yml").write_text(json.dumps(settings))  # YAML has JSON in it
    with (folder / "log").open("wb") as log:
        service = subprocess.Popen([program, "serve", str(folder / "config.yml")], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 20
        while not is_answered(address) and service.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert is_answered(address), (folder / "log").read_text()
        yield address
    finally:
        service.terminate()
        service.wait(timeout=20)


def is_answered(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket_of_os() as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.fixture(params=["podman", "podman's socket", "dockerd", "dockerd's BuildKit"])
def engine(request: pytest.FixtureRequest, podman: Podman, monkeypatch: pytest.MonkeyPatch) -> ContainerEngine:
    """Each container engine: podman, docker's client on podman's socket, docker's client on its own daemon."""
    if request.param == "podman":
        return podman
    fixture = "socket" if request.param == "podman's socket" else "dockerd"
    monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue(fixture))
    if request.param == "dockerd":
        monkeypatch.setenv("DOCKER_BUILDKIT", "0")
    docker = Docker()
    described = docker.describe()
    if request.param == "dockerd's BuildKit" and not described.endswith("BuildKit"):
        pytest.skip(f"docker's client has no BuildKit: {described}")
    return docker


@pytest.fixture(scope="session")
def python_image(podman: Podman, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small Debian with Python, for podman."""
    return bring_python_image(podman, Access(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def engine_image(engine: ContainerEngine, tmp_path: Path) -> str:
    """The same, for the engine of the test."""
    return bring_python_image(engine, Access(tmp_path / "cache"))


@pytest.fixture(scope="session")
def small_base(podman: Podman, python_image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image with the small upstream installed as lmsysorg/sglang has it, for podman."""
    return build_base(podman, python_image, tmp_path_factory.mktemp("base"))


@pytest.fixture
def engine_base(engine: ContainerEngine, engine_image: str, tmp_path: Path) -> str:
    """The same, for the engine of the test."""
    return build_base(engine, engine_image, tmp_path)


def build_base(engine: ContainerEngine, python_image: str, folder: Path) -> str:
    context = folder / "base"
    for path, text in UPSTREAM.items():
        (context / path).parent.mkdir(parents=True, exist_ok=True)
        (context / path).write_text(text)
    (context / "Dockerfile").write_text(DOCKERFILE)
    tag = f"{engine.local_prefix}patchkit-test/base:pin"
    engine.build(BuildRequest(python_image, context, tag, timeout_s=300))
    return tag


@pytest.fixture(scope="session")
def store_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("store")
    write_store(folder / "root", folder / "cache" / "patchkit")
    return folder / "root", folder / "cache" / "patchkit"


@pytest.fixture
def root(store_once: tuple[Path, Path]) -> Path:
    return store_once[0]


@pytest.fixture
def access(store_once: tuple[Path, Path]) -> Access:
    return Access(store_once[1], offline=True, deadline_s=300)


Spawn = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start Python with some lines that use podman; it ends with the test."""
    children = []
    start = "import signal\ndef stop(*_): raise KeyboardInterrupt\nsignal.signal(signal.SIGTERM, stop)\n"
    imports = (
        "from pathlib import Path\nfrom patchkit.engines.podman import Podman\nfrom patchkit.engines.engine import *\n"
    )

    def spawn(lines: str) -> "subprocess.Popen[bytes]":
        root = str(Path(__file__).parents[2])
        env = {**os.environ, "PYTHONPATH": root}
        child = subprocess.Popen([sys.executable, "-c", start + imports + lines], env=env, stderr=subprocess.DEVNULL)
        children.append(child)
        return child

    yield spawn
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
        child.wait(timeout=20)
