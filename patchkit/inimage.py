#!/usr/bin/env python3
"""Patch, and later prove, the sglang that this Python imports; runs alone inside an image.

Standard library only, Python >= 3.9, no git. `apply` takes sglang.patch and manifest.json from beside this file,
finds the installed sglang by the import path without executing it, and writes all of the series or nothing.
`verify` hashes the modules that Python really imports. Exit codes: 0 holds, 2 not the pin or not as stated,
3 a hunk has no place, 4 verification fails, 6 the file system refuses.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import marshal
import os
import pkgutil
import py_compile
import re
import stat
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

MANIFEST_SCHEMA = "patchkit/manifest/1"
REPORT_SCHEMA = "patchkit/inimage/1"
RECORD = "/etc/patchkit/manifest.json"
PREFIX = "python/sglang/"  # where the repository, and so the patch, keeps the package
SHOWN = 10  # files or hunks that an error lists; --json has them all

# -- refusals -------------------------------------------------------------------------------------------------


class RefusalError(Exception):
    """Nothing was changed, and why. code: the exit code."""

    def __init__(self, code: int, what: str, *, where: str = "", found: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(what)
        self.code, self.what, self.where, self.found, self.hint = code, what, where, list(found), hint


# -- the manifest ---------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """One file of the series. preimage, postimage: blob ids; None where the file does not exist on that side."""

    path: str
    mode: str
    preimage: Optional[str]
    postimage: Optional[str]


class Manifest(NamedTuple):
    """What was generated beside sglang.patch. raw: its bytes, recorded unchanged in the image."""

    version: str
    patch_sha256: str
    topics: Tuple[str, ...]
    entries: Tuple[Entry, ...]
    raw: bytes


def read_manifest(path: Path) -> Manifest:
    """Read and validate the manifest."""
    raw = read_file(path)
    try:
        document = json.loads(raw)
        if document["schema"] != MANIFEST_SCHEMA:
            raise RefusalError(2, f"the manifest has schema {document['schema']}, this file reads {MANIFEST_SCHEMA}")
        entries = tuple(Entry(f["path"], f["mode"], f["preimage"], f["postimage"]) for f in document["files"])
        topics = tuple(topic["name"] for topic in document["series"]["topics"])
        manifest = Manifest(document["pin"]["version"], document["series"]["sha256"], topics, entries, raw)
    except (ValueError, KeyError, TypeError) as exc:
        raise RefusalError(2, "the manifest is malformed", where=str(path), found=[repr(exc)]) from exc
    if not entries:
        raise RefusalError(2, "the manifest lists no file", where=str(path))
    for entry in entries:
        refuse_unsafe(entry.path)
    return manifest


def refuse_unsafe(path: str) -> None:
    """Refuse a path that leads out of the package."""
    parts = path.split("/")
    if not path.startswith(PREFIX) or ".." in parts or "." in parts or "" in parts or "\\" in path or "\0" in path:
        raise RefusalError(2, "a path is not inside python/sglang", where=path)


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise RefusalError(2, f"{path.name} cannot be read", where=str(path), found=[exc.strerror or str(exc)]) from exc


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


def blob_id(content: bytes) -> str:
    """Return git's id of a file with this content."""
    digest = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


# -- the patch ------------------------------------------------------------------------------------------------


class Hunk(NamedTuple):
    """One `@@` block. before, after: its lines on each side, with their line feeds. line: of its header, from 1.

    first, last: it must stand where the file begins (stated at line 0 or 1), or ends (no context at its end), as git
    wants it.
    """

    number: int
    at: int  # index from 0 of the stated place in the old file
    before: Tuple[bytes, ...]
    after: Tuple[bytes, ...]
    line: int
    first: bool = False
    last: bool = False


_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_INDEX = rb"index [0-9a-f]{40}\.\.[0-9a-f]{40}(?: 100(?:644|755))?\n"
_OLD, _NEW = rb"--- a/(?P=path)\t?\n", rb"\+\+\+ b/(?P=path)\t?\n"
_HEAD = re.compile(  # of a new, a deleted and a changed file; the first two may be empty
    rb"diff --git a/(?P<path>.+) b/(?P=path)\n(?:"
    rb"new file mode 100(?:644|755)\n" + _INDEX + rb"(?:--- /dev/null\n" + _NEW + rb")?|"
    rb"deleted file mode 100(?:644|755)\n"
    + _INDEX
    + rb"(?:"
    + _OLD
    + rb"\+\+\+ /dev/null\n)?|"
    + _INDEX
    + _OLD
    + _NEW
    + rb")"
)


