"""Find the commit of a clone that a patch was written on, by the blob ids of the files that it touches."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.model import CommitId
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.process import run
from patchkit.upstream.belonging import Match, match_release, same_id
from patchkit.upstream.objects import SEALED, ObjectStore
from patchkit.versions import bare, is_release

_RELEASE_TAG = "v[0-9]*"
_VERSION_FILE = f"{SOURCE_PREFIX}version.py"
_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Based:
    """A commit whose files fit. match: its version is "<release before it>+g<id>", or the release that it is."""

    commit: CommitId
    match: Match


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a line, with the files that it changes: their new blob ids, empty where it removes them."""

    id: CommitId
    day: str
    subject: str
    changes: Mapping[str, str]


def is_clone(directory: Path) -> bool:
    """Whether the directory is the top of a git repository, bare or not."""
    return (directory / ".git").exists() or (directory / "HEAD").is_file()


def find_base(clone: Path, stated: Mapping[str, str], *, near: str = "") -> Based | None:
    """Return the commit that has most of the stated blob ids; None where none has one.

    Looked at: the first-parent history of HEAD, each commit that changes a stated file; then every tag and branch.
    Among equals the oldest: later commits with the same files cannot be told from it.
    near: the release that it comes after, where the clone does not tell.
    """
    best: tuple[int, str] = (0, "")
    for commit, files in _history(clone, list(stated)):  # newest first
        count = sum(same_id(wanted, files.get(path, "")) for path, wanted in stated.items())
        if count and count >= best[0]:
            best = (count, commit)
    if best[0] < len(stated):
        best = max(best, *_tips(clone, stated), key=lambda each: each[0])
    return describe_commit(clone, best[1], stated, near=near) if best[0] else None


