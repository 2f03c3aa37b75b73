"""The git repository that the store lives in: its tags, its head, and one lock for what writes there."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import CommandError, ConfigError
from patchkit.process import Completed, run
from patchkit.registry import registry_tags
from patchkit.store import own_folder
from patchkit.upstream.objects import SEALED
from patchkit.versions import NightlyTag

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

    def resolve(self, name: str) -> str | None:
        """Return the object that a name stands for, as "HEAD", "TAG^{commit}" or "HEAD:patches"; None where none."""
        asked = _git(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", name, allowed=(0, 1, 128))
        return asked.stdout.decode().strip() or None if asked.ok else None

    def read_file(self, revision: str, path: str) -> bytes | None:
        """Return a file as a revision has it; None where it has none."""
        blob = self.resolve(f"{revision}:{path}")
        return self.git("cat-file", "blob", blob) if blob else None

    def names_below(self, revision: str, folder: str) -> list[str]:
        """Return the names in a folder as a revision has it."""
        listed = self.git("ls-tree", "--name-only", "-z", f"{revision}:{folder}")
        return [os.fsdecode(name) for name in listed.split(b"\0") if name]

    def uncommitted(self, paths: Sequence[str]) -> list[str]:
        """Return what differs from the head below the paths, as `git status --short` shows it."""
        return self.git("--no-optional-locks", "status", "--porcelain", "--", *paths).decode().splitlines()

    def differ(self, one: str, other: str, paths: Sequence[str]) -> bool:
        """Whether anything below the paths differs between two revisions."""
        answer = _git(self.root, "diff-tree", "--quiet", "-r", one, other, "--", *paths, allowed=(0, 1))
        return answer.status == 1

    def identity(self) -> tuple[str, str]:
        """Return the name and address that git is set up with here; ours where it is not."""
        asked = (
            run(["git", "config", "--get", key], cwd=self.root, timeout_s=_TIMEOUT_S, allowed=(0, 1))
            for key in ("user.name", "user.email")
        )
        name, email = (answer.stdout.decode("utf-8", "replace").strip() for answer in asked)
        return name or "patchkit", email or "patchkit@localhost"

    def make_scratch(self, folder: Path, head: str, *, tags: str) -> "Repository":
        """Make a repository of its own in the folder, which borrows our objects and has our tags that match.

        A clone would do the same through git's transport, which runs hooks and refuses another user's repository.
        """
        folder.mkdir(parents=True)
        _git(folder, "init", "-q", ".")
        objects = self.root / self.git("rev-parse", "--git-path", "objects").decode().strip()
        (folder / ".git/objects/info/alternates").write_text(f"{objects.resolve()}\n")
        scratch = Repository(folder, folder / ".git")
        copied = self.git("for-each-ref", "--format=create %(refname) %(objectname)", f"refs/tags/{tags}")
        scratch.git("update-ref", "--stdin", stdin=copied)
        scratch.move_head(head)
        return scratch

    def move_head(self, commit: str) -> None:
        """Make the commit the detached head; files stay as they are."""
        self.git("update-ref", "--no-deref", "HEAD", commit)

    def restore(self, tree: str) -> None:
        """Make the files exactly those of the tree; all others go, ignored ones too. Only ever in a scratch."""
        self.git("read-tree", "--reset", "-u", tree)
        self.git("clean", "-ffdxq")

    def write_tree(self) -> str:
        """Return the tree of the files as they are."""
        self.git("add", "--all", ".")
        return self.git("write-tree").decode().strip()

    def write_commit(self, tree: str, parent: str, message: str, author: str) -> str:
        """Return the commit of the tree. author: as git writes it, with the time."""
        text = f"tree {tree}\nparent {parent}\nauthor {author}\ncommitter {author}\n\n{message}\n"
        return self.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode()).decode().strip()

    def write_tag(self, name: str, commit: str, message: str, author: str) -> str:
        """Return an annotated tag object of the commit; no ref names it yet."""
        text = f"object {commit}\ntype commit\ntag {name}\ntagger {author}\n\n{message}\n"
        return self.git("mktag", stdin=text.encode()).decode().strip()

    def take(self, source: "Repository", objects: Sequence[str], *, known: str) -> None:
        """Copy the objects, and what they reach beyond the commit `known`, from another repository."""
        wanted = "".join(f"{name}\n" for name in objects) + f"^{known}\n"
        pack = source.git("pack-objects", "--revs", "--stdout", "-q", stdin=wanted.encode())
        self.git("unpack-objects", "-q", stdin=pack)

    def create_refs(self, refs: Mapping[str, str]) -> None:
        """Create the refs, all or none; one that has its value already is no error."""
        missing = {ref: value for ref, value in refs.items() if self.resolve(ref) != value}
        for ref in missing:
            if found := self.resolve(ref):
                raise ConfigError(
                    f"{ref.split('/', 2)[2]} was published meanwhile",
                    where=ref,
                    found=f"it names {found[:12]}",
                    kept="no branch and no tag was changed",
                    hint="patchkit nightly",
                )
        orders = "".join(f"create {ref} {value}\n" for ref, value in missing.items())
        self.git("update-ref", "--stdin", stdin=orders.encode())

    def push(self, remote: str, refs: Sequence[str], *, timeout_s: float) -> None:
        """Push the refs, all or none, never by force; the user's own git settings reach the remote."""
        run(
            ["git", "push", "--atomic", "--porcelain", remote, *(f"{ref}:{ref}" for ref in refs)],
            cwd=self.root,
            timeout_s=timeout_s,
            env={"GIT_TERMINAL_PROMPT": "0"},
        )

    def git(self, *arguments: str, stdin: bytes | None = None, timeout_s: float = _TIMEOUT_S) -> bytes:
        """Run one git command here and return its stdout; no hook and no setting of the user takes part."""
        return _git(self.root, *arguments, stdin=stdin, timeout_s=timeout_s).stdout