def read_patch(text: bytes) -> Dict[str, List[Hunk]]:
    """Return the hunks of every file of a git diff; what this file cannot apply exactly is refused.

    Every line from the first `diff --git` on is accounted for: as part of a head as git writes it, or by the counts
    of a hunk.
    """
    lines = text.split(b"\n")
    last = len(lines) - 1  # what follows the last line feed is no line
    if lines[last]:
        _malformed(last + 1, "the last line has no line feed")
    at = next((number for number, line in enumerate(lines) if line.startswith(b"diff --git ")), last)
    files: Dict[str, List[Hunk]] = {}
    while at < last:
        head = _HEAD.match(b"\n".join([*lines[at : at + 5], b""]))
        if head is None:
            found = lines[at][:60].decode("utf-8", "replace")
            _malformed(
                at + 1, f"{found}: no section, or one with a rename, a mode change, a quoted path or binary content"
            )
        path = head["path"].decode("utf-8", "backslashreplace")
        refuse_unsafe(path)
        if path in files:
            _malformed(at + 1, f"{path} has two sections")
        hunks = files[path] = []
        at += head[0].count(b"\n")
        while lines[at].startswith(b"@@ "):
            hunk, at = _read_hunk(lines, at, len(hunks) + 1)
            hunks.append(hunk)
    return files


def _read_hunk(lines: List[bytes], at: int, number: int) -> Tuple[Hunk, int]:
    """Read one hunk by the counts in its header; return it and the index after it."""
    header = _HUNK.match(lines[at])
    if header is None:
        _malformed(at + 1, "hunk header")
    start, old_count, new_count = int(header[1]), int(header[2] or b"1"), int(header[4] or b"1")
    first = at + 1
    before: List[bytes] = []
    after: List[bytes] = []
    mark = b" "
    at += 1
    while len(before) < old_count or len(after) < new_count:
        line = lines[at] if at + 1 < len(lines) else b""  # what follows the last line feed is no line
        mark, body = line[:1], line[1:] + b"\n"
        if mark not in (b" ", b"-", b"+"):
            _malformed(at + 1, "a hunk is shorter than its header says")
        at += 1
        if at < len(lines) and lines[at].startswith(b"\\ "):
            body = body[:-1]
            at += 1
        if mark != b"+":
            before.append(body)
        if mark != b"-":
            after.append(body)
    if len(before) != old_count or len(after) != new_count:
        _malformed(first, "a hunk is longer than its header says")
    if not all(line.endswith(b"\n") for line in [*before[:-1], *after[:-1]]):
        _malformed(first, "`\\ No newline` stands within the file")
    place = start - 1 if old_count else start
    return Hunk(number, place, tuple(before), tuple(after), first, start <= 1, mark != b" "), at


def _malformed(line: int, found: str) -> NoReturn:
    raise RefusalError(2, "sglang.patch cannot be applied by this file", where=f"sglang.patch:{line}", found=[found])


class Placed(NamedTuple):
    """A hunk's outcome: an offset in lines, or why it has no place."""

    hunk: Hunk
    offset: int
    problem: str = ""


def apply_hunks(content: bytes, hunks: Sequence[Hunk]) -> Tuple[bytes, List[Placed]]:
    """Return the content with all hunks applied, and how each one landed. Fuzz is 0; two possible places are none."""
    lines = content.split(b"\n")
    old = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    new: List[bytes] = []
    placed: List[Placed] = []
    done = 0  # lines of the old file that are used up
    for hunk in hunks:
        size = len(hunk.before)
        places = [hunk.at] if _stands(old, hunk, hunk.at) and hunk.at >= done else _search(old, hunk, done)
        if len(places) != 1:
            placed.append(Placed(hunk, 0, "fits nowhere" if not places else f"fits {len(places)} places"))
            continue
        at = places[0]
        new += old[done:at]
        new += hunk.after
        done = at + size
        placed.append(Placed(hunk, at - hunk.at))
    return b"".join(new + old[done:]), placed


