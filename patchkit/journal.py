"""Replace many files in one step: after a kill at any instant the next command ends or undoes it."""

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.errors import CommandError, ConfigError
from patchkit.patchtext import blob_id

SCHEMA = "patchkit.journal/1"
_WAIT_S = 10.0
_POLL_S = 0.05
_JOURNAL = "journal.json"
SAVED = "saved"  # the folder, in the state folder, with the contents that --reverse needs
_NEW = ".patchkit-new-"


class Replacement(NamedTuple):
    """One file to change. before, after: None: no file on that side. mode, old_mode: permission bits after, before."""

    place: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o644
    old_mode: int = 0o644


class Step(NamedTuple):
    """One replacement as the journal has it. new: the file made beside its place; empty for a deletion."""

    place: str
    before: str
    after: str
    new: str


class Paper(NamedTuple):
    """One document of the state folder as the journal has it. written: False: it is taken away."""

    name: str
    written: bool


@contextlib.contextmanager
def hold(state: str, *, wait_s: float = _WAIT_S) -> Iterator[str]:
    """Hold the state folder's lock, and make the folder; a folder that holds nothing at the end is taken away.

    Yields: what was ended or undone of an interrupted command; empty if nothing was.
    Raises: CommandError if another command holds it for longer than `wait_s`, or it cannot be written.
    """
    try:
        descriptor = _acquire(state, wait_s)
    except OSError as exc:
        _tidy(state)
        raise _unwritable(exc, state) from exc
    try:
        yield _recover_first(state)
    finally:
        _tidy(state)
        os.close(descriptor)


def is_writable(state: str) -> bool:
    """Whether the state folder can be written, or made."""
    folder = state
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return os.access(folder, os.W_OK)


def is_interrupted(state: str) -> bool:
    """Whether a command was killed while it changed this checkout."""
    return os.path.exists(f"{state}/{_JOURNAL}")


def replace_files(state: str, replacements: Sequence[Replacement], documents: Mapping[str, bytes | None]) -> None:
    """Replace all files, and the documents in the state folder (by name; None: take it away), in one step.

    Everything that can fail for want of room or rights is done first, beside the files; then come renames only.
    Modes and, for root, owners stay as they were; hard links are broken, not written through.

    Raises: CommandError when something cannot be written; then nothing is changed.
    """
    folders = _missing_folders(replacements)
    steps = [
        Step(item.place, _id(item.before), _id(item.after), _new_name(item, number))
        for number, item in enumerate(replacements)
    ]
    papers = [Paper(f"{state}/{name}", document is not None) for name, document in documents.items()]
    try:
        _write_journal(state, "prepare", steps, folders, papers)
        for folder in folders:
            _make_folder(folder)
        os.makedirs(f"{state}/{SAVED}", exist_ok=True)
        for step, item in zip(steps, replacements, strict=True):
            if item.after is not None:
                _write_new(step, item.after, item.mode)
            elif not os.access(os.path.dirname(item.place), os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), item.place)
        for paper, document in zip(papers, documents.values(), strict=True):
            if document is not None:
                _write(f"{paper.name}.new", document)
        _write_journal(state, "commit", steps, folders, papers)
    except OSError as exc:
        recover(state)
        raise _unwritable(exc, state) from exc
    except BaseException:
        recover(state)
        raise
    try:
        _end(state, steps, papers)
    except OSError as exc:
        _roll_back(state, steps, replacements)
        raise _unwritable(exc, state) from exc
    except KeyboardInterrupt:
        recover(state)  # renames only: ended sooner than undone
        raise


