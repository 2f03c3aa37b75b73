"""What changed between two versions of a patch, hunk by hunk."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum

from patchkit.patch.hunks import FilePatch, Hunk, LineKind

LIKE = 0.5  # difflib's ratio of the changed lines, from which on a hunk counts as the other's new form


class Change(StrEnum):
    """How a hunk of one version stands to the other version."""

    SAME = "unchanged"
    REFRESHED = "refreshed"
    EDITED = "edited"
    NEW = "new"
    GONE = "gone"


def compare(old: Sequence[FilePatch], new: Sequence[FilePatch]) -> Iterator[tuple[Change, Hunk | None, Hunk | None]]:
    """Yield each hunk of both versions once, paired where one is the other's form; in the order of the new one."""
    left = [hunk for section in old for hunk in section.hunks]
    pairs: dict[int, Hunk] = {}
    right = [hunk for section in new for hunk in section.hunks]
    for is_match in (_is_same, _changes_the_same, _is_like):
        for at, hunk in enumerate(right):
            if at not in pairs:
                found = next((one for one in left if is_match(one, hunk)), None)
                if found is not None:
                    pairs[at] = found
                    left.remove(found)
    for at, hunk in enumerate(right):
        yield _change(pairs.get(at), hunk), pairs.get(at), hunk
    for hunk in left:
        yield Change.GONE, hunk, None


def _change(old: Hunk | None, new: Hunk) -> Change:
    if old is None:
        return Change.NEW
    if _is_same(old, new):
        return Change.SAME
    return Change.REFRESHED if _changes_the_same(old, new) else Change.EDITED


def _is_same(old: Hunk, new: Hunk) -> bool:
    return old.path == new.path and old.lines == new.lines and old.old_start == new.old_start


def _changes_the_same(old: Hunk, new: Hunk) -> bool:
    return _changed(old) == _changed(new)


def _is_like(old: Hunk, new: Hunk) -> bool:
    matcher = SequenceMatcher(None, _changed(old), _changed(new), autojunk=False)
    return matcher.quick_ratio() >= LIKE and matcher.ratio() >= LIKE


def _changed(hunk: Hunk) -> list[tuple[LineKind, bytes]]:
    return [(line.kind, line.text) for line in hunk.lines if line.kind is not LineKind.CONTEXT]
