"""Upstream's files that a person needs beside the carried ones: those of hunks that have no place in a carried file."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from patchkit.carry.compose import Marked, marked_text
from patchkit.carry.engine import NAMES
from patchkit.carry.nouns import Cause, Decision, Lines, Source, Tree, join
from patchkit.patch.hunks import FilePatch
from patchkit.rebasing.steps import Move

_CANDIDATE = "candidate: "


def opened_files(move: Move, new: Tree) -> dict[str, bytes]:
    """Return the files to lay open for the unresolved hunks: the hunk's own, and those where its code may be now.

    A file that both sides add is shown as one text, with a conflict where the two differ.
    """
    found: dict[str, bytes] = {}
    for decision in move.unresolved:
        own = None if decision.cause is Cause.BINARY else new.read(decision.path)
        if own is not None and decision.cause is Cause.BOTH_ADD:
            own = _both(Source(own).lines, _added(move, decision))
        if own is not None:
            found.setdefault(decision.path, own)
        for path in candidates(decision):
            text = new.read(path)
            if text is not None:
                found.setdefault(path, text)
    return {path: text for path, text in found.items() if path not in move.carried.files}


def candidates(decision: Decision) -> Iterator[str]:
    """Yield the files that the evidence names as where the code went."""
    for line in decision.evidence:
        if line.startswith(_CANDIDATE):
            yield line.removeprefix(_CANDIDATE).split(":")[0]


def section_of(move: Move, path: str) -> FilePatch:
    """Return the section of the former patch that a path names."""
    former = move.former.former
    assert former is not None
    by_path: Mapping[str, FilePatch] = {section.path: section for section in former.files}
    return by_path[path]


def _added(move: Move, decision: Decision) -> Lines:
    added = b"".join(line.text for hunk in section_of(move, decision.path).hunks for line in hunk.lines)
    return Source(added).lines


def _both(ours: Lines, theirs: Lines) -> bytes:
    lines: list[str] = []
    for tag, low, high, from_, to in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += ours[low:high]
        else:
            lines += marked_text(ours, Marked(low, high, (), theirs[from_:to]), NAMES)
    return join(tuple(lines))
