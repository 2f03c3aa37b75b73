"""Write projects with patch folders as they are found in the field, each with one trouble."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from patchkit.patch.patchtext import blob_id
from patchkit.process import run
from patchkit.upstream.access import Access
from patchkit.upstream.objects import File, ObjectStore
from tests.git.releases import PREFIX, cache

QUEUE = """\
import time


class Queue:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        return item

    def pop(self):
        return self.items.pop()

    def clear(self):
        self.items = []


def drain(queue):
    while queue.items:
        queue.pop()
"""
LIMITS = "LIMIT = 10\nTIMEOUT = 5\nRETRIES = 2\n"
KEPT = {"__init__.py": "", "srt/queue.py": QUEUE, "srt/limits.py": LIMITS}
V13 = {**KEPT, "version.py": "one\n"}
V14 = {**KEPT, "srt/limits.py": LIMITS.replace("5", "6"), "version.py": "two\n"}
V15 = {**KEPT, "srt/limits.py": LIMITS.replace("5", "7"), "version.py": "three\n"}
RELEASES = {"0.5.13": V13, "0.5.14": V14, "0.5.15": V15}

COUNTED = QUEUE.replace("append(item)\n", "append(item)\n        self.count += 1\n")
GUARDED = COUNTED.replace(
    "        return self.items.pop()\n", "        return self.items.pop() if self.items else None\n"
)

DOCKERFILE = """\
ARG SGLANG_TAG=v0.5.15
FROM lmsysorg/sglang:${SGLANG_TAG}
ARG PATCH_VERSION=latest
COPY docker/patch/${PATCH_VERSION}/sglang.patch /sgl-workspace/sglang/
RUN cd /sgl-workspace/sglang && git apply sglang.patch && rm sglang.patch
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A project and a cache of releases."""

    base: Path
    access: Access

    def write(self, path: str, text: str | bytes) -> Path:
        """Write one file of the project."""
        target = self.base / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def diff(self, before: Mapping[str, str], after: Mapping[str, str]) -> bytes:
        """Return a patch between files below python/sglang/; a name with "../" stands beside python/."""
        return self.access.objects.diff(_files(before), _files(after))


def _files(files: Mapping[str, str]) -> dict[str, File | None]:
    return {_path(path): File(text.encode()) for path, text in files.items()}


def _path(path: str) -> str:
    return path.removeprefix("../") if path.startswith("../") else PREFIX + path


def field(folder: Path) -> Field:
    """Return an empty project beside a cache with three releases."""
    base = folder / "project"
    base.mkdir()
    return Field(base, cache(folder, RELEASES))


def sound(folder: Path) -> Field:
    """Write a slime-like project with nothing wrong: one folder a version, Dockerfile, README."""
    made = field(folder)
    for version, release in (("0.5.14", V14), ("0.5.15", V15)):
        after = {**release, "srt/queue.py": COUNTED, "srt/limits.py": release["srt/limits.py"] + "BURST = 1\n"}
        made.write(f"docker/patch/v{version}/sglang.patch", made.diff(release, after))
    made.write("docker/Dockerfile", DOCKERFILE.replace("=latest", "=v0.5.15"))
    made.write("docker/README.md", "| folder | sglang |\n|---|---|\n| v0.5.14 | v0.5.14 |\n| v0.5.15 | v0.5.15 |\n")
    return made


def git(base: Path, *arguments: str) -> str:
    """Run git in the project."""
    return run(["git", *arguments], cwd=base, timeout_s=30, env=AUTHOR).stdout.decode()


AUTHOR = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "A U Thor", "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A U Thor", "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}  # fmt: skip


def commit_tags(made: Field, *tags: str) -> None:
    """Commit version.txt once for each tag."""
    git(made.base, "init", "-q")
    for tag in tags:
        made.write("docker/version.txt", f"{tag}\n")
        git(made.base, "add", "docker/version.txt")
        git(made.base, "commit", "-q", "-m", tag)


def mail(subject: str, body: str, diff: bytes) -> bytes:
    """Return a patch as git format-patch writes it."""
    head = (
        "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\n"
        "From: Ada <ada@example.com>\n"
        "Date: Mon, 5 Jan 2026 10:00:00 +0100\n"
        f"Subject: [PATCH] {subject}\n\n{body}\n---\n"
    )
    return head.encode() + b"\n" + diff + b"-- \n2.39.5\n\n"


def digest(text: str) -> str:
    """Return a text's blob id."""
    return blob_id(text.encode())


def store_objects(folder: Path) -> ObjectStore:
    """Return the object store of the cache below the folder."""
    return ObjectStore.open(folder / "cache" / "objects.git")
