"""The embedded engine: a virtual environment with the CPU runtime, and patched trees beside it.

The same inimage.py patches and proves, the same smoke tests run. An "image" is a folder with python/sglang, its
record and its labels. No network and a memory limit where the kernel lets us; the file system is the host's.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from patchkit.engines.engine import BuildRequest, ImageFacts, Ran, RunRequest
from patchkit.engines.recipes import inimage, key
from patchkit.engines.runtime import bring_runtime, made_once
from patchkit.errors import CommandError
from patchkit.process import run
from patchkit.store import replace_file
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream

_FACTS = "patchkit.json"
_PROBE_STATUS = 42
# Runs before the command: a fresh network namespace has its loopback down, and gloo wants it up.
_ENTER = """
import fcntl, os, resource, socket, struct, sys
memory, isolated, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
if isolated == "1":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41))
os.execvp(command[0], command)
"""


class Venv:
    """A virtual environment; its runtime is made on first use and serves every pin."""

    name = "venv"

    def __init__(self, access: Access) -> None:
        self.access = access
        self._isolate: list[str] | None = None

    @property
    def folder(self) -> Path:
        """Where runtimes, trees and images are."""
        return self.access.cache / "venv"

    def prove(self) -> str:
        """Make the runtime if need be, and run something in it."""
        runtime = bring_runtime(self.access)
        with tempfile.TemporaryDirectory(prefix="patchkit-probe-") as folder:
            command = ("python3", "-c", f"raise SystemExit({_PROBE_STATUS})")
            ran = self.run(RunRequest(folder, command, timeout_s=60))
        if ran.status != _PROBE_STATUS:
            found = ran.stderr.decode("utf-8", "replace").strip().splitlines()
            raise CommandError(
                "the virtual environment does not run",
                where=str(runtime),
                found=found[-1] if found else f"exit status {ran.status}",
                hint=f"rm -r {runtime}",
            )
        network = "no network" if self._isolation() else "network of the host"
        return f"Python {sys.version_info.major}.{sys.version_info.minor}, CPU runtime, {network}"

    def bring_base(self, upstream: Upstream) -> str:
        """Return the folder of an upstream tree, unpatched; written once."""
        folder = self.folder / "trees" / f"v{upstream.version}-{upstream.tree[:12]}"
        with made_once(folder) as aside:
            if aside is not None:
                upstream.write_to(aside)
        return str(folder)

    def build(self, request: BuildRequest) -> str:
        """Copy the tree of `base` and let inimage.py patch it; the same parts give the same folder, proven again."""
        context = {path.name: path.read_bytes() for path in sorted(request.context.iterdir()) if path.is_file()}
        made_from = key(request.base, str(bring_runtime(self.access)), *context, *context.values())
        folder = self.folder / "images" / f"{request.tag.rpartition('/')[2].replace(':', '-')}-{made_from}"
        if folder.is_dir() and not (request.use_cache and self._is_intact(folder)):
            shutil.rmtree(folder)
        with made_once(folder) as aside:
            if aside is not None:
                shutil.copytree(Path(request.base) / "python", aside / "python", symlinks=True)
                self._apply(aside, request)
        created = request.timestamp if request.timestamp is not None else int((folder / "python").stat().st_ctime)
        facts = {"labels": dict(request.labels), "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created))}
        (folder / _FACTS).write_text(json.dumps(facts, indent=1, sort_keys=True))
        self._name(request.tag, folder)
        return str(folder)

    def run(self, request: RunRequest) -> Ran:
        """Run the command with the runtime's Python and the image's tree on its path."""
        runtime = bring_runtime(self.access)
        mounts = {mount.inside: str(mount.host) for mount in request.mounts}
        mounts["/etc/patchkit"] = f"{request.image}/etc/patchkit"
        command = [_outside(word, mounts) for word in request.command]
        isolation = self._isolation()
        enter = [sys.executable, "-IS", "-c", _ENTER, str(request.memory_bytes), "1" if isolation else "0"]
        with tempfile.TemporaryDirectory(prefix="patchkit-run-") as home:
            done = run(
                [*isolation, *enter, *command],
                cwd=Path(home),
                timeout_s=request.timeout_s,
                env={
                    "HOME": home,
                    "TMPDIR": home,
                    "PATH": f"{runtime}/bin:/usr/local/bin:/usr/bin:/bin",
                    "PYTHONPATH": f"{request.image}/python",
                    "PYTHONDONTWRITEBYTECODE": "",
                    "PYTHONNOUSERSITE": "1",
                    **{name: _outside(value, mounts) for name, value in request.environment.items()},
                },
                allowed=range(-64, 256),
            )
        status = done.status if done.status >= 0 else 128 - done.status
        return Ran(status, done.stdout, done.stderr, done.seconds)

    def inspect(self, image: str) -> ImageFacts | None:
        """Return the labels of an image's folder; a base tree has none."""
        tag_file = self._tag_file(image)
        folder = Path(tag_file.read_text().strip() if tag_file.is_file() else image)
        if not (folder / "python" / "sglang").is_dir():
            return None
        facts = folder / _FACTS
        document: dict[str, Any] = json.loads(facts.read_text()) if facts.is_file() else {"labels": {}, "created": ""}
        return ImageFacts(str(folder), "", document["labels"], document["created"])

    def remove(self, image: str) -> None:
        """Remove the folder, if it is one of ours."""
        folder = Path(image)
        if folder.is_dir() and self.folder in folder.parents:
            shutil.rmtree(folder)

    # -- details -----------------------------------------------------------------------------------------

    def _name(self, tag: str, folder: Path) -> None:
        """Let the tag name the folder; the one that it named before is removed, as nothing names it any more."""
        tag_file = self._tag_file(tag)
        tag_file.parent.mkdir(parents=True, exist_ok=True)
        before = tag_file.read_text().strip() if tag_file.is_file() else ""
        replace_file(tag_file, f"{folder}\n".encode())
        if before and before != str(folder):
            self.remove(before)

    def _tag_file(self, tag: str) -> Path:
        return self.folder / "tags" / tag.replace("/", "_").replace(":", "_")

    def _apply(self, folder: Path, request: BuildRequest) -> None:
        done = self._inimage(folder, request.context, "apply", request.timeout_s)
        if done.status:
            raise CommandError(
                f"the series was not written into {request.tag}",
                where=request.base,
                found=done.stderr.decode("utf-8", "replace").strip(),
            )

    def _is_intact(self, folder: Path) -> bool:
        with tempfile.TemporaryDirectory(prefix="patchkit-context-") as scratch:
            (Path(scratch) / "inimage.py").write_bytes(inimage())
            return self._inimage(folder, Path(scratch), "verify", 120).status == 0

    def _inimage(self, folder: Path, context: Path, command: str, timeout_s: float) -> Ran:
        record = str(folder / "etc" / "patchkit" / "manifest.json")
        words = ("python3", str(context / "inimage.py"), command, "--record", record)
        return self.run(RunRequest(str(folder), words, timeout_s))

    def _isolation(self) -> list[str]:
        """Return the command that takes the network away, or nothing where the kernel refuses it."""
        if self._isolate is None:
            self._isolate = next((words for words in (["unshare", "-n"], ["unshare", "-rn"]) if _works(words)), [])
        return self._isolate


def _works(isolation: list[str]) -> bool:
    command = [*isolation, sys.executable, "-IS", "-c", _ENTER, str(1 << 30), "1", "true"]
    try:
        return run(command, cwd=Path("/"), timeout_s=30, allowed=range(256)).ok
    except CommandError:  # no unshare here
        return False


def _outside(word: str, mounts: dict[str, str]) -> str:
    """Return the word with the inside path that it starts with, or has after "=", as the host knows it."""
    head, equals, rest = word.partition("=")
    if equals and head.startswith("-"):
        return f"{head}={_outside(rest, mounts)}"
    for inside, host in mounts.items():
        if word == inside or word.startswith(f"{inside}/"):
            return host + word[len(inside) :]
    return word
