"""Read a project's patch folder as it stands: patch files, series, Dockerfiles, READMEs, the history of its tag."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patchkit.adopt.arrange import PATCH_SUFFIXES, versions_in
from patchkit.adopt.nouns import PatchFile
from patchkit.errors import ConfigError, PatchkitError
from patchkit.process import run
from patchkit.upstream.objects import SEALED

_NOT_SEARCHED = {".git", "node_modules", "__pycache__", ".venv", "venv", ".pc"}
_MAX_PATCHES = 2000
_TIMEOUT_S = 20.0
_LEVELS = 3  # how far above the patches a Dockerfile may stand, where no .git marks the top


@dataclass(slots=True)
class Project:
    """What was found. base: the folder that paths are relative to.

    series: text of each `series` file by its folder. documents: text by path. tags: (commit, tag), oldest first.
    """

    base: Path
    files: list[PatchFile] = field(default_factory=list)
    series: dict[str, str] = field(default_factory=dict)
    dockerfiles: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    version_file: str = ""
    tags: list[tuple[str, str]] = field(default_factory=list)


def read_project(paths: Sequence[Path]) -> Project:
    """Read every patch file below the paths, and what stands around them. Changes nothing."""
    base = _base_of(paths[0].resolve())
    project = Project(base)
    for path in paths:
        resolved = path.resolve()
        if path.is_dir():
            _read_folder(project, resolved)
        else:
            project.files.append(_patch_file(project, resolved))
    if not project.files:
        raise ConfigError(
            "no patch file here",
            where=", ".join(map(str, paths)),
            found=f"looked for {' and '.join('*' + suffix for suffix in PATCH_SUFFIXES)}",
        )
    _read_around(project, [path.resolve() for path in paths])
    return project


@dataclass(frozen=True, slots=True)
class GitRange:
    """The commits of a branch on top of an upstream commit. labels: the releases that its tags name."""

    project: Project
    commit: str
    labels: tuple[str, ...]


def read_git_range(repository: Path, revisions: str) -> GitRange:
    """Return the commits of `BASE..BRANCH` as patches, as git format-patch writes them.

    Raises: ConfigError for what is no range, and for one with merges, whose resolutions no patch would hold.
    """
    base, found, tip = revisions.partition("..")
    if not found or not base or tip.startswith("."):
        raise ConfigError(f"'{revisions}' is not a range of commits", hint="--from-git v0.5.16..my-branch")
    tip = tip or "HEAD"
    commit = _git(repository, "rev-parse", "--verify", "--end-of-options", f"{base}^{{commit}}").strip()
    if merges := _git(repository, "rev-list", "--merges", f"{commit}..{tip}").split():
        raise ConfigError(
            f"{len(merges)} merges between {base} and {tip}, and a series is a line",
            where=f"{repository}, commit {merges[0][:12]}",
            hint=f"git -C {repository} rebase {base} {tip}",
        )
    mails = run(
        ["git", "format-patch", "--stdout", "--full-index", "--binary", "--zero-commit", "--no-signature",
         "--no-ext-diff", "--no-textconv", "--no-stat", "--no-renames", f"{commit}..{tip}"],
        cwd=repository,
        timeout_s=_TIMEOUT_S,
        env=SEALED,
    ).stdout  # fmt: skip
    if not mails.strip():
        raise ConfigError(f"no commit between {base} and {tip}", where=str(repository))
    project = Project(repository.resolve())
    project.files.append(PatchFile("", f"{tip.replace('/', '-')}.patch", revisions, mails))
    tags = _git(repository, "tag", "--points-at", commit).split()
    return GitRange(project, commit, tuple(version for name in (base, *tags) for version in versions_in(name)))


def _git(repository: Path, *arguments: str) -> str:
    return run(["git", *arguments], cwd=repository, timeout_s=_TIMEOUT_S, env=SEALED).stdout.decode()


def _read_folder(project: Project, folder: Path) -> None:
    for where, below, names in os.walk(folder):
        here = Path(where)
        below[:] = sorted(name for name in below if name not in _NOT_SEARCHED)
        for name in sorted(names):
            if name.endswith(PATCH_SUFFIXES) and (here / name).is_file():
                project.files.append(_patch_file(project, here / name))
            elif name == "series":
                project.series[_relative(project, here)] = _text(here / name)
            elif "Dockerfile" in name:
                project.dockerfiles[_relative(project, here / name)] = _text(here / name)
        if len(project.files) > _MAX_PATCHES:
            raise ConfigError(f"more than {_MAX_PATCHES} patch files", where=str(folder), hint="name a smaller folder")


def _read_around(project: Project, paths: Sequence[Path]) -> None:
    """Read the Dockerfiles, READMEs and the version file between the patches and the top of the project."""
    folders: dict[Path, None] = {}
    for path in paths:
        start = path if path.is_dir() else path.parent
        folders.update(dict.fromkeys(each for each in (start, *start.parents) if each.is_relative_to(project.base)))
    folders.update(dict.fromkeys(each for each in sorted(project.base.glob("docker*")) if each.is_dir()))
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            path = folder / name
            if not path.is_file():
                continue
            if "Dockerfile" in name:
                project.dockerfiles.setdefault(_relative(project, path), _text(path))
            elif name.upper().startswith("README"):
                project.documents[_relative(project, path)] = _text(path)
            elif name == "version.txt" and not project.version_file:
                project.version_file = _relative(project, path)
    if project.version_file:
        project.tags = list(_tag_history(project))


def _tag_history(project: Project) -> Iterator[tuple[str, str]]:
    """Yield each commit that changed the version file with the tag that it wrote; nothing where git knows none."""
    if not (project.base / ".git").exists():
        return
    try:
        log = run(
            ["git", "log", "--reverse", "--format=%h", "--", project.version_file],
            cwd=project.base,
            timeout_s=_TIMEOUT_S,
        )
        commits = log.stdout.decode().split()
        asked = "".join(f"{commit}:{project.version_file}\n" for commit in commits)
        answer = run(
            ["git", "cat-file", "--batch"], cwd=project.base, timeout_s=_TIMEOUT_S, stdin=asked.encode()
        ).stdout
    except PatchkitError:
        return
    for commit in commits:
        head, _, rest = answer.partition(b"\n")
        if head.endswith(b" missing"):
            answer = rest
            continue
        size = int(head.rsplit(b" ", 1)[1])
        yield commit, rest[:size].decode("utf-8", "replace").strip()
        answer = rest[size + 1 :]


def _base_of(path: Path) -> Path:
    """Return the top of the project: the folder with .git, else the highest near one with a Dockerfile."""
    start = path if path.is_dir() else path.parent
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    found = start
    for folder in list(start.parents)[:_LEVELS]:
        if any(folder.glob("Dockerfile*")) or any(folder.glob("docker/Dockerfile*")):
            found = folder
    return found


def _patch_file(project: Project, path: Path) -> PatchFile:
    relative = _relative(project, path)
    folder = relative.rpartition("/")[0]
    try:
        return PatchFile(folder, path.name, relative, path.read_bytes())
    except OSError as exc:
        raise ConfigError(f"cannot read {path.name}", where=relative, found=exc.strerror or str(exc)) from exc


def _relative(project: Project, path: Path) -> str:
    if path == project.base:
        return ""
    return path.relative_to(project.base).as_posix() if path.is_relative_to(project.base) else path.as_posix()


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as exc:
        raise ConfigError(f"cannot read {path.name}", where=str(path), found=exc.strerror or str(exc)) from exc
