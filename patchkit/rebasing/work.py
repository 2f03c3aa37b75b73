"""The files that a person settles: whole, with both sides and the old text at each conflict; and what they become."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from patchkit.carry.align import align
from patchkit.carry.compose import BASE, MIDDLE, OURS, THEIRS
from patchkit.carry.nouns import Action, Conflict, Decision, Source
from patchkit.errors import ConflictError
from patchkit.ledger import Acceptance
from patchkit.rebasing.state import clear_work, folder_of, shown_folder, work_folder
from patchkit.rebasing.steps import Move
from patchkit.store import replace_file

_MARKER = re.compile(rb"^(?:<{7} |\|{7} |>{7} )", re.MULTILINE)


def write_work(root: Path, move: Move, report: dict[str, Any], found: Sequence[Acceptance]) -> None:
    """Write the topic's files, once more as they were shown, and a page that says what to do about each hunk."""
    clear_work(root)
    for folder in (work_folder(root), shown_folder(root)):
        for path, data in move.carried.files.items():
            if data is not None:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
    kept = {
        "topic": move.former.topic,
        "deleted": sorted(path for path, data in move.carried.files.items() if data is None),
        "report": report,
        "doubts": [asdict(one) for one in found],
    }
    replace_file(folder_of(root) / "stopped.json", (json.dumps(kept, indent=1) + "\n").encode())
    replace_file(folder_of(root) / "CONFLICTS.md", _page(move).encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Stopped:
    """A topic that waits for a person. shown: its files as they were written; texts: as they are now."""

    topic: str
    report: dict[str, Any]
    doubts: tuple[Acceptance, ...]
    shown: Mapping[str, bytes]
    texts: Mapping[str, bytes | None]


def read_work(root: Path) -> Stopped:
    """Return what is known of the topic that the rebase stopped at."""
    kept: dict[str, Any] = json.loads((folder_of(root) / "stopped.json").read_bytes())
    return Stopped(
        topic=kept["topic"],
        report=kept["report"],
        doubts=tuple(Acceptance(**one) for one in kept["doubts"]),
        shown=_read_files(shown_folder(root)),
        texts={**dict.fromkeys(kept["deleted"]), **_read_files(work_folder(root))},
    )


def refuse_markers(root: Path, stopped: Stopped) -> None:
    """Raise a ConflictError where a conflict marker is left in a file that a person settles."""
    marked = [
        f"{work_folder(root) / path}:{line}"
        for path, data in sorted(stopped.texts.items())
        for line in _marker_lines(data or b"")
    ]
    if marked:
        raise ConflictError(
            f"{len(marked)} conflict markers are left in topic {stopped.topic}",
            where="\n".join(marked),
            kept="the rebase is where it was",
            hint="edit these files, then: patchkit rebase --continue",
        )


def _read_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def resolutions(
    conflicts: Sequence[dict[str, Any]], marked: Mapping[str, bytes], settled: Mapping[str, bytes | None]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each conflict of a marked file with the text that a person put in its place."""
    done: set[tuple[str, str, str, str]] = set()
    for conflict in conflicts:
        key = (conflict["path"], conflict["base"], conflict["ours"], conflict["theirs"])
        text, result = marked.get(conflict["path"]), settled.get(conflict["path"])
        if key in done or text is None or result is None:
            continue
        done.add(key)
        before, after = Source(text).lines, Source(result).lines
        span = marked_span(before, conflict)
        if span is None:
            continue
        where = align(before, after)
        low, high = where.around(*span)
        lines = after[where.new_index(low) + 1 : where.new_index(high)]
        yield conflict, "".join(f"{line}\n" for line in lines)


def marked_span(lines: Sequence[str], conflict: dict[str, Any]) -> tuple[int, int] | None:
    """Return where a conflict stands between its markers in a file."""
    sides = [conflict[side].split("\n") if conflict[side] else [] for side in ("ours", "base", "theirs")]
    for at, line in enumerate(lines):
        if not line.startswith(OURS):
            continue
        end = at + sum(map(len, sides)) + 4
        block = list(lines[at:end])
        wanted = [block[0], *sides[0], _starting(block, BASE), *sides[1], MIDDLE, *sides[2], _starting(block, THEIRS)]
        if block == wanted:
            return at, end
    return None


def _starting(block: Sequence[str], marker: str) -> str:
    return next((line for line in block if line.startswith(marker)), "")


def _marker_lines(data: bytes) -> Iterator[int]:
    for match in _MARKER.finditer(data):
        yield data.count(b"\n", 0, match.start()) + 1


def _page(move: Move) -> str:
    lines = [f"# Topic {move.former.topic}", ""]
    lines += [
        "Edit the files in `work/` until they are what the topic should make of the new upstream, "
        "take every conflict marker out, then run `patchkit rebase --continue`.",
        "`patchkit rebase --skip` leaves the topic out, `--abort` ends the rebase.",
        "",
    ]
    for title, decisions in (("Unresolved", move.unresolved), ("To look at", move.suspects)):
        if decisions:
            lines += [f"## {title}", ""]
            for decision in decisions:
                lines += _entry(decision, move)
    return "\n".join(lines) + "\n"


def _entry(decision: Decision, move: Move) -> Iterator[str]:
    yield f"### {decision.path}#{decision.hunk} ({decision.cause.value})"
    yield ""
    if decision.scope:
        yield f"Scope: `{decision.scope}`"
    yield from (f"- {line}" for line in decision.evidence)
    conflict = next(
        (one for one in move.carried.conflicts if (one.path, one.hunk) == (decision.path, decision.hunk)), None
    )
    if conflict is not None and conflict.line == 0 and decision.action is Action.UNRESOLVED:
        yield from _lost_hunk(conflict)
    yield ""


def _lost_hunk(conflict: Conflict) -> Iterator[str]:
    yield "- it has no place in the new upstream; what it did:"
    yield ""
    yield "```diff"
    yield from (f"-{line}" for line in (conflict.base.split("\n") if conflict.base else []))
    yield from (f"+{line}" for line in (conflict.theirs.split("\n") if conflict.theirs else []))
    yield "```"
