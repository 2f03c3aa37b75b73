"""The CPU runtime: a wheelhouse of the lock, and a virtual environment of it; one of each serves every pin."""

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from patchkit.engines.recipes import LOCK, key, recipe
from patchkit.errors import CommandError
from patchkit.process import run
from patchkit.upstream.access import Access

_PLATFORM_TAGS = (*(f"manylinux_2_{glibc}" for glibc in (36, 35, 34, 31, 28, 27, 26, 24, 17)), "manylinux2014")


def bring_wheelhouse(python: str, access: Access) -> Path:
    """Return a folder with every wheel of the lock for this Python ("3.11") on this machine, downloaded once."""
    machine = platform.machine()
    wheelhouse = access.cache / "wheelhouse" / f"{key(recipe(LOCK), python, machine)}-py{python}-{machine}"
    with made_once(wheelhouse) as aside:
        if aside is not None:
            if access.offline:
                raise CommandError(
                    "the wheels of the CPU runtime are not in the cache, and --offline forbids to download them",
                    where=str(wheelhouse),
                    hint="patchkit build --engine venv    # once, without --offline",
                )
            access.progress(f"downloading the CPU runtime for Python {python} (about 250 MB, once)")
            (aside / LOCK).write_bytes(recipe(LOCK))
            _pip(
                [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--only-binary=:all:", *_foreign(python, machine), "--dest", str(aside), "-r", str(aside / LOCK)],
                aside, access,
            )  # fmt: skip
    return wheelhouse


def bring_runtime(access: Access) -> Path:
    """Return a virtual environment with the lock installed, for the Python that runs patchkit; made once."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    base = getattr(sys, "_base_executable", sys.executable)
    runtime = access.cache / "venv" / f"runtime-{key(recipe(LOCK), sys.version, base)}"
    with made_once(runtime) as aside:
        if aside is not None:
            wheelhouse = bring_wheelhouse(python, access)
            access.progress("installing the CPU runtime (1 GB, once)")
            try:
                run([base, "-m", "venv", str(aside)], cwd=aside, timeout_s=access.deadline_s)
            except CommandError as exc:
                exc.hint = "apt-get install python3-venv"
                raise
            # No byte code yet: the first run compiles the modules that it imports, a tenth of all.
            _pip(
                [str(aside / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                 "--no-index", "--find-links", str(wheelhouse), "--no-deps", "--no-compile",
                 "-r", str(wheelhouse / LOCK)],
                aside, access, PIP_CONFIG_FILE=os.devnull, PIP_FIND_LINKS="",
            )  # fmt: skip
    return runtime


def bring_pytest(access: Access) -> Path:
    """Return a folder with our own pytest, pure Python, for images that have none."""
    from importlib.metadata import distribution

    found = [distribution(name) for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments")]
    folder = access.cache / "pytest" / key(*(f"{dist.name} {dist.version}" for dist in found))
    with made_once(folder) as aside:
        if aside is not None:
            for dist in found:
                for file in dist.files or ():
                    if file.suffix in (".py", ".typed", ".txt") or file.name == "METADATA":
                        target = aside / file
                        if ".." not in file.parts:
                            target.parent.mkdir(parents=True, exist_ok=True)
                            shutil.copyfile(str(dist.locate_file(file)), target)
    return folder


def _pip(command: list[str], cwd: Path, access: Access, **environment: str) -> None:
    """Run pip; what it says last is the error."""
    run(command, cwd=cwd, timeout_s=access.deadline_s, env=environment)


def _foreign(python: str, machine: str) -> list[str]:
    """Return what pip must be told to download for another Python than its own."""
    if python == f"{sys.version_info.major}.{sys.version_info.minor}" and sys.platform == "linux":
        return []
    tag = "cp" + python.replace(".", "")
    platforms = [f"--platform={name}_{machine}" for name in _PLATFORM_TAGS]
    return ["--implementation=cp", f"--python-version={python}", f"--abi={tag}", "--abi=abi3", "--abi=none", *platforms]


@contextlib.contextmanager
def made_once(folder: Path) -> Iterator[Path | None]:
    """Give a new folder to fill, which takes its place when all went well; None where it is there already.

    One maker at a time; what a killed one left is removed by the next.
    """
    from filelock import FileLock

    if folder.is_dir():
        yield None
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if folder.is_dir():
            yield None
            return
        for left in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(left, ignore_errors=True)
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            aside.chmod(0o755)
            yield aside
            aside.rename(folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
