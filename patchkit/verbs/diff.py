"""`diff`: what changed between two pins' series, or two patch files, hunk by hunk."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from patchkit.carry.compare import compare
from patchkit.patch.hunks import ChangeKind, FilePatch
from patchkit.patch.patchtext import read_patch
from patchkit.rebasing.finish import decided_hunks
from patchkit.results.diff import ComparedHunk, Diff
from patchkit.store import chosen_pin, read_series, read_topics
from patchkit.versions import is_version, order

_Topics = Mapping[str, tuple[FilePatch, ...]]


def diff_series(root: Path | None, old: str, new: str) -> Diff:
    """Compare two pins topic by topic, or two patch files. root: the store; None where both are files."""
    before, after = _read(root, old), _read(root, new)
    pins = None if root is None or Path(old).is_file() or Path(new).is_file() else (old, new)
    decided = _decided(root, pins) if root and pins else {}
    fixed = _fixed(root, pins[1]) if root and pins else {}
    hunks: list[ComparedHunk] = []
    for topic in dict.fromkeys((*after, *before)):
        found = _with_differences(_compared(topic, before, after), before.get(topic, ()), after.get(topic, ()))
        found = _with_decisions(found, decided)
        if topic in fixed and topic not in after:
            found = [one if one.reason else replace(one, change="dropped", reason=fixed[topic]) for one in found]
        hunks += found
    return Diff(old, new, tuple(hunks))


def _read(root: Path | None, name: str) -> dict[str, tuple[FilePatch, ...]]:
    if Path(name).is_file():
        return {"": read_patch(Path(name).read_bytes(), name=name).files}
    assert root is not None
    return {topic.topic: topic.patch.files for topic in read_series(root, chosen_pin(root, name)).topics}


def _compared(topic: str, before: _Topics, after: _Topics) -> Iterator[ComparedHunk]:
    for change, was, now in compare(before.get(topic, ()), after.get(topic, ())):
        shown = now or was
        assert shown is not None
        section = shown.section.decode("utf-8", "replace").strip()
        yield ComparedHunk(topic, change.value, was.name if was else "", now.name if now else "", section)


def _with_differences(
    hunks: Iterator[ComparedHunk], before: tuple[FilePatch, ...], after: tuple[FilePatch, ...]
) -> list[ComparedHunk]:
    """Return the hunks; where upstream now brings a file that the series brought, the difference is its new version."""
    created = {section.path for section in before if section.kind is ChangeKind.CREATE}
    shared = created & {section.path for section in after if section.kind is not ChangeKind.CREATE}
    found = list(hunks)
    for path in sorted(shared):
        whole = f"{path}#1"
        gone = next((one for one in found if one.change == "gone" and one.old == whole), None)
        at = next((at for at, one in enumerate(found) if whole in (one.old, one.new) and one.new), None)
        if at is not None:
            reason = "upstream brings this file too: what is left is the difference"
            found[at] = replace(found[at], change="edited", old=whole, reason=reason)
        if gone is not None:
            found.remove(gone)
    return found


def _decided(root: Path, pins: tuple[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
    old, new = pins
    return decided_hunks(root, chosen_pin(root, old), chosen_pin(root, new))


def _with_decisions(hunks: list[ComparedHunk], decided: Mapping[tuple[str, str], dict[str, Any]]) -> list[ComparedHunk]:
    """Return the hunks; one that is gone was dropped for a reason, or settled into another form, as the rebase says."""
    found = list(hunks)
    for hunk in hunks:
        decision = decided.get((hunk.topic, hunk.old))
        if hunk.change != "gone" or decision is None:
            continue
        reason = "; ".join(decision["evidence"])
        if decision["action"] == "dropped":
            found[found.index(hunk)] = replace(hunk, change="dropped", reason=reason)
            continue
        heirs = [one for one in found if one.change == "new" and one.new.rpartition("#")[0] == decision["to"]]
        if len(heirs) == 1:
            heir = replace(heirs[0], change="edited", old=hunk.old, reason=f"{decision['stage']}: {reason}")
            found[found.index(heirs[0])] = heir
            found.remove(hunk)
    return found


def _fixed(root: Path, new: str) -> dict[str, str]:
    """Return the topics whose fault upstream no longer has at a pin, with the release."""
    pin = chosen_pin(root, new)
    return {
        name: f"upstream has no such fault since {topic.fixed_in}"
        for name, topic in read_topics(root).items()
        if is_version(topic.fixed_in) and is_version(pin) and order(topic.fixed_in) <= order(pin)
    }
