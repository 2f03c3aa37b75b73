"""The local object store: a bare git repository that holds upstream trees by content, safe for parallel use."""

import os
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import CommandError
from patchkit.model import TreeId
from patchkit.patch.hunks import BlobId
from patchkit.process import run

_TIMEOUT_S = 120.0
# Nothing of the user's settings may change what git writes here (PITFALLS 1.1).
SEALED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree. mode: octal text as "100644"."""

    mode: str
    blob: BlobId


@dataclass(frozen=True, slots=True)
class File:
    """One file to be written."""

    content: bytes
    mode: str = "100644"


class ObjectStore:
    """A bare git repository below the cache folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path) -> "ObjectStore":
        """Open the store, and make it first where there is none; two at once make the same one."""
        if not (path / "HEAD").exists():
            path.mkdir(parents=True, exist_ok=True)
            run(["git", "init", "-q", "--bare", str(path)], cwd=path, timeout_s=_TIMEOUT_S, env=SEALED)
        return cls(path)

    def tree_at(self, ref: str, path: str = "") -> TreeId | None:
        """Return the tree of the ref, or of a folder in it; None where there is none."""
        spec = f"{ref}:{path}" if path else f"{ref}^{{tree}}"
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", spec, allowed=(0, 1, 128))
        return TreeId(found.decode().strip()) or None

    def entries(self, tree: str) -> dict[str, Entry]:
        """Return every file of the tree by its path."""
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", tree)
        found: dict[str, Entry] = {}
        for row in listed.split(b"\0")[:-1]:
            head, _, name = row.partition(b"\t")
            mode, _, blob = head.decode().split(" ")
            found[os.fsdecode(name)] = Entry(mode, BlobId(blob))
        return found

    def read(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the content of each blob id or `tree:path`, in order; None where the store has none."""
        if not names:
            return []
        asked = b"".join(os.fsencode(name) + b"\n" for name in names)
        answer = self._git("cat-file", "--batch", stdin=asked)
        contents: list[bytes | None] = []
        at = 0
        for _ in names:
            end = answer.index(b"\n", at)
            head, at = answer[at:end], end + 1
            if head.endswith((b" missing", b" ambiguous")):
                contents.append(None)
                continue
            size = int(head.rsplit(b" ", 1)[1])
            contents.append(answer[at : at + size])
            at += size + 1
        return contents

    def ids(self, names: Sequence[str]) -> list[BlobId | None]:
        """Return the id of each `tree:path`, in order; None where the store has none. Reads no content."""
        if not names:
            return []
        asked = b"".join(os.fsencode(name) + b"\n" for name in names)
        rows = self._git("cat-file", "--batch-check=%(objectname)", stdin=asked).splitlines()
        return [None if row.endswith((b" missing", b" ambiguous")) else BlobId(row.decode()) for row in rows]

    def keep(self, ref: str, files: Iterable[tuple[str, File]], *, note: str) -> TreeId:
        """Store the files as one commit under the ref and return their tree. The same files give the same ids."""
        self._import(_commit_stream(ref, files, note))
        tree = self.tree_at(ref)
        assert tree is not None
        return tree

    def note(self, ref: str) -> str:
        """Return the note with which the files of the ref were kept."""
        return self._git("log", "-1", "--format=%s", "--end-of-options", ref).decode().strip()

    def commit_at(self, ref: str) -> str:
        """Return the id of the commit that the ref, or the tag that it names, stands for."""
        return self._git("rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}").decode().strip()

    def link(self, ref: str, revision: str) -> None:
        """Let the ref name what the revision names."""
        self._git("update-ref", ref, revision)

    def diff(self, before: Mapping[str, File | None], after: Mapping[str, File | None]) -> bytes:
        """Return the canonical patch text between two sets of files: full index, no renames, 3 lines of context.

        By plumbing, which ignores the user's diff settings; so two machines write the same bytes.
        """
        name = f"refs/patchkit/scratch/{uuid.uuid4().hex}"
        old, new = f"{name}-old", f"{name}-new"
        streams = [
            *_commit_stream(old, _present(before), "old"),
            *_commit_stream(new, _present(after), "new"),
        ]
        self._import(streams)
        try:
            return self._git(
                "diff-tree", "-p", "--full-index", "--no-renames", "--no-ext-diff", "--unified=3", old, new
            )
        finally:
            for ref in (old, new):
                self._git("update-ref", "-d", ref)

    def refs(self, prefix: str) -> dict[str, str]:
        """Return each ref below the prefix with the id that it names."""
        listed = self._git("for-each-ref", "--format=%(refname) %(objectname)", prefix).decode()
        return dict(row.split(" ") for row in listed.splitlines())

    def _import(self, stream: Iterable[bytes]) -> None:
        # By way of a file: a release is 100 MB and more. fast-import writes its pack under a temporary
        # name and moves the refs last, so a killed one leaves nothing that counts.
        with tempfile.NamedTemporaryFile(dir=self.path, prefix="import-") as spool:
            spool.writelines(stream)
            spool.write(b"done\n")
            spool.flush()
            self._git("fast-import", "--quiet", "--force", "--done", stdin=Path(spool.name))

    def _git(self, *arguments: str, stdin: bytes | Path | None = None, allowed: Sequence[int] = (0,)) -> bytes:
        done = run(
            ["git", "--git-dir", str(self.path), *arguments],
            cwd=self.path,
            timeout_s=_TIMEOUT_S,
            stdin=stdin,
            env=SEALED,
            allowed=allowed,
        )
        return done.stdout


def _present(files: Mapping[str, File | None]) -> list[tuple[str, File]]:
    return [(path, file) for path, file in sorted(files.items()) if file is not None]


def _commit_stream(ref: str, files: Iterable[tuple[str, File]], note: str) -> Iterable[bytes]:
    """Yield a fast-import stream for one parentless commit with a fixed author and date."""
    message = note.encode()
    yield b"commit " + ref.encode() + b"\ncommitter patchkit <patchkit@invalid> 0 +0000\n"
    yield b"data %d\n%s\n" % (len(message), message)
    yield b"deleteall\n"
    for path, file in files:
        yield b"M " + file.mode.encode() + b" inline " + _quoted(path) + b"\n"
        yield b"data %d\n" % len(file.content)
        yield file.content
        yield b"\n"


def _quoted(path: str) -> bytes:
    """Return the path in the quotes of fast-import, in which any byte can stand."""
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise CommandError("a file name holds a NUL byte", where=path)
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
