"""Replace many files in one step: after a kill at any instant the next command ends or undoes it."""

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.checkout.lock import acquire, tidy
from patchkit.counting import count
from patchkit.errors import CommandError, ConfigError
from patchkit.patch.patchtext import blob_id

SCHEMA = "patchkit.journal/1"
_WAIT_S = 10.0
_JOURNAL = "journal.json"
_NEW = ".patchkit-new-"


class Replacement(NamedTuple):
    """One file to change. before, after: None: no file on that side. mode, old_mode: permission bits after, before."""

    place: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o644
    old_mode: int = 0o644


class Site(NamedTuple):
    """Where a journal works. state: its own folder. base: the folder that every changed file is in."""

    state: str
    base: str


class Step(NamedTuple):
    """One replacement as the journal has it. new: the file made beside its place; empty for a deletion."""

    place: str
    before: str
    after: str
    new: str


class Journal(NamedTuple):
    """What a command is about to do. On the disk all paths are relative: a copied checkout minds its own files.

    folders: to be made. papers: documents of the state folder to be renamed into place, or (False) taken away.
    leftovers: to be removed at the end.
    """

    is_committed: bool
    steps: tuple[Step, ...]
    folders: tuple[str, ...] = ()
    papers: tuple[tuple[str, bool], ...] = ()
    leftovers: tuple[str, ...] = ()


@contextlib.contextmanager
def hold(site: Site, *, wait_s: float = _WAIT_S) -> Iterator[str]:
    """Hold the state folder's lock, and make the folder; a folder that holds nothing at the end is taken away.

    Yields: what was ended or undone of an interrupted command; empty if nothing was.
    Raises: CommandError if another command holds it for longer than `wait_s`, or it cannot be written.
    """
    state = site.state
    try:
        descriptor = acquire(state, wait_s)
    except OSError as exc:
        tidy(state)
        raise _unwritable(exc, state) from exc
    try:
        yield _recover_first(site)
    finally:
        try:
            tidy(state)
        finally:
            os.close(descriptor)


def is_interrupted(state: str) -> bool:
    """Whether a command was killed while it changed this checkout."""
    return os.path.exists(f"{state}/{_JOURNAL}")


def replace_files(site: Site, replacements: Sequence[Replacement], documents: Mapping[str, bytes | None]) -> None:
    """Replace all files, and the documents in the state folder (by name; None: take it away), in one step.

    Everything that can fail for want of room or rights is done first, beside the files; then come renames only.
    Modes and, for root, owners stay as they were; hard links are broken, not written through.

    Raises: CommandError when something cannot be written; then nothing is changed.
    """
    steps = tuple(
        Step(item.place, _id(item.before), _id(item.after), _new_name(item, number))
        for number, item in enumerate(replacements)
    )
    papers = tuple((f"{site.state}/{name}", document is not None) for name, document in documents.items())
    journal = Journal(False, steps, tuple(_missing_folders(replacements)), papers)
    try:
        _write_journal(site, journal)
        _prepare(site, journal, replacements, documents)
        _write_journal(site, journal._replace(is_committed=True))
    except OSError as exc:
        recover(site)
        raise _unwritable(exc, site.state) from exc
    except BaseException:
        recover(site)
        raise
    try:
        _end(site, journal)
    except OSError as exc:
        _roll_back(site, journal, replacements)
        raise _unwritable(exc, site.state) from exc
    except KeyboardInterrupt:
        recover(site)  # renames only: ended sooner than undone
        raise


