"""patchkit in a real shell and on a real terminal: names are completed, lines fit, colour is where it is wanted."""

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ESCAPE = re.compile(r"\x1b\[\d*m")
ASK = {
    "bash": """
eval "$(_PATCHKIT_COMPLETE=bash_source patchkit)"
COMP_WORDS=(patchkit verify v0.5.2) COMP_CWORD=2
_patchkit_completion patchkit
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "zsh": """
autoload -U compinit && compinit -u -d "$HOME/.zcompdump"
eval "$(_PATCHKIT_COMPLETE=zsh_source patchkit)"
compadd() { [ "$1" = -U ] && shift 3; print -l -- $completions }
words=(patchkit verify v0.5.2) CURRENT=3
_patchkit_completion | sort -u
""",
    "fish": """
_PATCHKIT_COMPLETE=fish_source patchkit | source
complete -C "patchkit verify v0.5.2"
""",
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with `patchkit` on it, as an installation has it."""
    shim = tmp_path / "bin/patchkit"
    shim.parent.mkdir()
    program = "import sys; from patchkit.cli import main; sys.exit(main(prog_name='patchkit'))"
    shim.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -c "{program}" "$@"\n')
    shim.chmod(0o755)
    return f"{shim.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize("shell", ASK)
def test_pins_are_completed(shell: str, path: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    options = ["-f"] if shell == "zsh" else ["--norc"] if shell == "bash" else ["--no-config"]
    command = [found, *options, "-c", ASK[shell]]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["v0.5.20", "v0.5.23"], done.stderr


def on_terminal(arguments: list[str], path: str, **environ: str) -> str:
    """Run patchkit with its stdout on a terminal of 80 columns and return what that shows."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "PATH": path, "TERM": "xterm", "COLUMNS": "80", **environ}
    environment = {name: value for name, value in environment.items() if value}
    child = subprocess.Popen(
        ["patchkit", *arguments], cwd=ROOT, env=environment, stdout=follower, stderr=subprocess.DEVNULL
    )
    os.close(follower)
    shown = b""
    try:
        while block := os.read(leader, 4096):
            shown += block
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(leader)
        child.wait(timeout=60)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "arguments", [["status", "--offline"], ["doctor", "--offline"], ["explain", "PK502"], ["report"]]
)
def test_lines_fit_a_terminal(arguments: list[str], path: str) -> None:
    shown = ESCAPE.sub("", on_terminal(arguments, path))
    assert shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_terminal_gets_colour_and_no_color_forbids_it(path: str) -> None:
    assert ESCAPE.search(on_terminal(["explain", "PK502"], path))
    assert not ESCAPE.search(on_terminal(["explain", "PK502"], path, NO_COLOR="1"))
    assert not ESCAPE.search(on_terminal(["explain", "PK502", "--color", "never"], path))
    assert ESCAPE.search(on_terminal(["explain", "PK502", "--color", "always"], path, NO_COLOR="1"))
