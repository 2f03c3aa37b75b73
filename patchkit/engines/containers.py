"""What podman's and docker's command lines share: names, labels, limits, and that nothing is left behind."""

import contextlib
import json
import os
import signal
import socket
import struct
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from patchkit.engines.engine import BuildRequest, ImageFacts, Ran, RunRequest
from patchkit.errors import CommandError, ConfigError
from patchkit.process import Completed, run

OWNER = "io.patchkit.owner"  # the label of a container: who started it
HELD = {signal.SIGINT, signal.SIGTERM}
_LOOK_S = 60.0  # for a question to the engine
_NO_IMAGE = "it ended with status 0, but without an image"
_TMP_SIZE = "2g"
_USER = "10001:10001"
_TAIL = 12  # lines of a failed build that are shown


class _NameTakenError(CommandError):
    """A container of somebody else has the name of ours: its status is not ours, and it stays."""


class ContainerEngine:
    """An engine that is driven by a command line like docker's."""

    name = ""
    local_prefix = ""  # before the name of an image that no registry has

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}
        self.work = Path(tempfile.gettempdir())

    # -- what differs ------------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return the engine's name and version; CommandError when it cannot be reached."""
        raise NotImplementedError

    def build_command(self, request: BuildRequest, iid_file: Path, job: str) -> list[str]:
        """Return the command line of a build."""
        raise NotImplementedError

    def end_build(self, job: str, before: frozenset[str]) -> None:
        """End what a killed build has left running."""

    def external_containers(self) -> frozenset[str]:
        """Return the ids of the working containers of builds, where the engine has such."""
        return frozenset()

    # -- the protocol ------------------------------------------------------------------------------------

    def prove(self) -> str:
        """Build an image from nothing and run it: its exit status must come through."""
        described = self.describe()
        self.sweep()
        tag = f"{self.local_prefix}patchkit/probe:{uuid.uuid4().hex[:12]}"
        with tempfile.TemporaryDirectory(prefix="patchkit-probe-") as folder:
            context = Path(folder)
            context.chmod(0o755)
            (context / "probe").write_bytes(probe_program())
            (context / "probe").chmod(0o755)
            (context / "Dockerfile").write_text('FROM scratch\nCOPY probe /probe\nRUN ["/probe"]\n')
            self.build(BuildRequest("scratch", context, tag, timeout_s=120, use_cache=False))
        try:
            ran = self.run(RunRequest(tag, ("/probe", "42"), timeout_s=60, memory_bytes=64 << 20, processes=32))
        finally:
            self.remove(tag)
        if ran.status != PROBE_STATUS:
            raise CommandError(
                f"{self.name} builds, but does not run what it built",
                found=f"exit status {ran.status} instead of {PROBE_STATUS}: {_last_line(ran.stderr)}",
                hint=self._mend(ran.stderr.decode("utf-8", "replace")),
            )
        return described

    def build(self, request: BuildRequest) -> str:
        """Build; success is exit 0 and a fresh image id (podman ends with 0 when it is killed)."""
        job = f"patchkit-{uuid.uuid4().hex[:12]}"
        before = self.external_containers()
        replaced = self.inspect(request.tag)
        with tempfile.TemporaryDirectory(prefix="patchkit-build-", dir=_large_temporary()) as folder:
            iid_file = Path(folder) / "iid"
            command = [self.name, *self.build_command(request, iid_file, job)]
            env = {**self.environment, "TMPDIR": folder}  # a killed podman leaves its temporary files
            try:
                done = run(command, cwd=self.work, timeout_s=request.timeout_s, env=env, allowed=range(-64, 256))
            except BaseException:
                with signals_held():
                    self.end_build(job, before)
                raise
            image = iid_file.read_text().strip() if iid_file.is_file() else ""
        if done.status == 0 and image:
            if replaced is not None and replaced.id != image:  # stays if it has another name or children
                self._engine("rmi", replaced.id, timeout_s=_LOOK_S, allowed=range(256))
            return image
        self.end_build(job, before)
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        raise CommandError(
            f"{self.name} did not build {request.tag}",
            where=str(request.context),
            found="; ".join(filter(None, [_tail(text), "" if done.status else _NO_IMAGE])),
            hint=self._mend(text),
        )

    def run(self, request: RunRequest) -> Ran:
        """Run in a named container that is removed on every way out; its own record of the exit status counts."""
        name = f"patchkit-{uuid.uuid4().hex[:12]}"
        command = [self.name, "run", *self._run_options(request, name), request.image, *request.command]
        try:
            done = self._run(command, request.timeout_s, range(-64, 256))
            status = self._recorded_status(name, done)
        except _NameTakenError:  # by a container that is not ours to remove
            raise
        except BaseException:
            with signals_held():
                self.remove_container(name)
            raise
        if not request.keep:
            with signals_held():
                self.remove_container(name)
        return Ran(status, done.stdout, done.stderr, done.seconds, name if request.keep else "")

    def inspect(self, image: str) -> ImageFacts | None:
        """Return what the engine knows of an image that is here."""
        done = self._engine("image", "inspect", image, timeout_s=_LOOK_S, allowed=range(256))
        if not done.ok:
            return None
        found: dict[str, Any] = json.loads(done.stdout)[0]
        identifier = str(found["Id"])
        digests = [str(name).partition("@")[2] for name in found.get("RepoDigests") or []]
        return ImageFacts(
            id=identifier if identifier.startswith("sha256:") else f"sha256:{identifier}",
            digest=str(found.get("Digest") or (digests[0] if digests else "")),
            labels={str(k): str(v) for k, v in ((found.get("Config") or {}).get("Labels") or {}).items()},
            created=str(found.get("Created", "")),
        )

    def remove(self, image: str) -> None:
        """Remove an image or its name."""
        self._engine("rmi", "-f", image, timeout_s=_LOOK_S, allowed=range(256))

    # -- more than the protocol --------------------------------------------------------------------------

    def pull(self, image: str, *, timeout_s: float) -> None:
        """Bring an image from its registry."""
        self._engine("pull", "-q", image, timeout_s=timeout_s)

    def push(self, image: str, destination: str, *, timeout_s: float) -> str:
        """Send an image to a registry and return the digest that it has there."""
        raise NotImplementedError

    def import_root(self, archive: Path, tag: str, *, timeout_s: float) -> None:
        """Make an image of a root file system."""
        self._engine("import", "--change", 'CMD ["/bin/bash"]', str(archive), tag, timeout_s=timeout_s)

    def remove_container(self, name: str) -> None:
        """Remove a container, running or not; none is no error."""
        self._engine("rm", "-f", name, timeout_s=_LOOK_S, allowed=range(256))

    def sweep(self) -> None:
        """Remove containers whose patchkit is gone: killed with KILL, it could not do it itself."""
        listed = self._engine("ps", "-aq", "--filter", f"label={OWNER}", timeout_s=_LOOK_S).stdout.decode().split()
        for container in listed:
            asked = f'{{{{index .Config.Labels "{OWNER}"}}}}'
            looked = self._engine("inspect", "--format", asked, container, timeout_s=_LOOK_S, allowed=range(256))
            if looked.ok and is_gone(looked.stdout.decode().strip()):
                self.remove_container(container)

    # -- details -----------------------------------------------------------------------------------------

    def _engine(self, *arguments: str, timeout_s: float, allowed: Sequence[int] = (0,)) -> Completed:
        return self._run([self.name, *arguments], timeout_s, allowed)

    def _run(self, command: Sequence[str], timeout_s: float, allowed: Sequence[int]) -> Completed:
        """Run with a folder for temporary files, which a killed podman would leave."""
        with tempfile.TemporaryDirectory(prefix="patchkit-engine-", ignore_cleanup_errors=True) as folder:
            env = {**self.environment, "TMPDIR": folder}
            return run(command, cwd=self.work, timeout_s=timeout_s, env=env, allowed=allowed)

    def _run_options(self, request: RunRequest, name: str) -> list[str]:
        options = [
            f"--name={name}",
            f"--label={OWNER}={own_name()}",
            "--pull=never",
            "--network=none",
            "--cap-drop=all",
            "--security-opt=no-new-privileges",
            f"--memory={request.memory_bytes}",
            f"--pids-limit={request.processes}",
            f"--tmpfs=/tmp:rw,size={_TMP_SIZE},mode=1777",
            f"--user={'0:0' if request.as_root else _USER}",
            "--env=HOME=/tmp",
        ]
        if not request.writable_root:
            options += self.read_only_options()
        for mount in request.mounts:
            options.append(f"--volume={mount.host}:{mount.inside}:{'rw' if mount.writable else 'ro'}")
        options += [f"--env={key}={value}" for key, value in request.environment.items()]
        if request.command:
            options.append("--entrypoint=")
        return options

    def read_only_options(self) -> list[str]:
        """Return the options that make the root file system read-only."""
        return ["--read-only"]

    def _recorded_status(self, name: str, done: Completed) -> int:
        """Return the status that the container's own record has (`docker run --rm` on podman's socket says 0, always).

        A run that never became a container is an engine failure, whatever the client's status.
        """
        asked = f'{{{{.State.ExitCode}}}} {{{{.State.Status}}}} {{{{index .Config.Labels "{OWNER}"}}}}'
        looked = self._engine(
            "container", "inspect", "--format", asked, name, timeout_s=_LOOK_S, allowed=range(256)
        )  # fmt: skip
        text = done.stderr.decode("utf-8", "replace")
        words = looked.stdout.decode().split()
        if looked.ok and words[2:] != [own_name()]:
            raise _NameTakenError(
                f"another container is called {name}", found=_tail(text), kept="that container, as it is"
            )
        if not looked.ok or words[1] not in ("exited", "stopped"):
            raise CommandError(
                f"{self.name} did not run the command",
                where=f"container {name}",
                found=_tail(text),
                hint=self._mend(text),
            )
        status = int(words[0])
        if status != done.status and done.status >= 0:
            return status or done.status
        return status

    def _mend(self, text: str) -> str:
        """Return the line that mends a known failure."""
        return next((hint for words, hint in _KNOWN if words in text), "")


