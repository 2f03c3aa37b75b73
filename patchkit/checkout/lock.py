"""One command at a time on a checkout: the lock in its state folder, which comes and goes with it."""

import contextlib
import fcntl
import os
import time

from patchkit.errors import CommandError

_POLL_S = 0.05


def is_writable(state: str) -> bool:
    """Whether the state folder can be written, or made."""
    folder = state
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return os.access(folder, os.W_OK)


def acquire(state: str, wait_s: float) -> int:
    """Return the descriptor of the locked lock file."""
    deadline = time.monotonic() + wait_s
    while True:
        os.makedirs(state, exist_ok=True)
        try:
            descriptor = os.open(f"{state}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except FileNotFoundError:
            continue  # its last holder has just taken the folder away
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same_file(descriptor, f"{state}/lock"):
                with contextlib.suppress(FileExistsError), open(f"{state}/.gitignore", "xb") as stream:
                    stream.write(b"*\n")
                return descriptor
        except BlockingIOError as exc:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise CommandError(
                    "another patchkit command is changing this checkout", where=state, hint="wait for it, and try again"
                ) from exc
            time.sleep(_POLL_S)
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def tidy(state: str) -> None:
    """Take the state folder away if nothing is recorded in it."""
    with contextlib.suppress(OSError):  # never made, or the next command is already in
        if set(os.listdir(state)) <= {"lock", ".gitignore"}:
            for name in (".gitignore", "lock"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{state}/{name}")
            os.rmdir(state)


def _is_same_file(descriptor: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name))
    except FileNotFoundError:
        return False
