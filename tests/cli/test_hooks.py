"""The pre-commit hooks and the GitHub action, run as their users run them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.small_store import PIN, write_store

ROOT = Path(__file__).parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `patchkit` is this package, and the small pin's upstream is in the cache."""
    program = tmp_path / "bin" / "patchkit"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m patchkit "$@"\n')
    program.chmod(0o755)
    write_store(tmp_path / "store", tmp_path / "cache" / "patchkit")
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}


def run_hook(
    name: str, folder: Path, environment: dict[str, str], changed: list[str]
) -> subprocess.CompletedProcess[str]:
    """Run a hook on changed files as pre-commit does: those that match, appended unless it takes none."""
    hook = HOOKS[name]
    matching = [file for file in changed if re.search(hook["files"], file)]
    assert matching, "pre-commit would skip the hook"
    files = matching if hook.get("pass_filenames", True) else []
    command = [*hook["entry"].split(), *files]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def run_step(name: str, environment: dict[str, str], inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run one step of the action in its shell, with its inputs filled in as the runner does."""
    (step,) = [each for each in ACTION["runs"]["steps"] if each["name"] == name]
    given = {key: value["default"] for key, value in ACTION["inputs"].items()} | inputs
    filled = {
        key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], value).replace(
            "${{ github.action_path }}", str(ROOT)
        )
        for key, value in step["env"].items()
    }
    assert not any("${{" in value for value in filled.values())
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, env={**environment, **filled}, capture_output=True, text=True, check=False)


def break_patch(folder: Path) -> None:
    path = folder / f"patches/{PIN}/timeouts.patch"
    path.write_text(path.read_text().replace("@@ -1 +1 @@", "@@ -1 +1,2 @@"))


CHANGED = [f"patches/{PIN}/timeouts.patch", "README.md"]


@pytest.mark.parametrize("name", ["patchkit-text", "patchkit-verify"])
def test_hook_passes_a_sound_store_and_stops_a_broken_one(
    name: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    store = tmp_path / "store"
    assert run_hook(name, store, environment, CHANGED).returncode == 0
    break_patch(store)
    done = run_hook(name, store, environment, CHANGED)
    assert done.returncode == 4
    assert "PK102" in done.stdout
    assert f"patches/{PIN}/timeouts.patch" in done.stdout


def test_hooks_leave_other_files_alone() -> None:
    assert not [name for name, hook in HOOKS.items() if re.search(hook["files"], "src/main.py")]


def test_action_annotates_the_patch_line_and_writes_its_reports(tmp_path: Path, environment: dict[str, str]) -> None:
    inputs = {"root": str(tmp_path / "store"), "sarif": f"{tmp_path}/s.sarif", "junit": f"{tmp_path}/j.xml"}
    environment = {**environment, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    sound = run_step("verify", environment, inputs)
    assert sound.returncode == 0, sound.stderr
    break_patch(tmp_path / "store")
    done = run_step("verify", environment, inputs)
    assert done.returncode == 4
    assert re.search(rf"^::error file=patches/{PIN}/timeouts.patch,line=\d+,title=PK102", done.stdout, re.MULTILINE)
    assert "PK102" in (tmp_path / "summary.md").read_text()
    assert "<failure" in (tmp_path / "j.xml").read_text()
    results = json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    assert "PK102" in [result["ruleId"] for result in results]


def test_action_needs_no_other_action() -> None:
    assert not [step for step in ACTION["runs"]["steps"] if "uses" in step]


@pytest.mark.network
@pytest.mark.slow
def test_action_installs_itself_and_verifies(tmp_path: Path) -> None:
    """Both steps in their order, in an environment that has nothing of ours but what the action installs."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "python")], check=True)
    write_store(tmp_path / "store", tmp_path / "cache" / "patchkit")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {
        "PATH": f"{tmp_path}/python/bin:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    installed = run_step("install patchkit", environment, {})
    assert installed.returncode == 0, installed.stderr
    assert (tmp_path / "python/bin/patchkit").is_file()
    inputs = {"root": str(tmp_path / "store"), "sarif": f"{tmp_path}/s.sarif", "junit": f"{tmp_path}/j.xml"}
    assert run_step("verify", environment, inputs).returncode == 0
    break_patch(tmp_path / "store")
    done = run_step("verify", environment, inputs)
    assert (done.returncode, "PK102" in done.stdout) == (4, True)


@pytest.mark.network
@pytest.mark.slow
def test_pre_commit_runs_the_hook_in_a_scratch_repository(tmp_path: Path) -> None:
    """By pre-commit itself: it clones the project, installs it into an environment of its own and runs the hook."""
    project, scratch = tmp_path / "project", tmp_path / "scratch"
    git = ["git", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "clone", "-q", "--depth=1", f"file://{ROOT}", str(project)], check=True)
    write_store(scratch, tmp_path / "cache" / "patchkit")
    subprocess.run([*git, "init", "-q", str(scratch)], check=True)
    subprocess.run([*git, "add", "patches", "version.txt"], cwd=scratch, check=True)
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(project), "patchkit-text", "--all-files"]
    done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    break_patch(scratch)
    done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "PK102" in done.stdout