def recover(state: str) -> str:
    """End what an interrupted command had begun to rename; undo what it had only prepared. Return what was done.

    Raises: ConfigError when a file was changed by somebody else meanwhile.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{state}/{_JOURNAL}.new")
    try:
        with open(f"{state}/{_JOURNAL}", "rb") as stream:
            journal = json.load(stream)
    except FileNotFoundError:
        return ""
    steps = [Step(**step) for step in journal["steps"]]
    papers = [Paper(**paper) for paper in journal["papers"]]
    if journal["phase"] == "prepare":
        _undo(state, steps, journal["folders"], papers)
        os.unlink(f"{state}/{_JOURNAL}")
        return "an interrupted command had not changed anything yet; its remains were removed"
    _refuse_foreign(steps)
    _end(state, steps, papers)
    return f"an interrupted command was finished: {len(steps)} files"


# -- the two ways out -----------------------------------------------------------------------------------------


def _undo(state: str, steps: Sequence[Step], folders: Sequence[str], papers: Sequence[Paper]) -> None:
    for name in [*(step.new for step in steps if step.new), *(f"{paper.name}.new" for paper in papers)]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(name)
    for folder in [*reversed(folders), f"{state}/{SAVED}"]:
        with contextlib.suppress(OSError):  # never made, or somebody has put a file there
            os.rmdir(folder)


def _refuse_foreign(steps: Sequence[Step]) -> None:
    """Raise if a file that is still to be replaced is no longer what it was."""
    todo = [step for step in steps if os.path.lexists(step.new or step.place)]
    foreign = [step.place for step in todo if _present_id(step.place) not in (step.before, step.after)]
    if foreign:
        raise ConfigError(
            "a command was interrupted here, and files were changed since",
            where="\n".join(foreign),
            hint="put them back as they were, or as they should be after it, and try again",
        )


def _end(state: str, steps: Sequence[Step], papers: Sequence[Paper]) -> None:
    """Do the renames that are left, and close the journal. A step whose new file is gone has been done."""
    todo = [step for step in steps if os.path.lexists(step.new or step.place)]
    for step in todo:
        if step.new:
            os.replace(step.new, step.place)
        else:
            os.unlink(step.place)
    for step in steps:
        _purge_bytecode(step.place)
        if not step.new:
            _remove_empty_folders(os.path.dirname(step.place))
    for paper in papers:
        if paper.written and os.path.exists(f"{paper.name}.new"):
            os.replace(f"{paper.name}.new", paper.name)
    for paper in papers:
        if not paper.written:
            with contextlib.suppress(OSError):  # left behind it does no harm
                os.unlink(paper.name)
    with contextlib.suppress(OSError):  # holds the contents of another record, or was never made
        os.rmdir(f"{state}/{SAVED}")
    os.unlink(f"{state}/{_JOURNAL}")


def _roll_back(state: str, steps: Sequence[Step], replacements: Sequence[Replacement]) -> None:
    """Put back what was renamed before a rename failed. If that fails too, the journal stays for the next command."""
    with open(f"{state}/{_JOURNAL}", "rb") as stream:
        journal = json.load(stream)
    papers = [Paper(**paper) for paper in journal["papers"]]
    for step, item in zip(steps, replacements, strict=True):
        if os.path.lexists(step.new or step.place):
            continue
        if item.before is None:
            os.unlink(step.place)
        else:
            old = step._replace(new=f"{os.path.dirname(step.place)}/{_NEW}old")
            _write_new(old, item.before, item.old_mode)
            os.replace(old.new, old.place)
    for paper in papers:
        if paper.name.startswith(f"{state}/{SAVED}/") and not os.path.exists(f"{paper.name}.new"):
            os.unlink(paper.name)  # saved by this very command
    _write_journal(state, "prepare", steps, journal["folders"], papers)
    recover(state)


def _remove_empty_folders(folder: str) -> None:
    """Remove folders that the deletion has emptied, as git does; byte code alone does not keep one."""
    while True:
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass  # an interrupted command has got so far
        except OSError:
            return
        folder = os.path.dirname(folder)


def _purge_bytecode(place: str) -> None:
    """Remove byte code of a changed module: a same-size edit within a second would run the old one."""
    folder, name = os.path.split(place)
    if not name.endswith(".py"):
        return
    with contextlib.suppress(OSError):
        for cached in os.listdir(f"{folder}/__pycache__"):
            if cached.startswith(name[:-2]) and cached.endswith(".pyc"):
                os.unlink(f"{folder}/__pycache__/{cached}")
        os.rmdir(f"{folder}/__pycache__")  # only if nothing is left in it


# -- writing --------------------------------------------------------------------------------------------------


def _acquire(state: str, wait_s: float) -> int:
    """Return the descriptor of the locked lock file."""
    deadline = time.monotonic() + wait_s
    while True:
        os.makedirs(state, exist_ok=True)
        try:
            descriptor = os.open(f"{state}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            continue  # its last holder has just taken the folder away
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same_file(descriptor, f"{state}/lock"):
                _write(f"{state}/.gitignore", b"*\n")
                return descriptor
        except BlockingIOError as exc:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise CommandError(
                    "another patchkit command is changing this checkout", where=state, hint="wait for it, and try again"
                ) from exc
            time.sleep(_POLL_S)
        os.close(descriptor)


def _recover_first(state: str) -> str:
    try:
        return recover(state)
    except OSError as exc:
        raise CommandError(
            "a command was interrupted here and cannot be finished",
            where=exc.filename or state,
            found=exc.strerror or "",
        ) from exc


def _tidy(state: str) -> None:
    """Take the state folder away if nothing is recorded in it."""
    with contextlib.suppress(OSError):  # never made, or the next command is already in
        if set(os.listdir(state)) <= {"lock", ".gitignore"}:
            for name in (".gitignore", "lock"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{state}/{name}")
            os.rmdir(state)


def _unwritable(exc: OSError, state: str) -> CommandError:
    found = exc.strerror or str(exc)
    return CommandError(
        "the checkout cannot be written", where=str(exc.filename or state), found=found, kept="checkout unchanged"
    )


def _is_same_file(descriptor: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name))
    except FileNotFoundError:
        return False


def _write_journal(
    state: str, phase: str, steps: Sequence[Step], folders: Sequence[str], papers: Sequence[Paper]
) -> None:
    content = {
        "schema": SCHEMA,
        "phase": phase,
        "steps": [{"place": s.place, "before": s.before, "after": s.after, "new": s.new} for s in steps],
        "folders": folders,
        "papers": [{"name": paper.name, "written": paper.written} for paper in papers],
    }
    _write(f"{state}/{_JOURNAL}.new", json.dumps(content).encode())
    os.replace(f"{state}/{_JOURNAL}.new", f"{state}/{_JOURNAL}")


def _write(name: str, content: bytes) -> None:
    with open(name, "wb") as stream:
        stream.write(content)


def _write_new(step: Step, content: bytes, mode: int) -> None:
    """Write the file beside its place, with the mode asked for and, for root, the owner of what it replaces."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(step.new)
    descriptor = os.open(step.new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        if os.geteuid() == 0:
            like = os.stat(step.place if os.path.exists(step.place) else os.path.dirname(step.place))
            os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, mode)


def _make_folder(folder: str) -> None:
    """Make a folder with the mode and, for root, the owner of the one above it."""
    above = os.stat(os.path.dirname(folder))
    os.mkdir(folder)
    if os.geteuid() == 0:
        os.chown(folder, above.st_uid, above.st_gid)
    os.chmod(folder, stat.S_IMODE(above.st_mode))


def _missing_folders(replacements: Sequence[Replacement]) -> list[str]:
    """Return the folders to be made, each after the one that it is in."""
    missing: dict[str, None] = {}
    for item in replacements:
        chain = []
        folder = os.path.dirname(item.place)
        while item.after is not None and folder not in missing and not os.path.isdir(folder):
            chain.append(folder)
            folder = os.path.dirname(folder)
        missing.update(dict.fromkeys(reversed(chain)))
    return list(missing)


def _new_name(item: Replacement, number: int) -> str:
    return "" if item.after is None else f"{os.path.dirname(item.place)}/{_NEW}{number}"


def _id(content: bytes | None) -> str:
    return "" if content is None else blob_id(content)


def _present_id(place: str) -> str:
    try:
        with open(place, "rb") as stream:
            return blob_id(stream.read())
    except FileNotFoundError:
        return ""
