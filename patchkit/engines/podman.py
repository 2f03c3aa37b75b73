"""podman by its command line. What each option is for was measured on 4.3.1 (docker/README.md)."""

import os
import re
import tempfile
import time
from pathlib import Path

from patchkit.engines.containers import ContainerEngine, options
from patchkit.engines.engine import BuildRequest
from patchkit.process import run
from patchkit.registry import is_loopback

_CGROUPS = Path("/sys/fs/cgroup")
_HALF = re.compile(rb'locating item named "manifest" for image with ID "([0-9a-f]{64})"')
_HALF_IMAGES = 10  # a killed build leaves one


class Podman(ContainerEngine):
    """podman; settings made by docker/setup-podman.sh are used unless the user has his own."""

    name = "podman"
    local_prefix = "localhost/"

    def __init__(self) -> None:
        super().__init__()
        if "CONTAINERS_CONF" not in os.environ and "CONTAINERS_STORAGE_CONF" not in os.environ:
            self.environment.update(own_settings())

    def describe(self) -> str:
        """Return podman's version."""
        return self._engine("--version", timeout_s=30).stdout.decode().strip()

    def build_command(self, request: BuildRequest, iid_file: Path, job: str) -> list[str]:
        """`podman build`. The key netns of containers.conf does not reach builds, so the network is said here."""
        command = [
            "build", "--network=none", "--pull=never", f"--iidfile={iid_file}", f"--tag={request.tag}",
            f"--cgroup-parent=/{job}", f"--build-arg=BASE_IMAGE={request.base}",
            *options("--build-arg", request.arguments), *options("--label", request.labels),
        ]  # fmt: skip
        if request.timestamp is not None:
            command.append(f"--timestamp={request.timestamp}")
        command.append("--layers" if request.use_cache else "--no-cache")
        return [*command, str(request.context)]

    def push(self, image: str, destination: str, *, timeout_s: float) -> str:
        """Send an image to a registry, or to a folder as oci:PATH."""
        with tempfile.TemporaryDirectory(prefix="patchkit-push-") as folder:
            digest = Path(folder) / "digest"
            plain = ["--tls-verify=false"] if is_loopback(destination.partition("/")[0]) else []
            self._engine("push", "-q", *plain, f"--digestfile={digest}", image, destination, timeout_s=timeout_s)
            return digest.read_text().strip()

    def read_only_options(self) -> list[str]:
        """Without the second option podman mounts writable folders of its own choice."""
        return ["--read-only", "--read-only-tmpfs=false"]

    def remove_container(self, name: str) -> None:
        """Remove at once; the default first waits ten seconds for the command to end."""
        self._engine("rm", "-f", "-t", "0", name, timeout_s=60, allowed=range(256))

    def external_containers(self) -> frozenset[str]:
        """Return the ids of buildah's working containers."""
        listed = self._engine("ps", "-a", "--external", "--format", "{{.ID}} {{.Status}}", timeout_s=60)
        rows = (row.split() for row in listed.stdout.decode().splitlines())
        return frozenset(row[0] for row in rows if row[1:] == ["Storage"])

    def end_build(self, job: str, before: frozenset[str]) -> None:
        """End the RUN step that a killed build leaves behind (it has a session of its own), and its container.

        Nothing says whose a working container is, so new ones are removed only while nobody else builds here.
        """
        for folder in (_CGROUPS / "pids" / job, _CGROUPS / job):
            _end_cgroup(folder)
        if _somebody_builds(self._storage()):
            return
        for container in self.external_containers() - before:
            self.remove_container(container)
        self.remove_half_images()

    def sweep(self) -> None:
        """Remove what a killed patchkit could not remove itself."""
        super().sweep()
        if not _somebody_builds(self._storage()):
            self.remove_half_images()

    def _storage(self) -> str:
        return self.environment.get("CONTAINERS_STORAGE_CONF") or os.environ.get("CONTAINERS_STORAGE_CONF", "")

    def remove_half_images(self) -> None:
        """Remove images that a build was writing when it was killed: one of them makes `podman images` fail for all."""
        for _ in range(_HALF_IMAGES):
            listed = self._engine("images", "-a", "-q", timeout_s=60, allowed=range(256))
            half = _HALF.search(listed.stderr)
            if listed.ok or half is None:
                return
            self._engine("rmi", "-f", half[1].decode(), timeout_s=60, allowed=range(256))


def own_settings() -> dict[str, str]:
    """Return the variables that name the settings of docker/setup-podman.sh, where it has been run."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "patchkit" / "podman"
    files = {"CONTAINERS_CONF": state / "containers.conf", "CONTAINERS_STORAGE_CONF": state / "storage.conf"}
    return {key: str(path) for key, path in files.items()} if all(p.is_file() for p in files.values()) else {}


def _end_cgroup(folder: Path) -> None:
    """Kill what runs in a control group and below, and remove the empty groups."""
    if not folder.is_dir():
        return
    below = sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        processes = [p for group in [*below, folder] for p in _processes(group)]
        if not processes:
            break
        run(["kill", "-KILL", *processes], cwd=Path("/"), timeout_s=10, allowed=range(256))
        time.sleep(0.05)
    for group in [*below, folder]:
        try:
            group.rmdir()
        except OSError:  # busy for a moment, or removed by podman itself: nothing runs in it, and that counts
            continue


def _processes(group: Path) -> list[str]:
    try:
        return (group / "cgroup.procs").read_text().split()
    except OSError:
        return []


def _somebody_builds(storage: str) -> bool:
    """Return whether a podman or buildah build runs on these storage settings."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[0].rpartition(b"/")[2] not in (b"podman", b"buildah") or not {b"build", b"bud"} & set(words):
                continue
            settings = (process / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is another user's, whose storage is another
            continue
        if next((s for s in settings if s.startswith(b"CONTAINERS_STORAGE_CONF=")), b"") == _setting(storage):
            return True
    return False


def _setting(storage: str) -> bytes:
    return f"CONTAINERS_STORAGE_CONF={storage}".encode() if storage else b""
