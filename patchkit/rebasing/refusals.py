"""What keeps a topic from counting as settled: files that are missing or foreign, markers that are left, bad Python."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from patchkit.carry.compose import BASE, MIDDLE, OURS, THEIRS
from patchkit.carry.nouns import Source, Tree
from patchkit.errors import ConflictError
from patchkit.rebasing.state import shown_folder, work_folder
from patchkit.rebasing.work import Stopped


def refuse_unsettled(root: Path, stopped: Stopped, new: Tree) -> None:
    """Raise a ConflictError where the files of a topic cannot be what a person made of it.

    new: the new upstream with the topics before this one.
    """
    _refuse_missing(root, stopped)
    _refuse_foreign(root, stopped, new)
    marked = [(path, line) for path, data in _texts(stopped) for line in _markers(data, stopped.shown.get(path, b""))]
    _refuse(root, stopped, marked, "conflict marker{s} left")
    broken = [(path, line) for path, data in _texts(stopped) for line in _broken(path, data, new)]
    _refuse(root, stopped, broken, "file{s} no longer Python")


def _refuse_missing(root: Path, stopped: Stopped) -> None:
    missing = sorted(stopped.shown.keys() - stopped.texts.keys())
    if missing:
        shown, work = (_here(folder) for folder in (shown_folder(root), work_folder(root)))
        raise ConflictError(
            f"{_counted(missing, 'file{s}')} of topic {stopped.topic} {_is(missing)} no longer in {work}",
            where="\n".join(f"{work}/{path}" for path in missing),
            kept="the rebase is where it was",
            hint="\n".join(f"install -D {shown}/{path} {work}/{path}" for path in missing),
        )


def _refuse_foreign(root: Path, stopped: Stopped, new: Tree) -> None:
    foreign = [path for path, _ in _texts(stopped) if path not in stopped.shown and new.read(path) is None]
    if foreign:
        work = _here(work_folder(root))
        raise ConflictError(
            f"{_counted(foreign, 'file{s}')} in {work} {_is(foreign)} neither topic {stopped.topic}'s nor upstream's",
            where="\n".join(f"{work}/{path}" for path in foreign),
            kept="the rebase is where it was",
            hint="\n".join(f"rm {work}/{path}" for path in foreign),
        )


def _refuse(root: Path, stopped: Stopped, places: Sequence[tuple[str, int]], what: str) -> None:
    if places:
        work = _here(work_folder(root))
        counted, _, rest = what.partition("{s} ")
        raise ConflictError(
            f"{_counted(places, counted + '{s}')} {_is(places)} {rest} in topic {stopped.topic}",
            where="\n".join(f"{work}/{path}:{line}" for path, line in places),
            kept="the rebase is where it was",
            hint="edit these files, then: patchkit rebase --continue",
        )


def _markers(data: bytes, shown: bytes) -> Iterator[int]:
    """Yield the lines that are markers; the middle one counts only beyond those that upstream itself has."""
    lines = Source(data).lines
    own = _middles(shown) - sum(line.startswith(OURS) for line in Source(shown).lines)
    is_middle_left = _middles(data) > own
    for number, line in enumerate(lines, start=1):
        if line.startswith((OURS, BASE, THEIRS)) or (is_middle_left and line == MIDDLE):
            yield number


def _middles(data: bytes) -> int:
    return Source(data).lines.count(MIDDLE)


def _broken(path: str, data: bytes, new: Tree) -> Iterator[int]:
    """Yield the line of a syntax error, where upstream's own file has none."""
    if path.endswith(".py") and (line := _syntax_error(data)) and not _syntax_error(new.read(path) or b""):
        yield line


def _syntax_error(data: bytes) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except SyntaxError as exc:
        return exc.lineno or 1
    except ValueError:  # null bytes
        return 1
    return 0


def _texts(stopped: Stopped) -> list[tuple[str, bytes]]:
    return [(path, data) for path, data in sorted(stopped.texts.items()) if data is not None]


def _here(folder: Path) -> str:
    """Return a folder as it can be pasted: below the working directory, or whole."""
    here = Path.cwd()
    return (folder.relative_to(here) if folder.is_relative_to(here) else folder).as_posix()


def _counted(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun.format(s='' if len(things) == 1 else 's')}"


def _is(things: Sequence[object]) -> str:
    return "is" if len(things) == 1 else "are"
