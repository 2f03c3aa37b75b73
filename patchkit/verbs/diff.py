"""`diff`: what changed between two pins' series, or two patch files, hunk by hunk."""

from pathlib import Path

from patchkit.carry.compare import compare
from patchkit.model import FilePatch
from patchkit.patchtext import read_patch
from patchkit.results.diff import ComparedHunk, Diff
from patchkit.store import chosen_pin, read_series


def diff_series(root: Path | None, old: str, new: str) -> Diff:
    """Compare two pins topic by topic, or two patch files. root: the store; None where both are files."""
    before, after = _read(root, old), _read(root, new)
    hunks = []
    for topic in dict.fromkeys((*after, *before)):
        for change, was, now in compare(before.get(topic, ()), after.get(topic, ())):
            shown = now or was
            assert shown is not None
            section = shown.section.decode("utf-8", "replace").strip()
            hunks.append(ComparedHunk(topic, change.value, was.name if was else "", now.name if now else "", section))
    return Diff(old, new, tuple(hunks))


def _read(root: Path | None, name: str) -> dict[str, tuple[FilePatch, ...]]:
    if Path(name).is_file():
        return {"": read_patch(Path(name).read_bytes(), name=name).files}
    assert root is not None
    return {topic.topic: topic.patch.files for topic in read_series(root, chosen_pin(root, name)).topics}
