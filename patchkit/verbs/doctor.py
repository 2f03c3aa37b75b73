"""`doctor`: what is missing here, and the line that mends it."""

import os
import shutil
import sys
from pathlib import Path

from patchkit.errors import PatchkitError
from patchkit.process import run
from patchkit.results.doctor import Doctor, Probe
from patchkit.upstream.access import Access
from patchkit.upstream.bring import kept_versions

_TIMEOUT_S = 20.0
_ROOM_GB = 6  # the CPU runtime takes 1.3 GB, its image the same, and pip needs as much again while it installs


def examine(access: Access) -> Doctor:
    """Look at Python, git, pip, the cache and the engines; nothing is changed or installed."""
    return Doctor(
        probes=(
            _python(),
            _program("git", ["git", "--version"], hint="apt-get install git"),
            _program("pip", [sys.executable, "-m", "pip", "--version"], hint=f"{sys.executable} -m ensurepip"),
            _cache(access),
            _upstreams(access),
            _engine("podman", ["podman", "info", "--format", "{{.Version.Version}}"], hint="docker/setup-podman.sh"),
            _engine("docker", ["docker", "version", "--format", "{{.Server.Version}}"], hint="start the docker daemon"),
            _venv(),
        )
    )


def _python() -> Probe:
    return Probe(
        "python", sys.version_info >= (3, 11), sys.version.split()[0], hint="patchkit needs Python 3.11 or later"
    )


def _program(name: str, command: list[str], *, hint: str) -> Probe:
    try:
        done = run(command, cwd=Path.cwd(), timeout_s=_TIMEOUT_S)
    except PatchkitError as error:
        return Probe(name, ok=False, found=error.what, hint=hint)
    return Probe(name, ok=True, found=done.stdout.decode().strip().split(" from ")[0])


def _engine(name: str, command: list[str], *, hint: str) -> Probe:
    if not shutil.which(name):
        return Probe(name, ok=False, found="not installed; the venv engine serves instead", hint=hint, needed=False)
    try:
        done = run(command, cwd=Path.cwd(), timeout_s=_TIMEOUT_S)
    except PatchkitError as error:
        return Probe(
            name,
            ok=False,
            found=f"installed, but does not answer: {error.found or error.what}",
            hint=hint,
            needed=False,
        )
    return Probe(name, ok=True, found=done.stdout.decode().strip(), needed=False)


def _cache(access: Access) -> Probe:
    folder = access.cache
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        return Probe(
            "cache", ok=False, found=f"{folder}: {exc.strerror}", hint="set XDG_CACHE_HOME to a folder of yours"
        )
    if not os.access(folder, os.W_OK):
        return Probe("cache", ok=False, found=f"{folder} is read-only", hint="set XDG_CACHE_HOME to a folder of yours")
    free_gb = shutil.disk_usage(folder).free / 1e9
    found = f"{folder}, {free_gb:.0f} GB free"
    return Probe("cache", ok=free_gb > _ROOM_GB, found=found, hint=f"free some disk: a build takes {_ROOM_GB} GB")


def _upstreams(access: Access) -> Probe:
    kept = kept_versions(access.objects)
    found = ", ".join(kept) if kept else "none yet: the first verb that needs one downloads it"
    return Probe("upstreams", ok=True, found=found, needed=False)


def _venv() -> Probe:
    from importlib.util import find_spec

    missing = [module for module in ("venv", "ensurepip") if find_spec(module) is None]
    hint = f"apt-get install python{sys.version_info.major}.{sys.version_info.minor}-venv"
    return Probe("venv", ok=not missing, found="ready" if not missing else f"{', '.join(missing)} missing", hint=hint)