def _stands(old: List[bytes], hunk: Hunk, at: int) -> bool:
    end = at + len(hunk.before)
    is_at_edge = (at == 0 or not hunk.first) and (end == len(old) or not hunk.last)
    return at >= 0 and is_at_edge and tuple(old[at:end]) == hunk.before


def _search(old: List[bytes], hunk: Hunk, start: int) -> List[int]:
    if not hunk.before:
        return []
    return [at for at in range(start, len(old) - len(hunk.before) + 1) if _stands(old, hunk, at)]


# -- the installed package ------------------------------------------------------------------------------------


class Package(NamedTuple):
    """The installed sglang. folders: where its modules are searched; more than one only for a namespace."""

    folders: Tuple[str, ...]
    version: str  # as it says itself; evidence, never proof


def find_package(root: Optional[Path]) -> Package:
    """Find sglang as an import would, without executing it. root: a folder that holds it, instead of the path."""
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != here]
    if root is not None:
        folders: Tuple[str, ...] = (str(root / "sglang"),)
        if not (root / "sglang").is_dir():
            raise RefusalError(2, "there is no sglang in this folder", where=str(root))
    else:
        spec = importlib.util.find_spec("sglang")
        if spec is None or spec.submodule_search_locations is None:
            raise RefusalError(
                2, "this Python cannot import sglang", where=sys.executable, found=["sys.path: " + _path()]
            )
        folders = tuple(spec.submodule_search_locations)
    real = tuple(folder for folder in folders if os.path.isdir(os.path.join(folder, "srt")))
    if not real:
        raise RefusalError(
            2,
            "the sglang that this Python finds holds no code",
            where=", ".join(folders),
            hint="run it from a directory that has no folder of that name",
        )
    return Package(real, _stated_version(real[0]))


def _path() -> str:
    return os.pathsep.join(sys.path)


def _stated_version(folder: str) -> str:
    """Return the version that the package names; only read, never run."""
    stated = re.compile(r"""^(?:__version__\s*=|version\s*=|Version:)[^\d\n]*(\d[\w.+!-]*)""", re.M)
    metadata = sorted(Path(folder).parent.glob("sglang-*.dist-info/METADATA"))
    for path in [Path(folder, "_version.py"), *metadata, Path(folder, "version.py")]:
        try:
            match = stated.search(path.read_text("utf-8", "replace"))
        except OSError:
            continue
        if match:
            return match[1]
    return "unknown"


def locate(package: Package, path: str) -> Tuple[Path, str]:
    """Return where Python takes the file of this repository path from, and what else it imports instead, if so.

    A module is resolved folder by folder as the import system does, so that a compiled extension or a second
    copy that wins over the source is seen. A file that does not exist yet gets the place where it belongs.
    """
    parts = path[len(PREFIX) :].split("/")
    folders = list(package.folders)
    name = "sglang"
    for depth, part in enumerate(parts[:-1]):
        inner, _ = _find(f"{name}.{part}", folders)
        if not inner:
            return Path(folders[0], *parts[depth:]), ""
        name, folders = f"{name}.{part}", inner
    plain = next(
        (p for p in (Path(folder, parts[-1]) for folder in folders) if p.exists()), Path(folders[0], parts[-1])
    )
    if not parts[-1].endswith(".py"):
        return plain, ""
    stem = parts[-1][: -len(".py")]
    if stem == "__init__":
        return plain, ""
    _, origin = _find(f"{name}.{stem}", folders)
    return plain, origin if origin and os.path.realpath(origin) != os.path.realpath(plain) else ""


def _find(name: str, folders: Sequence[str]) -> Tuple[List[str], str]:
    """Return the folders of the package of this name and the file that a module of this name is loaded from."""
    portions: List[str] = []
    for folder in folders:
        finder = pkgutil.get_importer(folder)
        spec = finder.find_spec(name) if finder is not None and hasattr(finder, "find_spec") else None
        if spec is None:
            continue
        if spec.loader is not None:
            return list(spec.submodule_search_locations or []), spec.origin or ""
        portions += list(spec.submodule_search_locations or [])
    return portions, ""


# -- state ----------------------------------------------------------------------------------------------------


