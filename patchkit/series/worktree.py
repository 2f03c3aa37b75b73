"""The worktree of an edit: a git repository at the pin with one commit a topic, to be changed by any git tool."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import CommandError, ConfigError
from patchkit.patch.hunks import BlobId
from patchkit.patch.letters import Letter, author_parts, git_date, mail_date, split_topic, with_topic
from patchkit.process import run
from patchkit.store import own_folder
from patchkit.upstream.bring import Upstream
from patchkit.upstream.objects import SEALED, Entry, File, ObjectStore
from patchkit.versions import is_version

BRANCH = "topics"
BASE = "refs/patchkit/base"
_PIN = "refs/patchkit/pin"
_START = "refs/patchkit/start"
_STATE = "patchkit.json"
_TIMEOUT_S = 300.0
_NOBODY = (("NAME", "patchkit"), ("EMAIL", "patchkit@invalid"))  # who commits where git knows no user
_BUSY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
# Bytes go in and out as they are, whatever the user's settings say of line ends and filters.
_CONFIG = {
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "gc.auto": "0",
    "advice.detachedHead": "false",
    "rebase.autosquash": "false",
}


@dataclass(frozen=True, slots=True)
class TopicFiles:
    """One topic as a commit: its letter, and each file that it changes, before and after."""

    topic: str
    letter: Letter
    before: Mapping[str, File | None]
    after: Mapping[str, File | None]


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the edit, oldest first. topic: as its trailer says; empty for one that has none.

    changes: each path with (mode, blob) on both sides; None where there is no file.
    """

    id: str
    letter: Letter
    topic: str
    changes: Mapping[str, tuple[Entry | None, Entry | None]]


@dataclass(frozen=True, slots=True)
class EditState:
    """How far an edit is. busy: the git command that is under way. dirty: paths that no commit holds yet."""

    pin: str
    files: Mapping[str, str]  # sha256 of each file of the series when the edit began, or was last taken over
    busy: str
    dirty: tuple[str, ...]
    head_elsewhere: str  # the commit at which HEAD stands, where that is not the branch


def edit_folder(root: Path, pin: str) -> Path:
    """Return where the worktree of a pin's edit is, whether it exists or not."""
    return root / ".patchkit" / "edit" / pin