_KNOWN = (
    ("cgroups in hybrid mode", "docker/setup-podman.sh    # crun refuses this machine; runc does not"),
    ("error setting rlimit", "docker/setup-podman.sh    # default limits are above what this user may set"),
    ("rlimits", "docker/setup-podman.sh    # default limits are above what this user may set"),
    ("Cannot connect to the Docker daemon", "start the docker daemon, or: patchkit build --engine podman"),
    ("no space left on device", "free disk space, then run it again: finished layers are kept"),
    ("image not known", "patchkit build    # the base image is not here"),
)

# -- the probe --------------------------------------------------------------------------------------------

PROBE_STATUS = 42
_MACHINES = {
    # Ends with 42 times the number of its arguments: mov rdi,[rsp]; dec rdi; imul rdi,rdi,42; mov eax,60; syscall
    "x86_64": (62, bytes.fromhex("488b3c24 48ffcf 486bff2a b83c000000 0f05")),
    # ldr x0,[sp]; sub x0,x0,#1; mov x1,#42; mul x0,x0,x1; mov x8,#93; svc #0
    "aarch64": (183, struct.pack("<6I", 0xF94003E0, 0xD1000400, 0xD2800541, 0x9B017C00, 0xD2800BA8, 0xD4000001)),
}


def probe_program() -> bytes:
    """Return a static program for this machine, smaller than a shell would be: its exit status is 42 per argument."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        raise ConfigError(f"no probe program for {machine}", hint="patchkit build --engine venv")
    number, code = _MACHINES[machine]
    start, header = 0x400000, 64 + 56
    elf = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, number, 1, start + header, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    size = header + len(code)
    return elf + struct.pack("<IIQQQQQQ", 1, 5, 0, start, start, size, size, 0x1000) + code


# -- owners -----------------------------------------------------------------------------------------------


def own_name() -> str:
    """Return what this process is called on a container's label: host, process id and its start."""
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}"


def is_gone(owner: str) -> bool:
    """Return whether the process that a label names has ended; unknown for another host."""
    host, _, rest = owner.partition("/")
    number, _, started = rest.partition("/")
    if host != socket.gethostname() or not number.isdecimal():
        return False
    return _started(int(number)) != started


def _started(process: int) -> str:
    """Return when a process started, in the kernel's ticks, as ids are used again; empty when it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19]


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Put off Ctrl-C and TERM until what is begun is cleaned up."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _large_temporary() -> str | None:
    """Return where temporary layers go: a /tmp in memory may be too small for them."""
    return None if "TMPDIR" in os.environ or not os.access("/var/tmp", os.W_OK) else "/var/tmp"


def options(flag: str, values: Mapping[str, str]) -> list[str]:
    """Return one `flag=key=value` each, in a fixed order."""
    return [f"{flag}={key}={value}" for key, value in sorted(values.items())]


def _last_line(text: bytes) -> str:
    return _tail(text.decode("utf-8", "replace"), 1)


def _tail(text: str, count: int = _TAIL) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])