@dataclass
class State:
    """One file of the series as it stands. content: None where there is no file."""

    entry: Entry
    place: Path
    content: Optional[bytes]
    instead: str = ""  # what Python imports instead of this file
    found: Optional[str] = field(init=False)

    def __post_init__(self) -> None:
        self.found = None if self.content is None else blob_id(self.content)

    @property
    def verdict(self) -> str:
        """pristine, applied or foreign; a file that something else is imported for is foreign."""
        if self.instead:
            return "foreign"
        if self.found == self.entry.postimage:
            return "applied"
        return "pristine" if self.found == self.entry.preimage else "foreign"

    def as_document(self) -> Dict[str, Any]:
        return {
            "path": self.entry.path,
            "place": str(self.place),
            "verdict": self.verdict,
            "preimage": self.entry.preimage,
            "postimage": self.entry.postimage,
            "found": self.found,
            "instead": self.instead,
        }


def read_states(package: Package, manifest: Manifest) -> List[State]:
    """Read every file that the series touches, where Python has it."""
    states = []
    for entry in manifest.entries:
        place, instead = locate(package, entry.path)
        if not _is_inside(place, package):
            raise RefusalError(2, "a link leads out of the package", where=str(place), found=[os.path.realpath(place)])
        content = read_file(place) if place.exists() else None
        states.append(State(entry, place, content, instead))
    return states


def _is_inside(place: Path, package: Package) -> bool:
    real = os.path.realpath(place)
    return any(real.startswith(os.path.realpath(folder) + os.sep) for folder in package.folders)


# -- apply ----------------------------------------------------------------------------------------------------


def apply(package: Package, manifest: Manifest, patch: bytes, *, dry_run: bool, record: Path) -> Dict[str, Any]:
    """Write the series, all of it or nothing; a second time, and after a killed first time, the same end."""
    if hashlib.sha256(patch).hexdigest() != manifest.patch_sha256:
        raise RefusalError(2, "sglang.patch is not the one that the manifest was made for", where="sglang.patch")
    sections = read_patch(patch)
    listed = {entry.path for entry in manifest.entries}
    if set(sections) != listed:
        raise RefusalError(
            2, "sglang.patch and the manifest name different files", found=sorted(set(sections) ^ listed)
        )
    states = read_states(package, manifest)
    refuse_other_base(package, manifest, states)
    todo = [state for state in states if state.verdict == "pristine"]
    results = patch_states(todo, sections)
    if not dry_run:
        replace_all(todo, [content for _, content, _ in results])
        rebuild_bytecode(states)
        write_record(record, manifest.raw)
        prove(package, manifest)
    offsets = [(state, placed) for state, _, hunks in results for placed in hunks if placed.offset]
    return {
        "verdict": "already applied" if not todo else ("would apply" if dry_run else "applied"),
        "changed": [] if dry_run else [state.entry.path for state in todo],
        "offsets": {f"{state.entry.path}#{placed.hunk.number}": placed.offset for state, placed in offsets},
        "hunks": sum(len(hunks) for hunks in sections.values()),
        "files": [state.as_document() for state in states],
    }


def refuse_other_base(package: Package, manifest: Manifest, states: Sequence[State]) -> None:
    """Refuse an installed sglang whose touched files are neither the pin's nor the series'."""
    foreign = [state for state in states if state.verdict == "foreign"]
    if not foreign:
        return
    found = [
        f"{s.entry.path} is {_short(s.found)}, the pin has {_short(s.entry.preimage)}"
        + (f"; Python imports {s.instead}" if s.instead else "")
        for s in foreign
    ]
    other = package.version not in ("unknown", manifest.version)
    raise RefusalError(
        2,
        f"the installed sglang is not v{manifest.version}: {len(foreign)} of {len(states)} touched files differ"
        + (f"; it says it is v{package.version}" if other else ""),
        where=", ".join(package.folders),
        found=found,
        hint=f"take a base image with sglang v{manifest.version}, or a pin for the base that you have",
    )


