"""The suspect hunks of a move, by what must be the same for "read and accepted" to count again."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from patchkit.carry.nouns import Stage, Tree
from patchkit.carry.report import report_of
from patchkit.patch.hunks import FilePatch
from patchkit.patch.patchtext import blob_id
from patchkit.rebasing.ledger import Acceptance
from patchkit.rebasing.steps import Move


def doubts(move: Move, new: Tree) -> list[Acceptance]:
    """Return a record for each suspect hunk of a move, as it would be were it accepted; nobody has signed it.

    new: the new upstream with the topics before this one.
    """
    former = move.former.former
    assert former is not None
    sections = {section.path: section for section in former.files}
    found = []
    for one in move.suspects:
        before = new.read(one.to)
        record = Acceptance(
            path=one.path,
            to=one.to,
            hunk=_digest(sections[one.path], one.hunk),
            before=_id(before),
            after=_id(move.carried.clean.get(one.to, before)),
            number=one.hunk,
            cause=Stage.RESOLVER.value if one.stage is Stage.RESOLVER else one.cause.value or one.stage.value,
            evidence="; ".join(one.evidence),
            topic=move.former.topic,
        )
        found.append(record)
    return found


def is_proposed(doubt: Acceptance) -> bool:
    """Whether a program proposed the text: no option accepts that, a person must read it."""
    return doubt.cause == Stage.RESOLVER.value


def report_with(move: Move, found: Sequence[Acceptance], accepted: Mapping[str, Acceptance]) -> dict[str, Any]:
    """Return the report of a move; a doubt that was accepted before is no longer suspect, and says by whom."""
    known = {(one.path, one.number): accepted[one.name] for one in found if one.name in accepted}
    return with_accepted(report_of(move.carried), known)


def with_accepted(report: dict[str, Any], found: Mapping[tuple[str, int], Acceptance]) -> dict[str, Any]:
    """Return a report in which the hunks found are marked as read and accepted."""
    decisions = [_marked(one, found.get((one["path"], one["hunk"]))) for one in report["decisions"]]
    suspect = sum(one["suspect"] for one in decisions)
    return {**report, "decisions": decisions, "counts": {**report["counts"], "suspect": suspect}}


def _marked(decision: dict[str, Any], record: Acceptance | None) -> dict[str, Any]:
    if record is None:
        return decision
    said = f"read and accepted by {record.by}, {record.when} ({record.name})"
    return {**decision, "suspect": False, "accepted": said}


def _digest(section: FilePatch, number: int) -> str:
    lines = [(line.kind.value, line.text) for hunk in section.hunks if hunk.number == number for line in hunk.lines]
    return hashlib.sha256(repr(lines).encode()).hexdigest()[:16]


def _id(data: bytes | None) -> str:
    return "" if data is None else blob_id(data)