def recover(site: Site) -> str:
    """End what an interrupted command had begun to rename; undo what it had only prepared. Return what was done.

    Raises: ConfigError when a file was changed by somebody else meanwhile, or the journal names files elsewhere.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{site.state}/{_JOURNAL}.new")
    journal = _read_journal(site)
    if journal is None:
        return ""
    if not journal.is_committed:
        _undo(site, journal)
        return "an interrupted command had not changed anything yet; its remains were removed"
    _refuse_foreign(journal)
    _end(site, journal)
    return f"an interrupted command was finished: {count(len(journal.steps), 'file')}"


# -- the two ways out -----------------------------------------------------------------------------------------


def _prepare(
    site: Site, journal: Journal, replacements: Sequence[Replacement], documents: Mapping[str, bytes | None]
) -> None:
    """Make all new folders, files and documents beside their places."""
    for folder in journal.folders:
        _make_folder(folder)
    for step, item in zip(journal.steps, replacements, strict=True):
        if item.after is not None:
            _write_new(step.new, step.place, item.after, item.mode)
        elif not os.access(os.path.dirname(item.place), os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), item.place)
    for name, document in documents.items():
        if document is not None:
            _write(f"{site.state}/{name}.new", document)


def _undo(site: Site, journal: Journal) -> None:
    for name in [*(step.new for step in journal.steps if step.new), *(f"{name}.new" for name, _ in journal.papers)]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(name)
    for folder in reversed(journal.folders):
        with contextlib.suppress(OSError):  # never made, or somebody has put a file there
            os.rmdir(folder)
    os.unlink(f"{site.state}/{_JOURNAL}")


def _refuse_foreign(journal: Journal) -> None:
    """Raise if a file that is still to be replaced is no longer what it was."""
    todo = [step for step in journal.steps if _is_left(step)]
    foreign = [step.place for step in todo if _present_id(step.place) not in (step.before, step.after)]
    if foreign:
        raise ConfigError(
            "a command was interrupted here, and files were changed since",
            where="\n".join(foreign),
            hint="put them back as they were, or as they should be after it, and try again",
        )


def _end(site: Site, journal: Journal) -> None:
    """Do the renames that are left, and close the journal."""
    for step in journal.steps:
        if _is_left(step):
            if step.new:
                os.replace(step.new, step.place)
            else:
                os.unlink(step.place)
    for step in journal.steps:
        _purge_bytecode(step.place)
        if not step.new:
            _remove_empty_folders(os.path.dirname(step.place))
    for name, is_written in journal.papers:
        if is_written and os.path.exists(f"{name}.new"):
            os.replace(f"{name}.new", name)
    unwanted = [name for name, is_written in journal.papers if not is_written]
    for name in [*journal.leftovers, *unwanted]:
        with contextlib.suppress(OSError):  # left behind it does no harm
            os.unlink(name)
    os.unlink(f"{site.state}/{_JOURNAL}")


def _is_left(step: Step) -> bool:
    """Whether the step is still to be done: a rename is done when the new file is gone."""
    return os.path.lexists(step.new or step.place)


def _roll_back(site: Site, journal: Journal, replacements: Sequence[Replacement]) -> None:
    """Put back what was renamed before a rename failed: a journalled change in the other direction.

    If that fails too, its journal stays for the next command.
    """
    done = [(step, item) for step, item in zip(journal.steps, replacements, strict=True) if not _is_left(step)]
    back = []
    for number, (step, item) in enumerate(done):
        new = "" if item.before is None else f"{os.path.dirname(step.place)}/{_NEW}back-{number}"
        if item.before is not None:
            _write_new(new, step.place, item.before, item.old_mode)
        back.append(Step(step.place, step.after, step.before, new))
    written = [name for name, is_written in journal.papers if is_written]
    leftovers = [*(step.new for step in journal.steps if step.new), *(f"{name}.new" for name in written)]
    _write_journal(site, Journal(True, tuple(back), leftovers=tuple(leftovers)))
    _end(site, Journal(True, tuple(back), leftovers=tuple(leftovers)))
    for folder in reversed(journal.folders):
        with contextlib.suppress(OSError):  # somebody has put a file there
            os.rmdir(folder)


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


def _recover_first(site: Site) -> str:
    try:
        return recover(site)
    except OSError as exc:
        raise CommandError(
            "a command was interrupted here and cannot be finished",
            where=exc.filename or site.state,
            found=exc.strerror or "",
        ) from exc


def _unwritable(exc: OSError, state: str) -> CommandError:
    found = exc.strerror or str(exc)
    return CommandError(
        "the checkout cannot be written", where=str(exc.filename or state), found=found, kept="checkout unchanged"
    )


def _write_journal(site: Site, journal: Journal) -> None:
    # A new file is beside its place, so its name is enough.
    steps = [[_below(site.base, s.place), s.before, s.after, os.path.basename(s.new)] for s in journal.steps]
    inside = {name for name in journal.leftovers if name.startswith(f"{site.state}/")}
    document = {
        "schema": SCHEMA,
        "phase": "commit" if journal.is_committed else "prepare",
        "steps": steps,
        "folders": [_below(site.base, folder) for folder in journal.folders],
        "papers": [[_below(site.state, name), is_written] for name, is_written in journal.papers],
        "leftovers": [_below(site.base, name) for name in journal.leftovers if name not in inside],
        "own leftovers": [_below(site.state, name) for name in sorted(inside)],
    }
    _write(f"{site.state}/{_JOURNAL}.new", json.dumps(document).encode())
    os.replace(f"{site.state}/{_JOURNAL}.new", f"{site.state}/{_JOURNAL}")


def _below(folder: str, path: str) -> str:
    """Return the path as seen from the folder that it is in."""
    return path.removeprefix(f"{folder}/")


def _read_journal(site: Site) -> Journal | None:
    """Return the journal; None where there is none. It may have come with a tree from anywhere, so nothing in it
    may lead out of the checkout."""
    name = f"{site.state}/{_JOURNAL}"
    try:
        with open(name, "rb") as stream:
            document = json.load(stream)
        steps = []
        for place, before, after, new in document["steps"]:
            inside = _inside(site.base, place)
            steps.append(Step(inside, before, after, _inside(os.path.dirname(inside), new) if new else ""))
        papers = [(_inside(site.state, paper), bool(is_written)) for paper, is_written in document["papers"]]
        leftovers = [_inside(site.base, path) for path in document["leftovers"]]
        leftovers += [_inside(site.state, path) for path in document["own leftovers"]]
        folders = [_inside(site.base, path) for path in document["folders"]]
        return Journal(document["phase"] == "commit", tuple(steps), tuple(folders), tuple(papers), tuple(leftovers))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as exc:
        raise ConfigError(
            "the journal of an interrupted command is damaged, or leads out of the checkout",
            where=name,
            found=str(exc),
            hint="put the files back as upstream has them, and delete it",
        ) from exc


def _inside(folder: str, path: str) -> str:
    """Return the path below the folder.

    Raises: ValueError if it leads out of it, also by a link.
    """
    joined = os.path.join(folder, path)
    above = os.path.realpath(os.path.dirname(joined))
    if ".." in path.split("/") or not f"{above}/".startswith(f"{os.path.realpath(folder)}/"):
        raise ValueError(path)
    return joined


def _write(name: str, content: bytes) -> None:
    """Write a file of the state folder; a link in its place, which may have come with the tree, is not followed."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)
    with open(name, "xb") as stream:
        stream.write(content)


def _write_new(new: str, place: str, content: bytes, mode: int) -> None:
    """Write a file beside its place, with the mode asked for and, for root, the owner of what it replaces."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        if os.geteuid() == 0:
            like = os.stat(place if os.path.exists(place) else os.path.dirname(place))
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