def patch_states(states: Sequence[State], sections: Dict[str, List[Hunk]]) -> List[Tuple[State, bytes, List[Placed]]]:
    """Return each file's new content in memory, proven by its postimage id and by compiling it."""
    results = [(state, *apply_hunks(state.content or b"", sections[state.entry.path])) for state in states]
    lost = [
        f"{state.entry.path}#{placed.hunk.number} (sglang.patch:{placed.hunk.line}) {placed.problem}"
        for state, _, hunks in results
        for placed in hunks
        if placed.problem
    ]
    if lost:
        raise RefusalError(
            3,
            f"the series does not apply: {count(len(lost), 'hunk')} without a place",
            found=lost,
        )
    for state, content, _ in results:
        got = None if state.entry.postimage is None and not content else blob_id(content)
        if got != state.entry.postimage:
            want = _short(state.entry.postimage)
            raise RefusalError(
                4,
                "a patched file is not what was verified",
                where=state.entry.path,
                found=[f"{_short(got)}, not {want}"],
            )
        if state.entry.path.endswith(".py"):
            _compile(content, state.place)
    return results


def _compile(content: bytes, place: Path) -> None:
    try:
        compile(content, str(place), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as exc:
        version = ".".join(map(str, sys.version_info[:3]))
        raise RefusalError(
            4, f"a patched file does not compile with Python {version}", where=str(place), found=[str(exc)]
        ) from exc


def replace_all(states: Sequence[State], contents: Sequence[bytes]) -> None:
    """Put every new file in its place; a failure or a Ctrl-C on the way puts the old ones back."""
    beside: List[Path] = []
    folders: List[Path] = []
    done: List[State] = []
    try:
        for state, content in zip(states, contents):
            folders += make_folders(state.place.parent)
            beside.append(write_beside(state, content))
        for state, new in zip(states, beside):
            if state.entry.postimage is None:
                state.place.unlink()
            else:
                os.replace(new, state.place)
            done.append(state)
    except BaseException as exc:
        for state in done:
            _restore(state)
        for new in beside:
            new.unlink(missing_ok=True)
        for folder in reversed(folders):
            folder.rmdir()
        if not isinstance(exc, OSError):
            raise
        what = "a file cannot be written; nothing was changed"
        raise RefusalError(6, what, where=exc.filename or "", found=[exc.strerror or str(exc)]) from exc
    for new in beside:
        new.unlink(missing_ok=True)


def make_folders(folder: Path) -> List[Path]:
    """Make the folder and those above it, each with the mode and owner of the one that it is in; return the new."""
    if folder.is_dir():
        return []
    made = make_folders(folder.parent)
    folder.mkdir()
    _set_owner_and_mode(folder, folder.parent, stat.S_IMODE(folder.parent.stat().st_mode))
    return [*made, folder]


def write_beside(state: State, content: bytes) -> Path:
    """Write the content next to its place, with the mode and owner of the file that it replaces."""
    folder = state.place.parent
    descriptor, name = tempfile.mkstemp(prefix=f".{state.place.name}.", dir=str(folder))
    new = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if state.place.exists():
            _set_owner_and_mode(new, state.place, stat.S_IMODE(state.place.stat().st_mode))
        else:
            _set_owner_and_mode(new, folder, int(state.entry.mode, 8) & 0o777)
    except BaseException:
        new.unlink()
        raise
    return new


def _set_owner_and_mode(path: Path, like: Path, mode: int) -> None:
    owner = like.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid)
    os.chmod(path, mode)


def _restore(state: State) -> None:
    if state.content is None:
        state.place.unlink()
    else:
        os.replace(write_beside(state, state.content), state.place)


def write_record(record: Path, raw: bytes) -> None:
    """Record the manifest, byte for byte, readable for every user of the image."""
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        new = record.with_name(f".{record.name}.new")
        new.write_bytes(raw)
        os.chmod(new, 0o644)
        os.replace(new, record)
    except OSError as exc:
        raise RefusalError(
            6, "the record cannot be written; the series is applied", where=str(record), found=[str(exc)]
        ) from exc


# -- byte code ------------------------------------------------------------------------------------------------