def find_repository(root: Path) -> Repository | None:
    """Return the git repository around the root; None where there is none.

    Raises: CommandError when there is one that git cannot read: its tags would then be missed without a word.
    """
    if not any((folder / ".git").exists() for folder in (root.resolve(), *root.resolve().parents)):
        return None
    top, common = _git(root, "rev-parse", "--show-toplevel", "--git-common-dir").stdout.decode().splitlines()
    return Repository(Path(top), (root / common).resolve())


@dataclass(frozen=True, slots=True)
class PublishedTags:
    """The tags that were published. malformed: names that look like one and are none."""

    valid: frozenset[NightlyTag]
    malformed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublishedElsewhere:
    """Where else than in git tags are published. listed: a file with one a line. registry: a repository of images."""

    listed: Path | None = None
    registry: str = ""


def published_tags(root: Path, elsewhere: PublishedElsewhere) -> PublishedTags:
    """Return the nightly tags of git, of the given list and of the given registry."""
    repository = find_repository(root)
    known = registry_tags(elsewhere.registry) if elsewhere.registry else ()
    names = {
        *(repository.tags("nightly-dev-*") if repository else ()),
        *_listed(elsewhere.listed),
        *_nightly_names(known),
    }
    read = {name: read_tag(name) for name in names}
    return PublishedTags(
        frozenset(tag for tag in read.values() if tag), tuple(sorted(name for name, tag in read.items() if not tag))
    )


def _listed(path: Path | None) -> list[str]:
    """Return the tags of a list; what stands before a tag's colon is not part of it, nor a comment behind it."""
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError("cannot read the list of published tags", where=str(path), found=str(exc)) from exc
    return _nightly_names(line.split("#")[0].strip().rpartition(":")[2] for line in lines)


def _nightly_names(tags: Iterable[str]) -> list[str]:
    """Return the names that are, or look like, nightly tags; a variant at their end ("-cu129") is not part of them."""
    return ["-".join(name.split("-")[:3]) for name in tags if name.startswith("nightly-dev-")]


def read_tag(name: str) -> NightlyTag | None:
    """Return the nightly tag of this name; None where it is none."""
    try:
        return NightlyTag.read(name)
    except ConfigError:
        return None


@contextmanager
def hold_lock(root: Path, purpose: str, *, wait_s: float = _LOCK_WAIT_S) -> Iterator[None]:
    """Hold the store's lock for one purpose, as "bump"; a second holder is refused after the wait."""
    from filelock import FileLock, Timeout

    repository = find_repository(root)
    folder = repository.git_folder / "patchkit" if repository else own_folder(root)
    folder.mkdir(exist_ok=True)
    path = folder / f"{purpose}.lock"
    lock = FileLock(path, timeout=wait_s)
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
    timeout_s: float = _TIMEOUT_S,
    allowed: Sequence[int] = (0,),
) -> Completed:
    # safe.directory: a CI job often runs as root in a checkout of another user; the root was named by the caller.
    guards = ["-c", "safe.directory=*", "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"]
    return run(["git", *guards, *arguments], cwd=cwd, timeout_s=timeout_s, stdin=stdin, env=SEALED, allowed=allowed)
