"""How the process begins and ends, seen from outside."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BREAK_AT_IMPORT = """
import sys
class Break:
    def find_spec(self, name, *rest):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Break())
from patchkit.__main__ import run
sys.argv = ["patchkit", "explain", "PK101"]
run()
"""


def run_python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["click", "patchkit.commands.explain", "patchkit.verbs.explain"])
def test_ctrl_c_at_any_import_ends_with_130_and_one_word(name: str) -> None:
    done = run_python("-c", BREAK_AT_IMPORT.format(name=name))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["explain", "PK101"], 0),
        (["explain", "101"], 0),
        (["--version"], 0),
        (["explain", "PK000"], 2),
        (["nothing"], 2),
    ],
)
def test_process_ends_with_the_commands_exit_code_and_all_of_its_text(arguments: list[str], code: int) -> None:
    done = run_python("-m", "patchkit", *arguments)
    assert done.returncode == code
    assert (done.stdout if code == 0 else done.stderr).endswith("\n")


def test_full_disk_behind_stdout_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "patchkit", "explain", "PK101"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 6
    assert b"No space left on device" in done.stderr
