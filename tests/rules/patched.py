"""Subjects for the rule tests, made of plain text: what stands before and after, no patch file needed."""

from collections.abc import Mapping
from difflib import SequenceMatcher, unified_diff

from patchkit.patch.hunks import Hunk
from patchkit.patch.patchtext import blob_id, read_patch
from patchkit.rules.compose import NamedPatch, compose, touched_paths
from patchkit.rules.subject import Lock, Origin, PatchedFile, Source, Subject
from patchkit.upstream.nameindex import NameIndex

PATH = "python/sglang/srt/managers/queue.py"


def patched(before: str, after: str, *, path: str = PATH, topic: str = "topic") -> PatchedFile:
    """Return the file as a patch from `before` to `after` leaves it: each line that differs is the patch's."""
    old, new = before.encode().splitlines(), after.encode().splitlines()
    origins: list[Origin | None] = [None] * len(new)
    hunk = Hunk(path, 1, 1, 1, ())
    for tag, _, _, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("insert", "replace"):
            for at in range(first, last):
                origins[at] = Origin(topic, f"{topic}.patch", hunk, at + 1)
    return PatchedFile(path, Source(path, before.encode()), Source(path, after.encode()), tuple(origins))


def index(files: Mapping[str, str]) -> NameIndex:
    """Return the index of an upstream tree in memory."""
    contents = {path: text.encode() for path, text in files.items()}
    sources = {path: text for path, text in contents.items() if path.endswith(".py")}
    return NameIndex(lambda paths: {path: contents.get(path) for path in paths}, lambda: sources)


def subject(*files: PatchedFile, others: Mapping[str, str] | None = None) -> Subject:
    """Return a subject of these files, in an upstream tree that holds the others too."""
    before = {file.path: file.before.text.decode() for file in files if file.before}
    return Subject(None, {file.path: file for file in files}, index=index({**(others or {}), **before}))


def patch_text(before: str | None, after: str | None, *, path: str = PATH, context: int = 3, section: str = "") -> str:
    """Return one section of patch text with the right ids. section: what to write behind each second `@@`."""
    ids = ["0" * 40 if text is None else blob_id(text.encode()) for text in (before, after)]
    mode = "" if before is None or after is None else " 100644"
    head = [f"diff --git a/{path} b/{path}\n"]
    head += ["new file mode 100644\n"] if before is None else []
    head += ["deleted file mode 100644\n"] if after is None else []
    head += [f"index {ids[0]}..{ids[1]}{mode}\n"]
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    lines = unified_diff((before or "").splitlines(True), (after or "").splitlines(True), *names, n=context)
    body = "".join(lines).replace(" @@\n", f" @@ {section}\n") if section else "".join(lines)
    return "".join(head) + body


def subject_of(
    upstream: Mapping[str, str],
    *patches: str,
    combined: str = "",
    locked: Mapping[tuple[str, int], Lock] | None = None,
) -> Subject:
    """Return the subject of a series of patch texts on an upstream tree."""
    named = [
        NamedPatch(f"topic{number}", f"topic{number}.patch", read_patch(text.encode()))
        for number, text in enumerate(patches, 1)
    ]
    contents = {path: upstream[path].encode() if path in upstream else None for path in touched_paths(named)}
    whole = compose(named, contents)
    return Subject(
        None,
        whole.files,
        whole.steps,
        whole.sites,
        index=index(upstream),
        combined=read_patch(combined.encode()) if combined else None,
        combined_file="sglang.patch",
        locked=locked or {},
    )