def open_edits(root: Path) -> list[str]:
    """Return the pins that have an edit."""
    folder = root / ".patchkit" / "edit"
    there = folder.iterdir() if folder.is_dir() else ()
    return sorted(each.name for each in there if is_version(each.name) and (each / ".git" / _STATE).is_file())


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the sha256 of each file."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def create_edit(
    root: Path, pin: str, upstream: Upstream, topics: Sequence[TopicFiles], files: Mapping[str, str]
) -> Path:
    """Make the worktree: the pin's commit, and one commit a topic on top. It appears whole or not at all.

    files: sha256 of the series' files, kept to see later changes.
    """
    folder = edit_folder(root, pin)
    folder.parent.mkdir(parents=True, exist_ok=True)
    own_folder(root)
    scratch = folder.with_name(f".{pin}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        _git(scratch, "init", "-q", "--template=", f"--initial-branch={BRANCH}", ".")
        for name, value in {**_CONFIG, **_author_of(root)}.items():
            _git(scratch, "config", name, value)
        info = scratch / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text("* -text -filter -ident -working-tree-encoding\n")
        (info / "exclude").write_text("__pycache__/\n*.pyc\n")
        # Copied, not borrowed: the edit must outlive the cache.
        source = str(upstream.objects.path.resolve())
        _git(scratch, "fetch", "-q", "--no-tags", "--depth=1", source, f"+{upstream.ref}:{_PIN}")
        stream = b"".join(_stream(topics))
        _git(scratch, "fast-import", "--quiet", "--done", stdin=stream)
        mark_start(scratch, pin, files)
        _git(scratch, "checkout", "-q", "-f", BRANCH)
        scratch.rename(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return folder


def put_aside(root: Path, pin: str) -> Path:
    """Move an edit away, whole, and return where it is now; nothing is ever deleted."""
    folder = edit_folder(root, pin)
    number = 1
    while (target := folder.with_name(f"{pin}.{number}")).exists():
        number += 1
    folder.rename(target)
    return target


def read_state(folder: Path) -> EditState:
    """Return how far the edit is."""
    git_folder = folder / ".git"
    try:
        kept = json.loads((git_folder / _STATE).read_text())
    except (OSError, ValueError) as exc:
        raise ConfigError("this is not the worktree of an edit", where=str(folder), found=str(exc)) from exc
    busy = next((name for mark, name in _BUSY.items() if (git_folder / mark).exists()), "")
    status = _git(folder, "status", "--porcelain", "-z", "--untracked-files=all").decode("utf-8", "surrogateescape")
    dirty = tuple(row[3:] for row in status.split("\0") if row[2:3] == " ")
    head, tip = (_git(folder, "rev-parse", name).decode().strip() for name in ("HEAD", f"refs/heads/{BRANCH}"))
    return EditState(kept["pin"], kept["files"], busy, dirty, "" if head == tip or busy else head)


def is_untouched(folder: Path) -> bool:
    """Whether nothing was done in the edit since it began, or since it was last taken over."""
    state = read_state(folder)
    if state.busy or state.dirty or state.head_elsewhere:
        return False
    tip = _git(folder, "rev-parse", f"refs/heads/{BRANCH}").strip()
    return tip == _git(folder, "rev-parse", _START).strip()


def fold_fixups(folder: Path) -> None:
    """Let git fold `fixup!` and `squash!` commits into those that they are for.

    Raises: ConfigError where they do not fit; everything is as before then.
    """
    subjects = _git(folder, "log", "--format=%s", f"{BASE}..{BRANCH}").decode("utf-8", "replace").splitlines()
    if not any(subject.startswith(("fixup! ", "squash! ", "amend! ")) for subject in subjects):
        return
    done = run(
        ["git", "-c", "core.editor=true", "-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash",
         "--keep-empty", BASE, BRANCH],
        cwd=folder,
        timeout_s=_TIMEOUT_S,
        env=_identity(folder),
        allowed=range(256),
    )  # fmt: skip
    if done.ok:
        return
    run(["git", "rebase", "--abort"], cwd=folder, timeout_s=_TIMEOUT_S, allowed=range(256))
    raise ConfigError(
        "a fixup! commit does not fit the commit that it is for",
        where=str(folder),
        found=done.stderr.decode("utf-8", "replace").strip().splitlines()[0] if done.stderr.strip() else "",
        kept="the edit is as it was",
        hint=f"git -C {folder} rebase -i --autosquash {BASE}",
    )


def stop_at(folder: Path, topic: str) -> None:
    """Put the worktree at the commit of a topic, in a rebase that goes on with `git rebase --continue`."""
    commits = read_commits(folder)
    found = [commit.id for commit in commits if commit.topic == topic]
    if not found:
        names = ", ".join(commit.topic for commit in commits if commit.topic)
        raise ConfigError(f"the edit has no topic {topic}", where=str(folder), found=f"topics: {names}")
    if found[-1] == commits[-1].id:
        return
    run(
        ["git", "-c", "core.abbrev=40", "-c", f"sequence.editor=sed -i.bak -e 's/^pick {found[-1]}/edit {found[-1]}/'",
         "rebase", "-q", "-i", "--keep-empty", BASE, BRANCH],
        cwd=folder,
        timeout_s=_TIMEOUT_S,
        env=_identity(folder),
    )  # fmt: skip


def commit_empty(folder: Path, message: str, topic: str) -> None:
    """Put an empty commit for a topic on top, by the user's identity."""
    run(
        ["git", "commit", "-q", "--allow-empty", "-m", with_topic(message, topic)],
        cwd=folder,
        timeout_s=_TIMEOUT_S,
        env=_identity(folder),
    )


def read_commits(folder: Path) -> list[Commit]:
    """Return the commits on top of the pin, oldest first. Raises: ConfigError for a merge."""
    return list(_log(folder, f"refs/heads/{BRANCH}"))


def read_start(folder: Path) -> list[Commit]:
    """Return the commits as they were when the edit began, or was last taken over."""
    return list(_log(folder, _START))


def mark_start(folder: Path, pin: str, files: Mapping[str, str]) -> None:
    """Remember the present commits, and the series' files, as what the edit began with."""
    _git(folder, "update-ref", _START, f"refs/heads/{BRANCH}")
    (folder / ".git" / _STATE).write_text(json.dumps({"pin": pin, "files": dict(files)}, indent=1) + "\n")


def read_files(folder: Path, entries: Sequence[Entry | None]) -> list[File | None]:
    """Return the content of each entry, in order."""
    wanted = [entry.blob for entry in entries if entry is not None]
    contents = iter(ObjectStore(folder / ".git").read(wanted))
    files: list[File | None] = []
    for entry in entries:
        content = next(contents) if entry is not None else None
        files.append(None if entry is None or content is None else File(content, entry.mode))
    return files


# -- inside -----------------------------------------------------------------------------------------------


def _log(folder: Path, tip: str) -> Iterator[Commit]:
    listed = _git(folder, "log", "--reverse", "--topo-order", "--raw", "-z", "--no-renames", "--no-abbrev",
                  "--format=%x01%H%x02%P%x02%an <%ae>%x02%ad%x02%B%x02", "--date=raw", f"{BASE}..{tip}")  # fmt: skip
    for block in listed.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        name, parents, author, date, message, raw = block.split("\x02", 5)
        if " " in parents:
            raise ConfigError(
                "the edit holds a merge, and a series is a line",
                where=f"{folder}, commit {name[:12]}",
                hint=f"git -C {folder} rebase {BASE}",
            )
        text, topic = split_topic(message)
        yield Commit(name, Letter(author, mail_date(date), text), topic, dict(_raw_changes(raw)))


def _raw_changes(raw: str) -> Iterator[tuple[str, tuple[Entry | None, Entry | None]]]:
    """Yield each path of a --raw -z record with both sides."""
    fields = raw.lstrip("\0\n").split("\0")
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.lstrip("\n:").split(" ")
        yield path, (_entry(old_mode, old), _entry(new_mode, new))


def _entry(mode: str, blob: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, BlobId(blob))


def _stream(topics: Sequence[TopicFiles]) -> Iterator[bytes]:
    """Yield a fast-import stream: the pin, with the modes that the patches speak of, and a commit a topic."""
    modes: dict[str, File] = {}
    seen: set[str] = set()
    for topic in topics:
        modes.update({path: file for path, file in topic.before.items() if file is not None and path not in seen})
        seen.update(topic.before)
    odd = {path: file for path, file in modes.items() if file.mode != "100644"}
    parent = _PIN.encode()
    if odd:
        yield b"commit " + BASE.encode() + b"\ncommitter patchkit <patchkit@invalid> 0 +0000\n"
        yield b"data 20\nmodes as patches say\nfrom " + parent + b"\n"
        yield from _file_lines(odd)
    else:
        yield b"reset " + BASE.encode() + b"\nfrom " + parent + b"\n\n"
    start = b"from " + BASE.encode() + b"\n"
    for topic in topics:
        name, address = author_parts(topic.letter.author)
        who = re.sub(r"[<>\n]", "", name).encode("utf-8", "surrogateescape")
        where = re.sub(r"[<>\n]", "", address).encode("utf-8", "surrogateescape")
        date = git_date(topic.letter.date).encode()
        message = with_topic(topic.letter.message, topic.topic).encode("utf-8", "surrogateescape")
        yield b"commit refs/heads/" + BRANCH.encode() + b"\n"
        yield b"author %s <%s> %s\ncommitter patchkit <patchkit@invalid> %s\n" % (who, where, date, date)
        yield b"data %d\n%s\n%s" % (len(message), message, start)
        yield from _file_lines(topic.after)
        start = b""  # the branch goes on
    yield b"done\n"


def _file_lines(files: Mapping[str, File | None]) -> Iterator[bytes]:
    for path, file in sorted(files.items()):
        name = path.encode("utf-8", "surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        if file is None:
            yield b'D "' + name + b'"\n'
        else:
            yield b"M " + file.mode.encode() + b' inline "' + name + b'"\n'
            yield b"data %d\n%s\n" % (len(file.content), file.content)


def _git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    return run(command, cwd=folder, timeout_s=_TIMEOUT_S, stdin=stdin, env=SEALED).stdout


def _author_of(root: Path) -> dict[str, str]:
    """Return who commits in the store's repository: the worktree is one of its own and would not see it."""
    asked = {
        name: run(["git", "config", "--get", name], cwd=root, timeout_s=_TIMEOUT_S, allowed=(0, 1))
        for name in ("user.name", "user.email")
    }
    return {name: told.stdout.decode("utf-8", "surrogateescape").strip() for name, told in asked.items() if told.ok}


def _identity(folder: Path) -> dict[str, str]:
    """Return the environment in which git can commit: the user's own identity, or ours where there is none."""
    try:
        run(["git", "var", "GIT_COMMITTER_IDENT"], cwd=folder, timeout_s=_TIMEOUT_S)
    except CommandError:
        return {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in _NOBODY}
    return {}
