"""The git repository that the store lives in: its tags, its head, and one lock for what writes there."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import CommandError
from patchkit.objects import SEALED
from patchkit.process import Completed, run

_TIMEOUT_S = 120.0
_LOCK_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository with its working tree at `root`. git_folder: what all its worktrees share."""

    root: Path
    git_folder: Path

    def tags(self, pattern: str) -> list[str]:
        """Return the names of the tags that match, as "nightly-dev-*"."""
        return self.git("for-each-ref", "--format=%(refname:strip=2)", f"refs/tags/{pattern}").decode().split()

    def git(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> bytes:
        """Run one git command here and return its stdout; no hook and no setting of the user takes part."""
        return _git(self.root, *arguments, stdin=stdin, env=env, timeout_s=timeout_s).stdout


def find_repository(root: Path) -> Repository | None:
    """Return the git repository around the root; None where there is none.

    Raises: CommandError when there is one that git cannot read: its tags would then be missed without a word.
    """
    if not any((folder / ".git").exists() for folder in (root.resolve(), *root.resolve().parents)):
        return None
    top, common = _git(root, "rev-parse", "--show-toplevel", "--git-common-dir").stdout.decode().splitlines()
    return Repository(Path(top), (root / common).resolve())


@contextmanager
def hold_lock(root: Path, purpose: str) -> Iterator[None]:
    """Hold the store's lock for one purpose, as "bump"; a second holder is told to wait."""
    from filelock import FileLock, Timeout

    repository = find_repository(root)
    folder = repository.git_folder / "patchkit" if repository else root / ".patchkit"
    folder.mkdir(exist_ok=True)
    path = folder / f"{purpose}.lock"
    lock = FileLock(path, timeout=_LOCK_WAIT_S)
    try:
        lock.acquire()
    except Timeout as exc:
        raise CommandError(
            f"another {purpose} is at work in this repository",
            where=str(path),
            kept="nothing was changed",
            hint=f"fuser {path}",
        ) from exc
    try:
        yield
    finally:
        lock.release()


def _git(
    cwd: Path,
    *arguments: str,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = _TIMEOUT_S,
) -> Completed:
    # safe.directory: a CI job often runs as root in a checkout of another user; the root was named by the caller.
    guards = ["-c", "safe.directory=*", "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"]
    return run(["git", *guards, *arguments], cwd=cwd, timeout_s=timeout_s, stdin=stdin, env={**SEALED, **(env or {})})
