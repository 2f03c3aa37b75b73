"""Subjects for the rule tests, made of plain text: what stands before and after, no patch file needed."""

from collections.abc import Mapping
from difflib import SequenceMatcher

from patchkit.model import Hunk
from patchkit.rules.subject import Origin, PatchedFile, Source, Subject

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


class Index:
    """An upstream tree in memory."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        return self.files[path].encode() if path in self.files else None

    def has_word(self, word: str) -> bool:
        from re import search

        return any(search(rf"\b{word}\b", text) for text in self.files.values())

    def definitions(self, name: str) -> tuple[tuple[str, int], ...]:
        from re import match

        return tuple(
            (path, number)
            for path, text in self.files.items()
            for number, line in enumerate(text.splitlines(), 1)
            if match(rf"\s*(async )?(def|class) {name}\b", line)
        )


def subject(*files: PatchedFile, others: Mapping[str, str] | None = None) -> Subject:
    """Return a subject of these files, in an upstream tree that holds the others too."""
    before = {file.path: file.before.text.decode() for file in files if file.before}
    return Subject(None, {file.path: file for file in files}, index=Index({**(others or {}), **before}))
