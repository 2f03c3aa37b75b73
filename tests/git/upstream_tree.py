"""A small upstream, its series of two topics, and a referee: real git, sealed as an apply must be."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from patchkit.patch.composing import Work
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.patchtext import read_patch

PACKAGE = "python/sglang/"
NO_CONFIG = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}


def lines(name: str, count: int = 40) -> bytes:
    return b"".join(b"%s = %d\n" % (name.encode(), number) for number in range(1, count + 1))


PRISTINE = {
    "python/sglang/__init__.py": b"",
    "python/sglang/srt/__init__.py": b"",
    "python/sglang/srt/alpha.py": lines("alpha"),
    "python/sglang/srt/beta.py": lines("beta"),
    "python/sglang/srt/gone.py": lines("gone", 3),
}
_FIRST_ALPHA = PRISTINE["python/sglang/srt/alpha.py"].replace(b"alpha = 9\n", b"alpha = 9\nabort = 1\n")
FIRST: dict[str, bytes | None] = {
    "python/sglang/srt/alpha.py": _FIRST_ALPHA,
    "python/sglang/srt/beta.py": PRISTINE["python/sglang/srt/beta.py"].replace(b"beta = 30\n", b"beta = 31\n"),
    "python/sglang/srt/deep/er/new.py": b"new = 1\n",
}
SECOND: dict[str, bytes | None] = {
    "python/sglang/srt/alpha.py": _FIRST_ALPHA.replace(b"alpha = 30\n", b"alpha = 31\n"),
    "python/sglang/srt/gone.py": None,
}


def write_tree(folder: Path, files: dict[str, bytes | None]) -> None:
    for path, content in files.items():
        place = folder / path
        if content is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def git(*arguments: str, cwd: Path, stdin: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
    """Run git; a failure fails the test."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") or "_AUTHOR_" in key or "_COMMITTER_" in key
    }
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=cwd, input=stdin, env={**kept, **NO_CONFIG, **(env or {})}, check=True, capture_output=True
    ).stdout


def make_patch(folder: Path, *options: str) -> bytes:
    """Return the difference between the index and the files of a repository, as plumbing writes it."""
    git("add", "-A", cwd=folder)
    tree = git("write-tree", cwd=folder).decode().strip()
    parent = git("rev-parse", "HEAD^{tree}", cwd=folder).decode().strip()
    return git("diff-tree", "-p", "--full-index", *options, parent, tree, cwd=folder)


@dataclass(frozen=True)
class Fixture:
    """The pristine tree as a git checkout, and the series as patches."""

    repository: Path
    topics: tuple[bytes, bytes]

    @property
    def combined(self) -> bytes:
        """The whole series as one diff, made by git."""
        return self.all_in_one

    all_in_one: bytes = b""

    def work(self, *, exact: bool = True) -> Work:
        names = ("abort-guards", "timeouts")
        patches = tuple(
            TopicPatch(name, read_patch(raw, name=name)) for name, raw in zip(names, self.topics, strict=True)
        )
        return Work("v0.5.12.post1", patches, tuple(f"{name}.patch" for name in names), exact=exact)


def snapshot(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Return all that is below a folder but git's own files: kind, mode, content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if ".git" in relative.parts:
            continue
        mode = path.lstat().st_mode
        if path.is_symlink():
            found[str(relative)] = ("link", mode, os.fsencode(os.readlink(path)))
        elif path.is_dir():
            found[str(relative)] = ("folder", mode, b"")
        else:
            found[str(relative)] = ("file", mode, path.read_bytes())
    return found


def referee(folder: Path, patch: bytes, *options: str) -> int:
    """Apply the patch with git, sealed and without a repository; return its exit status."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env = {**kept, **NO_CONFIG, "GIT_DIR": str(folder / "no-such-repository")}
    done = subprocess.run(
        ["git", "apply", *options, "-"], cwd=folder, input=patch, env=env, check=False, capture_output=True
    )
    return done.returncode
