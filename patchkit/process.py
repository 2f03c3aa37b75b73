"""Run one command with a deadline; the only importer of subprocess."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import CommandError

# `git rev-parse --local-env-vars` plus the variables that change what git or its children read. A hook's
# GIT_DIR redirects every git call (measured; PITFALLS 3.4), so none of them is inherited.
_DROPPED_PREFIXES = ("GIT_",)
_TERM_GRACE_S = 3.0
_POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Completed:
    """The outcome of one command. status: its exit status; negative for a signal."""

    command: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the status is 0. That alone proves nothing about `git apply`."""
        return self.status == 0


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a child: ours without any GIT_*, in the C locale, with `extra` on top."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(_DROPPED_PREFIXES)}
    return {**inherited, "LC_ALL": "C.UTF-8", **(extra or {})}


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float,
    stdin: bytes | Path | None = None,
    env: Mapping[str, str] | None = None,
    allowed: Sequence[int] = (0,),
    on_output: Callable[[bytes], None] | None = None,
) -> Completed:
    """Run the command in its own session and return its outcome; the whole group is ended on a timeout or Ctrl-C.

    stdin: what the child reads: bytes, or a file's path; nothing by default.
    cwd: must exist; a child never runs in our own directory by accident (GitPython's does; PITFALLS 3.1).
    allowed: the statuses that are answers; any other raises.
    on_output: called with each piece of stdout as it comes, for progress; stderr is then merged into stdout.
    Raises: CommandError when the program is missing, the status is not allowed, or the deadline has passed.
    """
    if not cwd.is_dir():
        raise CommandError(f"cannot run {command[0]}: its directory is gone", where=str(cwd))
    started = time.monotonic()
    child: subprocess.Popen[bytes] | None = None
    try:
        with _signals_held():
            child = _start(command, cwd, stdin, child_environment(env), merged=on_output is not None)
        if on_output:
            stdout, stderr = _stream(child, on_output, started + timeout_s), b""
        else:
            stdout, stderr = child.communicate(stdin if isinstance(stdin, bytes) else None, timeout=timeout_s)
    except subprocess.TimeoutExpired as exc:
        assert child is not None
        _end_group(child)
        raise CommandError(
            f"{_shown(command)} was killed after {timeout_s:g} s", where=str(cwd), found=_last_line(exc.output or b"")
        ) from exc
    except BaseException:
        if child is not None:
            _end_group(child)
        raise
    completed = Completed(tuple(command), child.returncode, stdout, stderr, time.monotonic() - started)
    if completed.status not in allowed:
        raise CommandError(
            f"{_shown(command)} ended with {_status_text(completed.status)}",
            where=str(cwd),
            found=_last_line(stderr) or _last_line(stdout),
        )
    return completed


def _start(
    command: Sequence[str], cwd: Path, stdin: bytes | Path | None, env: Mapping[str, str], *, merged: bool
) -> "subprocess.Popen[bytes]":
    source = stdin.open("rb") if isinstance(stdin, Path) else None
    try:
        return subprocess.Popen(
            list(command),
            cwd=cwd,
            env=env,
            stdin=source or (subprocess.DEVNULL if stdin is None else subprocess.PIPE),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as exc:
        raise CommandError(f"{command[0]} is not installed", hint="patchkit doctor") from exc
    finally:
        if source:
            source.close()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the block is left: a child that was just started must not be lost.

    By handlers and not by a mask, which the child would inherit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    held = {
        sign: signal.signal(sign, lambda number, _: came.append(number)) for sign in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for sign, handler in held.items():
            signal.signal(sign, handler)
    for number in came[:1]:
        signal.raise_signal(number)


def _stream(child: "subprocess.Popen[bytes]", on_output: Callable[[bytes], None], deadline: float) -> bytes:
    """Read stdout as it comes until it ends, and return all of it."""
    assert child.stdout is not None
    pieces: list[bytes] = []
    descriptor = child.stdout.fileno()
    os.set_blocking(descriptor, False)
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except BlockingIOError:
            piece = None
        if piece:
            pieces.append(piece)
            on_output(piece)
        elif piece == b"":
            break
        elif time.monotonic() > deadline:
            raise subprocess.TimeoutExpired(child.args, 0, output=b"".join(pieces))
        else:
            time.sleep(_POLL_S)
    child.wait(timeout=max(0.1, deadline - time.monotonic()))
    child.stdout.close()
    return b"".join(pieces)


def _end_group(child: "subprocess.Popen[bytes]") -> None:
    """End the child and all that it started: TERM, a short grace, KILL."""
    for sign, grace_s in ((signal.SIGTERM, _TERM_GRACE_S), (signal.SIGKILL, _TERM_GRACE_S)):
        try:
            os.killpg(child.pid, sign)
        except ProcessLookupError:
            break
        try:
            child.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            continue
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def _shown(command: Sequence[str]) -> str:
    return " ".join(command[:3]) + (" ..." if len(command) > 3 else "")


def _status_text(status: int) -> str:
    return f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"


def _last_line(output: bytes) -> str:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
