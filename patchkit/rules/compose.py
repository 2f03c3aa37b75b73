"""Build the subject: apply a series in memory and keep, for each line, what brought it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from patchkit.model import SOURCE_PREFIX, ChangeKind, FilePatch, LineKind, Patch, Place, Placement
from patchkit.place import FileResult, apply_file
from patchkit.rules.subject import Origin, PatchedFile, Site, Source, Step


@dataclass(frozen=True, slots=True)
class NamedPatch:
    """One patch to be applied. file: its path, as findings shall show it."""

    topic: str
    file: str
    patch: Patch


@dataclass(frozen=True, slots=True)
class Composed:
    """What a series makes of its files."""

    steps: tuple[Step, ...]
    files: Mapping[str, PatchedFile]
    sites: tuple[Site, ...]


@dataclass(slots=True)
class _Working:
    """One file while the series is applied."""

    content: bytes | None
    origins: list[Origin | None] = field(default_factory=list)
    marks: list[tuple[int, "_Mark"]] = field(default_factory=list)  # index of the line from which each hunk changes


@dataclass(frozen=True, slots=True)
class _Mark:
    step: Step
    number: int  # index of the hunk in its section


def inside(named: NamedPatch) -> NamedPatch:
    """Return the patch without what it does outside of python/sglang/, which no wheel holds."""
    files = tuple(section for section in named.patch.files if section.path.startswith(SOURCE_PREFIX))
    return replace(named, patch=named.patch._replace(files=files))


def outside_paths(named: NamedPatch) -> list[str]:
    """Return the paths outside of python/sglang/ that the patch changes."""
    return [section.path for section in named.patch.files if not section.path.startswith(SOURCE_PREFIX)]


def touched_paths(patches: Sequence[NamedPatch]) -> set[str]:
    """Return every path that the patches read or write."""
    sections = [section for named in patches for section in named.patch.files]
    return {path for section in sections for path in (section.old_path, section.new_path)}


def compose(patches: Sequence[NamedPatch], upstream: Mapping[str, bytes | None]) -> Composed:
    """Apply the patches in order. A section that does not apply leaves its file as it was, and the rest goes on.

    upstream: the content of every touched path; None where there is no such file.
    """
    working = {path: _Working(content, _unpatched(content)) for path, content in upstream.items()}
    steps = list(_steps(patches, working))
    files = {path: _patched_file(path, upstream[path], file) for path, file in sorted(working.items())}
    return Composed(tuple(steps), files, tuple(_sites(steps, working, files)))


def applies(patches: Sequence[NamedPatch], upstream: Mapping[str, bytes | None]) -> bool:
    """Whether every section of every patch applies, in this order; cheaper than to compose."""
    working = {path: _Working(content, _unpatched(content)) for path, content in upstream.items()}
    return all(step.result.ok for step in _steps(patches, working))


def _steps(patches: Sequence[NamedPatch], working: dict[str, _Working]) -> Iterator[Step]:
    """Apply each section in order, write it into the working files, and yield how it went."""
    for named in patches:
        for section in named.patch.files:
            step = Step(named.topic, named.file, _apply(section, working))
            _take(step, working)
            yield step


def _unpatched(content: bytes | None) -> list[Origin | None]:
    if content is None:
        return []
    return [None] * (content.count(b"\n") + (bool(content) and not content.endswith(b"\n")))


def _apply(section: FilePatch, working: Mapping[str, _Working]) -> FileResult:
    moves = section.kind in (ChangeKind.RENAME, ChangeKind.COPY)
    target = working[section.new_path].content if moves else None
    return apply_file(section, working[section.old_path].content, target=target)


def _take(step: Step, working: dict[str, _Working]) -> None:
    """Write a step's result, its origins and the places of its hunks into the working files."""
    result = step.result
    section = result.section
    if not result.ok:
        return
    source = working[section.old_path]
    moved = _Working(result.after, list(source.origins), list(source.marks))
    growth = 0
    for number, (hunk, placement) in enumerate(zip(section.hunks, result.placements, strict=True)):
        assert placement.at is not None
        at = placement.at + growth
        added, first_change = _origins_of(step, number, moved.origins[at : at + len(hunk.preimage)])
        delta = len(hunk.postimage) - len(hunk.preimage)
        moved.marks = [(line + delta if line >= at + len(hunk.preimage) else line, mark) for line, mark in moved.marks]
        moved.marks.append((at + first_change, _Mark(step, number)))
        moved.origins[at : at + len(hunk.preimage)] = added
        growth += delta
    if section.kind is ChangeKind.DELETE:
        moved.origins = []
    if section.kind is ChangeKind.RENAME:
        working[section.old_path] = _Working(None)
    working[section.path] = moved


def _origins_of(step: Step, number: int, kept: Sequence[Origin | None]) -> tuple[list[Origin | None], int]:
    """Return the origin of each postimage line of a hunk, and the index of the first line that it changes."""
    hunk = step.result.section.hunks[number]
    origins: list[Origin | None] = []
    first_change: int | None = None
    at = 0
    for index, line in enumerate(hunk.lines, start=1):
        if line.kind is not LineKind.CONTEXT and first_change is None:
            first_change = len(origins)
        if line.kind is LineKind.ADDED:
            origins.append(Origin(step.topic, step.patch_file, hunk, hunk.patch_line + index))
        elif line.kind is LineKind.CONTEXT:
            origins.append(kept[at])
        if line.kind is not LineKind.ADDED:
            at += 1
    return origins, first_change or 0


def _patched_file(path: str, before: bytes | None, file: _Working) -> PatchedFile:
    return PatchedFile(
        path,
        None if before is None else Source(path, before),
        None if file.content is None else Source(path, file.content),
        tuple(file.origins),
    )


def _sites(steps: Sequence[Step], working: Mapping[str, _Working], files: Mapping[str, PatchedFile]) -> Sequence[Site]:
    """Return where each hunk of each step lands in the whole result, in series order."""
    marks = {(id(mark.step), mark.number): line + 1 for file in working.values() for line, mark in file.marks}
    added: dict[int, list[int]] = defaultdict(list)
    for file in files.values():
        for line, origin in enumerate(file.origins, start=1):
            if origin is not None:
                added[id(origin.hunk)].append(line)
    sites = []
    for step in steps:
        section, placements = step.result.section, step.result.placements
        for number, hunk in enumerate(section.hunks):
            line = marks.get((id(step), number), 0)
            placement = placements[number] if number < len(placements) else Placement(Place.NOWHERE)
            file = files[section.path]
            has_scope = line and file.after is not None and file.path.endswith(".py")
            scope = file.after.scopes.enclosing(added[id(hunk)] or [line]) if has_scope and file.after else ""
            sites.append(Site(step.topic, step.patch_file, hunk, placement, line, scope))
    return sites