def rebuild_bytecode(states: Sequence[State]) -> None:
    """Remove all byte code of the touched modules and compile them anew.

    Checked hashes: the default, mtime and size, runs old code after an edit of the same size in the same second,
    and a build that sets all mtimes alike makes it stale for good.
    """
    for state in states:
        if not state.entry.path.endswith(".py"):
            continue
        try:
            for stale in state.place.parent.joinpath("__pycache__").glob(f"{state.place.stem}.*.pyc"):
                stale.unlink()
            if state.entry.postimage is not None:
                mode = py_compile.PycInvalidationMode.CHECKED_HASH
                py_compile.compile(str(state.place), doraise=True, invalidation_mode=mode)
        except (OSError, py_compile.PyCompileError) as exc:
            raise RefusalError(
                6, "byte code cannot be rebuilt; the series is applied", where=str(state.place), found=[str(exc)]
            ) from exc


def stale_bytecode(state: State) -> List[str]:
    """Return the byte code files that this Python would run although they are not compiled from the source."""
    stale = []
    for level in ("", 1, 2):
        try:
            cached = Path(importlib.util.cache_from_source(str(state.place), optimization=level))
            code = cached.read_bytes()
        except (OSError, NotImplementedError):
            continue
        if _would_run(code, state) and not _is_compiled_from(code, state, max(0, int(level or 0))):
            stale.append(str(cached))
    return stale


