"""A directory with upstream source: where its files are, what they hold; the only importer of GitPython."""

import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from patchkit.checkout.journal import Site
from patchkit.errors import ConfigError
from patchkit.patch.hunks import SOURCE_PREFIX

if TYPE_CHECKING:
    from pathlib import Path

    from git import Repo

STATE_NAME = "patchkit"


class Checkout(NamedTuple):
    """A git checkout, a wheel tree, a site-packages folder, or the sglang package folder itself.

    root: the folder that patch paths start from; None where only the package is here.
    package: the folder that `python/sglang/` stands for; None for a tree without sglang.
    state: the folder for our lock, journal and record: `.git/patchkit` in a git checkout, else `.patchkit`
        beside the package. Whichever of its folders a user names, a checkout has one state.
    """

    given: str
    root: str | None
    package: str | None
    state: str

    @property
    def site(self) -> Site:
        """Where a journal of changes to this checkout works."""
        base = self.root if self.root is not None else os.path.dirname(self.package or "")
        return Site(self.state, base)

    def locate(self, path: str) -> str | None:
        """Return where a path of a patch is; None for one that lies outside of what is here."""
        if self.package is not None and path.startswith(SOURCE_PREFIX):
            return f"{self.package}/{path[len(SOURCE_PREFIX) :]}"
        return None if self.root is None else f"{self.root}/{path}"


class OnDisk(NamedTuple):
    """One file as it is. content: None where there is no file. mode: its permission bits."""

    content: bytes | None
    mode: int = 0o644


def find_checkout(directory: "Path | str") -> Checkout:
    """Return the layout of a directory, found by looking, never by asking git: a repository around it is no matter.

    Raises: ConfigError when it is no directory.
    """
    given = os.fspath(directory)
    if not os.path.isdir(given):
        raise ConfigError("there is no such directory", where=given)
    found = os.path.realpath(given)
    if os.path.isdir(f"{found}/{SOURCE_PREFIX}"):
        return _of_package(given, found + "/" + SOURCE_PREFIX.rstrip("/"))
    if os.path.isfile(f"{found}/sglang/__init__.py") or os.path.isdir(f"{found}/sglang/srt"):
        return _of_package(given, f"{found}/sglang")
    is_package = os.path.isfile(f"{found}/__init__.py") or os.path.isdir(f"{found}/srt")
    if is_package and os.path.basename(found) == "sglang":
        return _of_package(given, found)
    return Checkout(given, found, None, _state_folder(found, found))


def read_files(checkout: Checkout, paths: Iterable[str]) -> dict[str, OnDisk]:
    """Return the files as they are. No link is followed, neither in place of a file nor on the way to it.

    Raises: ConfigError for a link, a folder or a device in its place, and for a path outside of the checkout.
    """
    proven: set[str] = set()
    return {path: _read_file(checkout, path, proven) for path in paths}


def _read_file(checkout: Checkout, path: str, proven: set[str]) -> OnDisk:
    """Return one file. proven: the folders that are known to be folders."""
    place = checkout.locate(path)
    if place is None:
        raise ConfigError(
            f"{path} lies outside of the sglang package, and only that is here",
            where=checkout.given,
            hint="name a checkout of the whole repository",
        )
    _refuse_links(checkout, path, place, proven)
    try:
        found = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return OnDisk(None)
    if not stat.S_ISREG(found.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "a folder" if stat.S_ISDIR(found.st_mode) else ""
        raise ConfigError(f"{path} is {kind or 'no regular file'}; only files are patched", where=place)
    with open(place, "rb") as stream:
        return OnDisk(stream.read(), stat.S_IMODE(found.st_mode))


def stated_version(checkout: Checkout) -> str:
    """Return the release that the checkout calls itself, or nothing. Evidence, never proof."""
    if checkout.package is None:
        return ""
    for name in ("_version.py", "version.py"):
        try:
            with open(f"{checkout.package}/{name}", encoding="utf-8", errors="replace") as stream:
                text = stream.read()
        except OSError:
            continue
        for line in text.splitlines():
            left, _, right = line.rpartition("=")
            version = right.strip().strip("\"'")
            if left.startswith("__version__") and version[:1].isdigit():
                return version
    return ""


def read_head(checkout: Checkout) -> str:
    """Return the commit and tag that a git checkout is at; nothing for any other tree, or where git cannot tell."""
    if checkout.root is None or not os.path.lexists(f"{checkout.root}/.git"):
        return ""
    if "GIT_COMMON_DIR" in os.environ:  # GitPython itself would look there: rather nothing than another's commit
        return ""
    try:
        from git import GitError, Repo
    except ImportError:  # GitPython's answer to a missing git program
        return ""
    try:
        with Repo(checkout.root, search_parent_directories=False, expand_vars=False) as repository:
            repository.git.update_environment(**_own_places(repository))
            commit = repository.head.commit.hexsha
            tags = [tag.name for tag in repository.tags if tag.commit.hexsha == commit]
    except (GitError, ValueError, OSError):  # no commit yet, or a repository of somebody else
        return ""
    return commit[:12] + (f" ({tags[0]})" if tags else "")


def _own_places(repository: "Repo") -> dict[str, str]:
    """Return what keeps a hook's environment from leading GitPython's children elsewhere: they inherit all of it."""
    return {
        "GIT_DIR": os.fspath(repository.git_dir),
        "GIT_OBJECT_DIRECTORY": os.path.join(repository.common_dir, "objects"),
    }


def _of_package(given: str, package: str) -> Checkout:
    """Return the layout around a package folder: a repository has it below `python`."""
    above = os.path.dirname(package)
    in_repository = os.path.basename(above) == "python"
    root = os.path.dirname(above) if in_repository else None
    return Checkout(given, root, package, _state_folder(root, above))


def _state_folder(root: str | None, beside: str) -> str:
    if root is not None:
        repository = f"{root}/.git"
        if os.path.isfile(repository):  # a worktree or a submodule: one line that names its folder
            with open(repository, encoding="utf-8", errors="surrogateescape") as stream:
                named = stream.readline().removeprefix("gitdir:").strip()
            repository = os.path.normpath(os.path.join(root, named))
        if os.path.isfile(f"{repository}/HEAD"):  # else it is no repository, whatever a line in the tree says
            return _own_folder(f"{repository}/{STATE_NAME}")
    return _own_folder(f"{beside}/.{STATE_NAME}")


def _own_folder(state: str) -> str:
    """Return the state folder.

    Raises: ConfigError for a link in its place: it may have come with the tree, and lead anywhere.
    """
    if os.path.islink(state):
        raise ConfigError("patchkit's own folder is a symbolic link", where=state, hint=f"rm {state}")
    return state


def _refuse_links(checkout: Checkout, path: str, place: str, proven: set[str]) -> None:
    """Raise if a folder between the checkout's top and the file is a link: it may lead anywhere."""
    in_package = checkout.package is not None and path.startswith(SOURCE_PREFIX)
    top = checkout.package if in_package else checkout.root
    assert top is not None
    folder = os.path.dirname(place)
    while len(folder) > len(top) and folder not in proven:
        if os.path.islink(folder):
            raise ConfigError(f"{path} lies beyond a symbolic link", where=folder)
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise ConfigError(f"{path}: a file is in the way", where=folder)
        proven.add(folder)
        folder = os.path.dirname(folder)
