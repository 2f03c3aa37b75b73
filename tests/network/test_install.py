"""README's ways to install: each in a fresh place, on each Python that is here; and two builds give the same bytes."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13")
HOME = Path.home()  # before it is sealed

pytestmark = [pytest.mark.network, pytest.mark.slow]


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    """Run the command without our path and return its stdout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**kept, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def python(version: str) -> Path | None:
    """Return this Python, where one starts."""
    beside = sorted((HOME / ".pyenv/versions").glob(f"{version}.*/bin/python{version}"))
    found = [*map(str, beside), *filter(None, [shutil.which(f"python{version}")])]
    for path in found:
        if subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0:
            return Path(path)
    return None


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone's files: what is committed or about to be, nothing else."""
    folder = tmp_path_factory.mktemp("source") / "patchkit"
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with build, pipx and uv; its programs."""
    folder = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    run(folder / "bin/python", "-m", "pip", "install", "-q", "build", "pipx", "uv", cwd=folder)
    return folder / "bin"


def works(patchkit: Path, folder: Path) -> None:
    """The installed program starts, has its data files, and reads a store that is not its own."""
    assert run(patchkit, "--version", cwd=folder).startswith("patchkit, version 0.1.0")
    assert "timeouts" in run(patchkit, "--root", ROOT, "status", "--offline", cwd=folder)
    page = folder / "report.html"
    run(patchkit, "--root", ROOT, "report", "--html", page, cwd=folder)
    assert page.stat().st_size > 100_000
    assert "PK502" in run(patchkit, "explain", "PK502", cwd=folder)


@pytest.mark.parametrize("version", PYTHONS)
def test_pip_install(version: str, source: Path, tmp_path: Path) -> None:
    found = python(version)
    if found is None:
        pytest.skip(f"there is no Python {version} here")
    run(found, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    run(tmp_path / "venv/bin/python", "-m", "pip", "install", "-q", ".", cwd=source)
    works(tmp_path / "venv/bin/patchkit", tmp_path)
    assert (tmp_path / "venv/share/man/man1/patchkit.1").is_file()


def test_pipx_install(source: Path, tools: Path, tmp_path: Path) -> None:
    places = {name: str(tmp_path / name.lower()) for name in ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR")}
    run(tools / "pipx", "install", "--python", sys.executable, ".", cwd=source, **places)
    works(tmp_path / "pipx_bin_dir/patchkit", tmp_path)


def test_uv_tool_install(source: Path, tools: Path, tmp_path: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    index = run(sys.executable, "-m", "pip", "config", "list", cwd=tmp_path, HOME=str(HOME))
    run(tools / "uv", "tool", "install", "--python", sys.executable, ".", cwd=source, **places, **uv_index(index))
    works(tmp_path / "bin/patchkit", tmp_path)


def uv_index(pip_settings: str) -> dict[str, str]:
    """Return pip's index as uv is told of it; uv does not read pip's settings."""
    for line in pip_settings.splitlines():
        name, _, value = line.partition("=")
        if name in ("global.index-url", ":env:.index-url"):
            return {"UV_DEFAULT_INDEX": value.strip("'")}
    return {}


def test_two_builds_are_the_same_bytes(source: Path, tools: Path, tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        copy = tmp_path / name / "elsewhere"
        shutil.copytree(source, copy)  # other times, another folder
        for path in copy.rglob("*.py"):
            path.touch()
        run(tools / "python", "-m", "build", "-q", "--outdir", tmp_path / f"{name}.dist", cwd=copy)
        files = sorted((tmp_path / f"{name}.dist").iterdir())
        assert [path.suffix for path in files] == [".whl", ".gz"]
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in files])
    assert digests[0] == digests[1]