def _would_run(code: bytes, state: State) -> bool:
    """Return whether the import system would take this byte code for the source as it stands."""
    if len(code) < 16 or code[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags = int.from_bytes(code[4:8], "little")
    if flags & 0b1:
        is_checked = bool(flags & 0b10)
        return not is_checked or code[8:16] == importlib.util.source_hash(state.content or b"")
    at = state.place.stat()
    return code[8:16] == (int(at.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (at.st_size & 0xFFFFFFFF).to_bytes(
        4, "little"
    )


def _is_compiled_from(code: bytes, state: State, level: int) -> bool:
    try:
        stored = marshal.loads(code[16:])
        return bool(
            stored == compile(state.content or b"", str(state.place), "exec", dont_inherit=True, optimize=level)
        )
    except (ValueError, EOFError, TypeError, SyntaxError):
        return False


# -- verify ---------------------------------------------------------------------------------------------------


def verify(package: Package, manifest: Manifest) -> Dict[str, Any]:
    """Return what stands against the claim that Python imports exactly the patched files, and nothing older."""
    states = read_states(package, manifest)
    problems = []
    for state in states:
        problem = _problem(state)
        if problem:
            problems.append({"path": state.entry.path, "place": str(state.place), "problem": problem})
        elif state.entry.path.endswith(".py") and state.content is not None:
            problems += [
                {
                    "path": state.entry.path,
                    "place": stale,
                    "problem": "stale byte code: it is not compiled from the source",
                }
                for stale in stale_bytecode(state)
            ]
    return {
        "verdict": "modified" if problems else "unmodified",
        "problems": problems,
        "others": other_copies(package),
        "files": [state.as_document() for state in states],
    }


def _problem(state: State) -> str:
    if state.instead:
        return f"Python imports {state.instead} instead"
    if state.verdict == "applied":
        return ""
    if state.found is None:
        return "is missing"
    was = "as upstream has it, without the series" if state.verdict == "pristine" else _short(state.found)
    return f"is {was}, not {_short(state.entry.postimage)}"


def prove(package: Package, manifest: Manifest) -> Dict[str, Any]:
    """Return the report of `verify`; refuse, with 4, what it finds."""
    report = verify(package, manifest)
    if report["problems"]:
        raise RefusalError(
            4,
            f"the sglang in use is not v{manifest.version} with the series {manifest.patch_sha256[:12]}: "
            f"{count(len(report['problems']), 'finding')} in {count(len(manifest.entries), 'file')}",
            where=", ".join(package.folders),
            found=[f"{p['place']} {p['problem']}" for p in report["problems"]],
        )
    return report


def other_copies(package: Package) -> List[str]:
    """Return other folders of sglang on the path: a process with another order of it would import them instead."""
    own = {os.path.realpath(folder) for folder in package.folders}
    found = (os.path.join(entry or ".", "sglang") for entry in sys.path)
    return [
        folder for folder in found if os.path.isdir(os.path.join(folder, "srt")) and os.path.realpath(folder) not in own
    ]


def identify(package: Package) -> Dict[str, Any]:
    """Return the blob id of every file of the package, by repository path."""
    blobs: Dict[str, str] = {}
    for folder in package.folders:
        for parent, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if name != "__pycache__")
            for name in sorted(names):
                path = Path(parent, name)
                if path.is_file() and not path.is_symlink():
                    blobs.setdefault(PREFIX + path.relative_to(folder).as_posix(), blob_id(path.read_bytes()))
    return {"verdict": "identified", "blobs": blobs}


def _short(blob: Optional[str]) -> str:
    return blob[:12] if blob else "no file"


# -- the command ----------------------------------------------------------------------------------------------


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    here = Path(__file__).resolve().parent
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="one JSON document on stdout")
    common.add_argument("--root", type=Path, help="the folder that holds sglang/ (default: what Python imports)")
    common.add_argument("--record", type=Path, default=Path(RECORD), help=f"the applied manifest (default: {RECORD})")
    parser = argparse.ArgumentParser(prog="inimage.py", description="Patch, and later prove, the installed sglang.")
    commands = parser.add_subparsers(dest="command", required=True)
    writer = commands.add_parser("apply", parents=[common], help="write the series into the installed sglang")
    writer.add_argument("--patch", type=Path, default=here / "sglang.patch")
    writer.add_argument("--manifest", type=Path, default=here / "manifest.json")
    writer.add_argument("--dry-run", action="store_true", help="report what would change and write nothing")
    commands.add_parser("verify", parents=[common], help="prove that Python imports the recorded files, unmodified")
    commands.add_parser("identify", parents=[common], help="list the blob id of every file of the package")
    return parser.parse_args(arguments)


def execute(asked: argparse.Namespace) -> Tuple[Dict[str, Any], str]:
    """Do what is asked; return the report and its one line of text."""
    if asked.command == "verify" and not asked.record.exists():
        raise RefusalError(
            2, "no series is recorded here", where=str(asked.record), hint="build the image with patchkit build"
        )
    if asked.command == "identify":
        package = find_package(asked.root)
        report = identify(package)
        return {**_about(package), **report}, f"sglang says v{package.version}: {count(len(report['blobs']), 'file')}"
    manifest = read_manifest(asked.record if asked.command == "verify" else asked.manifest)
    package = find_package(asked.root)
    series = f"v{manifest.version}, series {manifest.patch_sha256[:12]} ({', '.join(manifest.topics)})"
    about = {
        **_about(package),
        "pin": manifest.version,
        "series": manifest.patch_sha256,
        "topics": list(manifest.topics),
    }
    if asked.command == "apply":
        report = apply(package, manifest, read_file(asked.patch), dry_run=asked.dry_run, record=asked.record)
        told = "".join(f"\n  offset {n:+d}: {name}" for name, n in report["offsets"].items())
        return {
            **about,
            **report,
        }, f"{report['verdict']}: {series}; {count(len(report['changed']), 'file')} written{told}"
    report = prove(package, manifest)
    told = "".join(f"\n  not used, not patched: {folder}" for folder in report["others"])
    return {**about, **report}, f"unmodified: {series}; {count(len(manifest.entries), 'file')}{told}"


def _about(package: Package) -> Dict[str, Any]:
    python = ".".join(map(str, sys.version_info[:3]))
    return {
        "schema": REPORT_SCHEMA,
        "python": python,
        "folders": list(package.folders),
        "stated_version": package.version,
    }


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask and return the exit code."""
    asked = read_arguments(arguments)
    try:
        report, text = execute(asked)
    except RefusalError as refused:
        show_refusal(refused, as_json=asked.json)
        return refused.code
    print(json.dumps(report, indent=1, sort_keys=True) if asked.json else text)
    return 0


def show_refusal(refused: RefusalError, *, as_json: bool) -> None:
    if as_json:
        error = {
            "code": refused.code,
            "what": refused.what,
            "where": refused.where,
            "found": refused.found,
            "hint": refused.hint,
        }
        print(json.dumps({"schema": REPORT_SCHEMA, "verdict": "refused", "error": error}, indent=1, sort_keys=True))
    print(f"error: {refused.what}", file=sys.stderr)
    more = len(refused.found) - SHOWN
    shown = refused.found[:SHOWN] + ([f"and {more} more"] if more > 0 else [])
    for label, lines in (("where", [refused.where]), ("found", shown), ("hint", [refused.hint])):
        for line in lines:
            if line:
                print(f"  {label + ':':<6} {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
