"""Bring a pinned upstream here and prove it is the pin."""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.errors import CommandError, ConfigError
from patchkit.model import CommitId, DirectorySource, Distribution, GitSource, Pin, Source, TreeId
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.process import run
from patchkit.upstream.access import Access
from patchkit.upstream.distribution import COMPILED, distribution_files
from patchkit.upstream.index import NO_PROMPT, fetch_distribution, is_local
from patchkit.upstream.objects import Entry, File, ObjectStore
from patchkit.versions import is_release, order, release_of

_PREFIX = SOURCE_PREFIX.rstrip("/")


@dataclass(frozen=True, slots=True)
class Upstream:
    """An upstream tree in the object store, with `python/sglang/` as in the repository.

    ref: names the commit that holds the tree. tree: git's tree id of python/sglang. commit: upstream's own, where it
    is known. source: where the tree came from, if not from the package index.
    """

    version: str
    ref: str
    tree: TreeId
    objects: ObjectStore
    commit: CommitId | None = None
    source: GitSource | DirectorySource | None = None

    def entries(self) -> dict[str, Entry]:
        """Return every file by its path from the root of the repository."""
        return {SOURCE_PREFIX + path: entry for path, entry in self.objects.entries(self.tree).items()}

    def read(self, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Return the content of each path, which starts with python/sglang/; None where upstream has no such file."""
        asked = list(paths)
        inside = [path for path in asked if path.startswith(SOURCE_PREFIX) and "\n" not in path]
        found = self.objects.read([f"{self.tree}:{path.removeprefix(SOURCE_PREFIX)}" for path in inside])
        return {**dict.fromkeys(asked), **dict(zip(inside, found, strict=True))}

    def write_to(self, directory: Path) -> None:
        """Write the whole tree below the directory, which must be empty, as python/sglang/..."""
        entries = self.entries()
        contents = self.objects.read([entry.blob for entry in entries.values()])
        for (path, entry), content in zip(entries.items(), contents, strict=True):
            assert content is not None
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755 if entry.mode == "100755" else 0o644)


def bring_pin(pin: Pin, access: Access) -> Upstream:
    """Return the pin's tree, brought here if it is not yet, and proven by its tree id, and by sha256 or commit id."""
    match pin.source:
        case Distribution():
            upstream = bring_version(pin.version, access, expected=pin.source)
        case GitSource():
            upstream = bring_git(pin.source.location, pin.commit, access)
        case DirectorySource():
            upstream = _bring_kept_directory(pin, Path(pin.source.path), access)
    if upstream.tree != pin.tree:
        raise ConfigError(
            f"upstream {pin.version} is not the tree of its pin",
            where=f"patches/{pin.name}/pin.toml",
            found=f"python/sglang has tree {upstream.tree}, pin.toml says {pin.tree}",
        )
    return replace(upstream, version=pin.version)


def bring_version(version: str, access: Access, *, expected: Distribution | None = None) -> Upstream:
    """Return a release from the package index.

    expected: the file and hash that it must have; without it, a copy that is here already is taken.
    Raises: CommandError when it is not here and cannot be had; ConfigError when it is another file.
    """
    if not is_release(version):
        raise ConfigError(
            f"{version} is no release: it stands for a commit, or for a directory, after {release_of(version)}",
            hint="name a release, or a pin of the store",
        )
    objects = access.objects
    ref = _kept_ref(objects, version, expected)
    if ref is None:
        if access.offline:
            raise CommandError(
                f"upstream {version} is not in the cache, and --offline forbids to download it",
                where=str(access.cache),
                hint=f"patchkit doctor, or once without --offline: pip download --no-deps sglang=={version}",
            )
        ref = _download(version, objects, access, expected)
    tree = objects.tree_at(ref, _PREFIX)
    if tree is None:
        raise CommandError(f"the cache holds no python/sglang for {version}", where=ref, hint=f"rm -r {objects.path}")
    return Upstream(version, ref, tree, objects)


def bring_directory(directory: Path, access: Access) -> Upstream:
    """Return a directory as it stands: a checkout, a wheel tree or an installed sglang package."""
    package = package_folder(directory)
    files = ((SOURCE_PREFIX + name, file) for name, file in _directory_files(package))
    name = hashlib.sha256(os.fsencode(package.resolve())).hexdigest()[:16]
    ref = f"refs/patchkit/dir/{name}"
    objects = access.objects
    objects.keep(ref, files, note=f"directory {name}")
    tree = objects.tree_at(ref, _PREFIX)
    if tree is None:
        raise ConfigError("the directory holds no file of sglang", where=str(directory))
    return Upstream(f"directory {directory}", ref, tree, objects, source=DirectorySource(str(directory.resolve())))


def keep_directory(upstream: Upstream) -> None:
    """Keep the tree of a directory for good, under its own id: the directory may change."""
    upstream.objects.link(_kept_directory_ref(upstream.tree), upstream.ref)


def _bring_kept_directory(pin: Pin, directory: Path, access: Access) -> Upstream:
    """Return the tree of a pin that was a directory: as it was kept, else as the directory stands."""
    objects = access.objects
    ref = _kept_directory_ref(pin.tree)
    if (tree := objects.tree_at(ref, _PREFIX)) is not None:
        return Upstream(pin.version, ref, tree, objects, source=DirectorySource(str(directory)))
    if not directory.is_dir():
        raise CommandError(
            f"upstream {pin.version} is not in the cache, and the directory that it was is not here",
            where=f"patches/{pin.name}/pin.toml",
            found=str(directory),
            hint=f"put python/sglang with tree {pin.tree} there, or name a git source in pin.toml",
        )
    upstream = bring_directory(directory, access)
    if upstream.tree == pin.tree:
        keep_directory(upstream)
    return upstream


def _kept_directory_ref(tree: TreeId) -> str:
    return f"refs/patchkit/tree/{tree}"


def bring_git(location: str, revision: str, access: Access) -> Upstream:
    """Return a tag or a 40-hex commit of a clone or a remote, fetched shallow and by id, without a prompt."""
    objects = access.objects
    is_commit = re.fullmatch(r"[0-9a-f]{40}", revision) is not None
    place = hashlib.sha256(location.encode()).hexdigest()[:16]  # a tag is its repository's, a commit is the world's
    ref = f"refs/patchkit/commit/{revision}" if is_commit else f"refs/patchkit/git/{place}/{revision}"
    if not (is_commit and objects.tree_at(ref)):  # a tag can move, a commit cannot
        if access.offline and not is_local(location):
            raise CommandError(f"{revision} is not in the cache, and --offline forbids to fetch it", where=location)
        wanted = revision if is_commit else f"refs/tags/{revision}"
        access.progress(f"fetching {revision} from {location}")
        run(
            ["git", "--git-dir", str(objects.path), "fetch", "-q", "--no-tags", "--depth=1", "--force",
             "--end-of-options", location, f"+{wanted}:{ref}"],
            cwd=objects.path,
            timeout_s=access.deadline_s,
            env=NO_PROMPT,
        )  # fmt: skip
    tree = objects.tree_at(ref, _PREFIX)
    if tree is None:
        raise ConfigError(f"{revision} holds no python/sglang", where=location)
    commit = CommitId(objects.commit_at(ref))
    return Upstream(revision, ref, tree, objects, commit=commit, source=GitSource(location))


def kept_versions(objects: ObjectStore) -> list[str]:
    """Return the releases that the object store holds, oldest first."""
    refs = objects.refs("refs/patchkit/index")
    return sorted({ref.split("/")[3] for ref in refs}, key=order)


def kept_commits(objects: ObjectStore) -> dict[str, str]:
    """Return the commit that holds each kept release, oldest release first."""
    commits: dict[str, str] = {}
    for ref, commit in objects.refs("refs/patchkit/index").items():
        commits.setdefault(ref.split("/")[3], commit)
    return dict(sorted(commits.items(), key=lambda item: order(item[0])))


def kept_upstreams(objects: ObjectStore) -> dict[str, Upstream]:
    """Return every release that the object store holds, by its version, with two calls of git in all."""
    chosen: dict[str, str] = {}
    for ref in sorted(objects.refs("refs/patchkit/index")):
        chosen.setdefault(ref.split("/")[3], ref)
    trees = objects.ids([f"{ref}:{_PREFIX}" for ref in chosen.values()])
    return {
        version: Upstream(version, ref, TreeId(tree), objects)
        for (version, ref), tree in zip(chosen.items(), trees, strict=True)
        if tree is not None
    }


def distribution_of(upstream: Upstream) -> Distribution:
    """Return the file of the package index that a kept release came from."""
    filename = upstream.objects.note(upstream.ref)
    return Distribution(filename, upstream.ref.rsplit("/", 1)[1])


def source_of(upstream: Upstream) -> Source:
    """Return where the tree came from, as a pin records it."""
    return upstream.source or distribution_of(upstream)


def package_folder(directory: Path) -> Path:
    """Return the sglang package in a checkout, a wheel tree, a site-packages folder or the package itself."""
    for below in ("python/sglang", "sglang", "."):
        candidate = directory / below
        if (candidate / "srt").is_dir() and (candidate / "__init__.py").is_file():
            return candidate
    raise ConfigError(
        "no sglang here",
        where=str(directory),
        found="neither python/sglang nor sglang with __init__.py and a folder srt",
        hint="name a checkout, a site-packages folder or the sglang package itself",
    )


def _kept_ref(objects: ObjectStore, version: str, expected: Distribution | None) -> str | None:
    refs = objects.refs(f"refs/patchkit/index/{version}")
    if expected:
        refs = {ref: commit for ref, commit in refs.items() if ref.endswith(expected.sha256)}
    return min(refs, default=None)


def _download(version: str, objects: ObjectStore, access: Access, expected: Distribution | None) -> str:
    """Fetch the release's file, prove it, keep its tree, and return the ref."""
    access.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=access.cache, prefix="download-") as scratch:
        path = fetch_distribution(version, Path(scratch), access)
        digest = _sha256(path)
        if expected and (path.name, digest) != (expected.filename, expected.sha256):
            raise ConfigError(
                f"the package index serves another file for sglang {version} than its pin names",
                where=path.name,
                found=f"sha256 {digest}; the pin has {expected.filename}, sha256 {expected.sha256}",
                kept="nothing was stored",
                hint="compare both files before you change distribution in pin.toml",
            )
        access.progress(f"storing sglang {version}")
        ref = f"refs/patchkit/index/{version}/{digest}"
        objects.keep(ref, distribution_files(path), note=path.name)
    return ref


def _directory_files(package: Path) -> Iterator[tuple[str, File]]:
    for folder, below, names in os.walk(package):
        below[:] = sorted(name for name in below if name not in ("__pycache__", ".git"))
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(COMPILED) or path.is_symlink() or not path.is_file():
                continue
            yield path.relative_to(package).as_posix(), File(path.read_bytes())


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
