"""Commands run with a deadline, in a sealed environment, and leave nobody behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchkit.errors import CommandError
from patchkit.process import run
from patchkit.render import render_error


def is_gone(pid: int) -> bool:
    """Whether the process ends within two seconds; a signal is delivered a moment after it was sent."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_missing_program_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no-such-program is not installed"):
        run(["no-such-program"], cwd=tmp_path, timeout_s=5)


def test_missing_directory_is_refused_and_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="its directory is gone"):
        run(["touch", "x"], cwd=tmp_path / "none", timeout_s=5)
    assert not Path("x").exists()


def test_status_that_is_not_allowed_raises_with_the_last_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="status 3") as caught:
        run(["sh", "-c", "echo first >&2; echo last >&2; exit 3"], cwd=tmp_path, timeout_s=5)
    assert caught.value.found == "last"


def test_allowed_status_is_an_answer(tmp_path: Path) -> None:
    assert run(["sh", "-c", "exit 3"], cwd=tmp_path, timeout_s=5, allowed=(0, 3)).status == 3


def test_git_variables_of_a_hook_do_not_reach_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere/index")
    assert b"GIT_" not in run(["env"], cwd=tmp_path, timeout_s=5).stdout


@pytest.mark.parametrize("streamed", [False, True])
def test_deadline_ends_the_child_and_its_children(tmp_path: Path, streamed: bool) -> None:
    script = "sleep 60 & echo $! > pid; wait"
    with pytest.raises(CommandError, match=r"was killed after 0\.3 s"):
        run(["sh", "-c", script], cwd=tmp_path, timeout_s=0.3, on_output=(lambda _: None) if streamed else None)
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
def test_child_that_ignores_term_is_killed(tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        run(["sh", "-c", "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"], cwd=tmp_path, timeout_s=0.3)
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_interrupt_ends_the_child(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from patchkit.process import run;"
        "run(['sh', '-c', 'echo $$ > pid; sleep 60'], cwd=Path('.'), timeout_s=60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.DEVNULL,
    )
    pid = tmp_path / "pid"
    deadline = time.monotonic() + 10
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    parent.send_signal(signal.SIGINT)
    parent.wait(timeout=10)
    assert is_gone(int(pid.read_text()))


def test_input_comes_from_bytes_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"from a file")
    assert run(["cat"], cwd=tmp_path, timeout_s=5, stdin=b"from memory").stdout == b"from memory"
    assert run(["cat"], cwd=tmp_path, timeout_s=5, stdin=tmp_path / "input").stdout == b"from a file"


def test_output_is_told_as_it_comes(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    done = run(["sh", "-c", "echo one; echo two >&2"], cwd=tmp_path, timeout_s=5, on_output=pieces.append)
    assert b"".join(pieces) == done.stdout == b"one\ntwo\n"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_flood_on_stderr_does_not_block(tmp_path: Path, streamed: bool) -> None:
    flood = (
        "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done; echo end"
    )
    done = run(["sh", "-c", flood], cwd=tmp_path, timeout_s=20, on_output=(lambda _: None) if streamed else None)
    assert done.stdout.endswith(b"end\n")
    assert len(done.stdout + done.stderr) > 100_000


def test_deadline_holds_where_there_is_neither_ps_nor_pgrep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sh", "sleep"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    started = time.monotonic()
    with pytest.raises(CommandError, match="was killed after"):
        run(["sh", "-c", "sleep 60 & echo $! > pid; wait"], cwd=tmp_path, timeout_s=0.3)
    assert time.monotonic() - started < 3
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_death_by_a_signal_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="ended with signal SIGKILL"):
        run(["sh", "-c", "kill -9 $$"], cwd=tmp_path, timeout_s=5)


def test_words_of_a_command_that_are_no_utf_8_can_be_printed(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as caught:
        run(["sh", "-c", "printf 'caf\\351\\n' >&2; exit 1"], cwd=tmp_path, timeout_s=5)
    render_error(caught.value).encode()
    assert caught.value.found.startswith("caf")
