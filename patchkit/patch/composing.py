"""A whole series on a set of files, forwards or backwards, in memory; with every hunk that has no place."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.patch.hunks import ChangeKind, FilePatch, Hunk, Place, Placement, TopicPatch
from patchkit.patch.patchtext import reverse_section, split_lines
from patchkit.patch.place import FileResult, apply_sections, describe_miss, files_after
from patchkit.patch.standing import id_of, is_stated

Files = Mapping[str, bytes | None]


class Work(NamedTuple):
    """What is to be applied.

    label: the pin's name, or the patch file's. key: what the record knows it by; a patch file's is its path, as
    two files of one name may have nothing in common. sources: for each topic the patch file as the user knows it.
    exact: the base must be the very one that the index lines name (a pin's series), not just fit.
    """

    label: str
    topics: tuple[TopicPatch, ...]
    sources: tuple[str, ...]
    exact: bool = False
    key: str = ""

    @property
    def record_key(self) -> str:
        """The key, which is the label unless said otherwise."""
        return self.key or self.label

    @property
    def revision(self) -> str:
        """The sha256 of all patches in order; names do not count."""
        digest = hashlib.sha256()
        for topic in self.topics:
            digest.update(b"%d\0" % len(topic.patch.raw) + topic.patch.raw)
        return digest.hexdigest()


class Miss(NamedTuple):
    """One hunk, or one section as a whole (hunk None), that does not apply. reason: in the user's words."""

    topic: str
    section: FilePatch
    hunk: Hunk | None
    reason: str

    @property
    def name(self) -> str:
        """`path#number`, or the path."""
        return self.hunk.name if self.hunk else self.section.path

    @property
    def patch_line(self) -> int:
        """The line of the patch file that it begins at."""
        return self.hunk.patch_line if self.hunk else self.section.patch_line


class Composition(NamedTuple):
    """The files after some topics.

    executable: the paths whose executable bit a topic sets or clears.
    sources: for each renamed or copied file the path whose mode it takes over.
    """

    files: Files
    misses: tuple[Miss, ...] = ()
    offsets: tuple[tuple[Hunk, int], ...] = ()
    hunks: int = 0
    executable: Mapping[str, bool] = {}
    sources: Mapping[str, str] = {}

    @property
    def ok(self) -> bool:
        """Whether every hunk has its place and every promised id came out."""
        return not self.misses


def compose(topics: Sequence[TopicPatch], files: Files) -> Composition:
    """Apply the topics in order. A hunk that fails does not stop the others, so that all are told."""
    composition = Composition(files)
    for topic in topics:
        composition = _with_sections(composition, topic.topic, topic.patch.files)
    return composition


def take_out(topics: Sequence[TopicPatch], files: Files) -> Composition:
    """Take the topics out again, the last one first, and within one its last section first."""
    composition = Composition(files)
    for topic in reversed(topics):
        sections = tuple(reverse_section(section) for section in reversed(topic.patch.files))
        composition = _with_sections(composition, topic.topic, sections)
    return composition


def _with_sections(so_far: Composition, topic: str, sections: Sequence[FilePatch]) -> Composition:
    results = apply_sections(sections, so_far.files)
    misses = [miss for result in results for miss in _misses(topic, result)]
    offsets = [pair for result in results for pair in _offsets(result)]
    return so_far._replace(
        files=files_after(results, so_far.files),
        misses=(*so_far.misses, *misses),
        offsets=(*so_far.offsets, *offsets),
        hunks=so_far.hunks + sum(len(section.hunks) for section in sections),
        executable={**so_far.executable, **dict(_mode_changes(sections))},
        sources={**so_far.sources, **dict(_moves(sections, so_far.sources))},
    )


def _misses(topic: str, result: FileResult) -> Iterator[Miss]:
    """Yield what is wrong with one section: as a whole, at its hunks, or in what it gives."""
    section = result.section
    if result.fault:
        yield Miss(topic, section, None, result.fault)
    elif result.failed:
        lines = split_lines(result.before or b"")
        for hunk, placement in zip(section.hunks, result.placements, strict=True):
            if placement.at is None:
                yield Miss(topic, section, hunk, _reason(hunk, lines, placement))
    elif section.postimage_id and is_stated(id_of(result.before), _stated_before(section)):
        found = id_of(result.after)
        if not is_stated(found, section.postimage_id):
            reason = f"gives {found[:12]}, its index line promises {section.postimage_id[:12]}"
            yield Miss(topic, section, None, reason)


def _reason(hunk: Hunk, lines: Sequence[bytes], placement: Placement) -> str:
    if placement.place is Place.AMBIGUOUS:
        places = ", ".join(str(at + 1) for at in placement.candidates[:5])
        return f"fits {len(placement.candidates)} places equally well: lines {places}"
    return describe_miss(hunk, lines)


def _stated_before(section: FilePatch) -> str:
    return "0" if section.kind is ChangeKind.CREATE else section.preimage_id


def _offsets(result: FileResult) -> Iterator[tuple[Hunk, int]]:
    if result.ok:
        for hunk, placement in zip(result.section.hunks, result.placements, strict=False):
            if placement.offset:
                yield hunk, placement.offset


def _mode_changes(sections: Sequence[FilePatch]) -> Iterator[tuple[str, bool]]:
    for section in sections:
        if section.new_mode:
            yield section.new_path, section.new_mode == "100755"


def _moves(sections: Sequence[FilePatch], earlier: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for section in sections:
        if section.kind in (ChangeKind.RENAME, ChangeKind.COPY):
            yield section.new_path, earlier.get(section.old_path, section.old_path)