def describe_commit(clone: Path, revision: str, stated: Mapping[str, str], *, near: str = "") -> Based:
    """Return a commit, which the clone must have, with its place among the releases and what fits of it."""
    commit = CommitId(_git(clone, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip())
    present = _files_at(clone, commit, list(stated))
    release, is_exact = _release_at(clone, commit)
    release = release or near
    if not release:
        raise ConfigError(
            f"nothing tells which release commit {commit[:10]} comes after",
            where=str(clone),
            found="no release tag below it, and no python/sglang/version.py",
            hint=f"git -C {clone} fetch --tags",
        )
    version = release if is_exact else f"{release}+g{commit[:10]}"
    return Based(commit, match_release(version, stated, present))


def release_at(clone: Path, revision: str) -> str:
    """Return the release that a commit is, or that it comes after; empty where nothing tells."""
    return _release_at(clone, revision)[0]


def objects_of(clone: Path) -> ObjectStore:
    """Return the objects of a clone, to be read."""
    return ObjectStore(Path(_git(clone, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()))


def read_line(clone: Path, old: str, new: str) -> list[Commit]:
    """Return the first-parent commits of `new` that `old` does not have, oldest first, below python/sglang/.

    The first element is the state before them, with its whole tree: `old`, or where the line leaves its history.
    Raises: CommandError where the clone has no such commit.
    """
    first, last = (
        _git(clone, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").strip() for name in (old, new)
    )
    listed = _git(clone, "rev-list", "--first-parent", "--parents", "--reverse", f"{first}..{last}").split("\n")
    if listed[0] and len(oldest := listed[0].split(" ")) > 1:
        first = oldest[1]
    text = _git(
        clone, "log", "--first-parent", "-m", "--reverse", "--raw", "-z", "--no-abbrev", "--no-renames",
        "--format=%x01%H%x09%cs%x09%s", f"{first}..{last}", "--", f":(top,literal){SOURCE_PREFIX.rstrip('/')}",
    )  # fmt: skip
    return [_start(clone, first), *map(_commit, text.split("\x01")[1:])]


def _start(clone: Path, commit: str) -> Commit:
    listed = _git(clone, "ls-tree", "-r", "-z", "--full-tree", commit, "--", SOURCE_PREFIX).split("\0")[:-1]
    rows = (row.partition("\t") for row in listed)
    changes = {path: head.split(" ")[2] for head, _, path in rows}
    name, day, subject = _git(clone, "log", "-1", "--format=%H%x09%cs%x09%s", commit).rstrip("\n").split("\t", 2)
    return Commit(CommitId(name), day, subject, changes)


def _commit(record: str) -> Commit:
    head, *fields = [field.strip("\n") for field in record.split("\0")]
    name, day, subject = head.split("\t", 2)
    changes = {}
    for change, path in pairwise(fields):
        if change.startswith(":"):
            blob = change.split(" ")[3]
            changes[path] = blob if blob.strip("0") else ""
    return Commit(CommitId(name), day, subject, changes)


def location_of(clone: Path) -> str:
    """Return where others can fetch what the clone has: its remote, else its own path."""
    found = run(
        ["git", "-C", str(clone), "config", "--get", "remote.origin.url"],
        cwd=clone, timeout_s=_TIMEOUT_S, env=SEALED, allowed=(0, 1),
    )  # fmt: skip
    return found.stdout.decode().strip() or str(clone.resolve())


def _history(clone: Path, paths: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each first-parent commit of HEAD that changes one of the paths, newest first, with the ids it has."""
    text = _git(
        clone, "log", "--first-parent", "-m", "--raw", "-z", "--no-abbrev", "--no-renames", "--format=%x01%H", "HEAD",
        "--", *(f":(top,literal){path}" for path in paths),
    )  # fmt: skip
    files = _files_at(clone, "HEAD", paths)
    for record in text.split("\x01")[1:]:
        commit, *fields = [field.strip("\n") for field in record.split("\0")]
        yield commit, dict(files)
        for change, path in pairwise(fields):
            if change.startswith(":"):
                files[path] = change.split(" ")[2]  # as it was before this commit


def _tips(clone: Path, stated: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield each tag and branch with how many of the stated ids it has."""
    names = _git(clone, "for-each-ref", "--format=%(refname)", "refs/tags", "refs/heads", "refs/remotes").splitlines()
    paths = list(stated)
    rows = _ids(clone, [f"{name}:{path}" for name in names for path in paths])
    yield 0, ""
    for at, name in enumerate(names):
        present = rows[at * len(paths) : (at + 1) * len(paths)]
        yield sum(same_id(stated[path], found) for path, found in zip(paths, present, strict=True)), name


def _files_at(clone: Path, revision: str, paths: list[str]) -> dict[str, str]:
    return dict(zip(paths, _ids(clone, [f"{revision}:{path}" for path in paths]), strict=True))


def _ids(clone: Path, names: list[str]) -> list[str]:
    """Return the id of each `revision:path`; empty where there is none."""
    if not names:
        return []
    asked = "".join(f"{name}\n" for name in names)
    rows = _git(clone, "cat-file", "--batch-check=%(objectname)", stdin=asked).splitlines()
    return ["" if row.endswith((" missing", " ambiguous")) else row for row in rows]


def _release_at(clone: Path, commit: str) -> tuple[str, bool]:
    """Return the release that a commit is (True), or the one that it comes after (False), if anything tells."""
    tags = _git(clone, "tag", "--points-at", commit, "--list", _RELEASE_TAG).split()
    for tag in filter(is_release, tags):
        return bare(tag), True
    written = run(
        ["git", "-C", str(clone), "show", f"{commit}:{_VERSION_FILE}"],
        cwd=clone, timeout_s=_TIMEOUT_S, env=SEALED, allowed=(0, 128),
    )  # fmt: skip
    said = re.search(rb"""__version__ = ["']([^"']+)["']""", written.stdout)
    if said and is_release(said[1].decode()):
        return said[1].decode(), False
    near = run(
        ["git", "-C", str(clone), "describe", "--tags", "--abbrev=0", "--match", _RELEASE_TAG, commit],
        cwd=clone, timeout_s=_TIMEOUT_S, env=SEALED, allowed=(0, 128),
    )  # fmt: skip
    tag = near.stdout.decode().strip()
    return (bare(tag) if is_release(tag) else ""), False


def _git(clone: Path, *arguments: str, stdin: str = "") -> str:
    done = run(
        ["git", "-C", str(clone), *arguments], cwd=clone, timeout_s=_TIMEOUT_S, env=SEALED,
        stdin=stdin.encode(errors="surrogateescape"),
    )  # fmt: skip
    return done.stdout.decode(errors="surrogateescape")
