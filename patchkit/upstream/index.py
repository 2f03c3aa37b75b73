"""What the package index and git repositories serve: the list of releases, and one release's file."""

import difflib
import re
import shutil
import sys
from pathlib import Path

from patchkit.counting import count
from patchkit.errors import CommandError, ConfigError
from patchkit.process import run
from patchkit.upstream.access import Access
from patchkit.upstream.objects import SEALED
from patchkit.versions import bare, is_release, order

# The one named file of a release, whatever the host runs: a wheel is source to us and is never installed
# from here. Releases up to 0.5.10.post1 have one wheel for every platform, later ones cp311 on x86_64.
_PIP_TARGET = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11", "--abi=cp311", "--abi=none"]
_PLATFORMS = [
    "any",
    *(f"manylinux_2_{glibc}_x86_64" for glibc in (40, 39, 35, 34, 31, 28, 24, 17)),
    "manylinux2014_x86_64",
]
NO_PROMPT = {
    **SEALED,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}


def is_local(location: str) -> bool:
    """Whether git reaches the location without a network: a path, or a file:// URL."""
    return location.startswith("file://") or ("://" not in location and Path(location).exists())


def listed_versions(access: Access, location: str = "") -> list[str]:
    """Return the releases that the package index serves, or that a git repository has tags of, newest first."""
    if location:
        return _tagged_versions(access, location)
    if access.offline:
        raise CommandError("the newest upstream is not known, and --offline forbids to ask the package index")
    access.cache.mkdir(parents=True, exist_ok=True)
    answer = run(
        [*_pip(), "index", "versions", "sglang", "--disable-pip-version-check"],
        cwd=access.cache,
        timeout_s=access.deadline_s,
    )
    # As text: --json came with pip 25, and `python -m venv` of Python 3.11 brings an older one.
    listed = re.search(r"^Available versions: (.+)$", answer.stdout.decode(), re.MULTILINE)
    if listed is None:
        raise CommandError("pip does not list the releases of sglang", found=answer.stdout.decode()[:200])
    return [version.strip() for version in listed[1].split(",")]


def _tagged_versions(access: Access, location: str) -> list[str]:
    if access.offline and not is_local(location):
        raise CommandError("the newest upstream is not known, and --offline forbids to ask for it", where=location)
    access.cache.mkdir(parents=True, exist_ok=True)
    listed = run(
        ["git", "ls-remote", "--tags", "--refs", "--end-of-options", location, "v[0-9]*"],
        cwd=access.cache,
        timeout_s=access.deadline_s,
        env=NO_PROMPT,
    )
    names = (line.rpartition("refs/tags/")[2] for line in listed.stdout.decode().splitlines())
    final = (bare(name) for name in names if is_release(name) and "rc" not in name)  # as pip lists them
    return sorted(final, key=order, reverse=True)


def fetch_distribution(version: str, directory: Path, access: Access) -> Path:
    """Download the one named file of a release by pip, with pip's own configuration, and return its path."""
    access.progress(f"downloading sglang {version}")
    platforms = [f"--platform={platform}" for platform in _PLATFORMS]
    command = [
        *_pip(), "download", "--no-deps", "--quiet", "--disable-pip-version-check", "--progress-bar=off",
        *_PIP_TARGET, *platforms, "--dest", str(directory), f"sglang=={version}",
    ]  # fmt: skip
    try:
        run(command, cwd=directory, timeout_s=access.deadline_s)
    except CommandError as exc:
        _refuse_unlisted(version, access, exc)
        raise
    found = sorted(directory.glob("sglang-*"))
    if len(found) != 1:
        many = count(len(found), "file")
        raise CommandError(f"pip downloaded {many} for sglang {version}", found=", ".join(map(str, found)))
    return found[0]


def _refuse_unlisted(version: str, access: Access, failure: CommandError) -> None:
    """Raise if the package index answers and has no such release: a retry will not help then."""
    try:
        listed = listed_versions(access)
    except CommandError:
        return
    if version not in listed:
        near = difflib.get_close_matches(version, listed, n=3, cutoff=0)
        raise ConfigError(
            f"sglang has no release {version}",
            found=f"the newest is {listed[0]}; like it are {', '.join(near)}",
            hint="pip index versions sglang lists all of them",
        ) from failure


def _pip() -> list[str]:
    """Return the command that runs pip: this environment's, else the one on PATH (uv makes environments without)."""
    from importlib.util import find_spec

    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip") or shutil.which("pip3"):
        return [found]
    raise CommandError("pip is not installed", hint=f"{sys.executable} -m ensurepip")
