"""Trees of made-up files, and patches between them, for the tests of the rebase engine."""

import difflib
from collections.abc import Mapping, Sequence

from patchkit.carry.engine import carry_patch
from patchkit.carry.nouns import Carried, Decision, Settle
from patchkit.patch.patchtext import read_patch

PATH = "python/sglang/srt/engine.py"
Texts = Mapping[str, str | None]


class DictTree:
    """A tree in memory."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts

    def read(self, path: str) -> bytes | None:
        text = self.texts.get(path)
        return None if text is None else text.encode()

    def paths(self) -> Sequence[str]:
        return sorted(path for path, text in self.texts.items() if text is not None)

    def load(self, paths: Sequence[str]) -> None:
        """Nothing to fetch."""


def patch_between(old: Texts, patched: Texts) -> bytes:
    """Return a git patch that makes one set of files out of the other."""
    out = []
    for path in sorted({*old, *patched}):
        before, after = old.get(path), patched.get(path)
        if before == after:
            continue
        lines = difflib.unified_diff(
            (before or "").splitlines(keepends=True),
            (after or "").splitlines(keepends=True),
            "/dev/null" if before is None else f"a/{path}",
            "/dev/null" if after is None else f"b/{path}",
        )
        head = f"diff --git a/{path} b/{path}\n"
        head += "new file mode 100644\n" if before is None else "deleted file mode 100644\n" if after is None else ""
        out.append(head + "".join(lines))
    return "".join(out).encode()


def carry(old: Texts, patched: Texts, new: Texts, settle: Sequence[Settle] = ()) -> Carried:
    """Carry the change from old to patched onto new."""
    sections = read_patch(patch_between(old, patched)).files
    return carry_patch(sections, DictTree(old), DictTree(new), settle)


def carry_one(old: str, patched: str, new: str | None) -> tuple[Decision, str]:
    """Carry a change of one file; return its only decision and the resulting text (upstream's, where unchanged)."""
    carried = carry({PATH: old}, {PATH: patched}, {PATH: new})
    (decision,) = carried.decisions
    data = carried.files.get(PATH)
    return decision, data.decode() if data is not None else new or ""
