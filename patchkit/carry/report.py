"""The outcome of a rebase as plain values for report.json and rebase.json."""

from typing import Any

from patchkit.carry.nouns import Action, Carried, Conflict, Decision


def report_of(carried: Carried) -> dict[str, Any]:
    """Return the report: what is unresolved, what is deleted, and one decision a hunk."""
    return {
        "schema": "patchkit.rebase-file/1",
        "counts": counts_of(carried.decisions),
        "unresolved": [
            {"path": one.path, "hunk": one.hunk, "reason": _reason(one)}
            for one in carried.decisions
            if one.action is Action.UNRESOLVED
        ],
        "deleted": sorted(path for path, data in carried.files.items() if data is None),
        "decisions": [decision_of(one) for one in carried.decisions if one.action is not Action.UNRESOLVED],
        "conflicts": [conflict_of(one) for one in carried.conflicts],
    }


def counts_of(decisions: tuple[Decision, ...]) -> dict[str, int]:
    """Return how many hunks ended in each place; their sum is the number of hunks."""
    counts = {action.value: sum(one.action is action for one in decisions) for action in Action}
    assert sum(counts.values()) == len(decisions)
    suspect = sum(one.suspect for one in decisions if one.action is not Action.UNRESOLVED)
    return {"hunks": len(decisions), **counts, "suspect": suspect}


def decision_of(one: Decision) -> dict[str, Any]:
    """Return one decision as plain values."""
    return {
        "path": one.path,
        "hunk": one.hunk,
        "class": one.cause.value,
        "action": one.action.value,
        "to": one.to,
        "suspect": one.suspect,
        "stage": one.stage.value,
        "scope": one.scope,
        "evidence": list(one.evidence),
    }


def conflict_of(one: Conflict) -> dict[str, Any]:
    """Return one conflict as plain values."""
    return {
        "path": one.path,
        "hunk": one.hunk,
        "class": one.cause.value,
        "scope": one.scope,
        "line": one.line,
        "base": one.base,
        "ours": one.ours,
        "theirs": one.theirs,
        "candidates": list(one.candidates),
    }


def _reason(one: Decision) -> str:
    return f"{one.cause.value}: {'; '.join(one.evidence)}" if one.evidence else one.cause.value
