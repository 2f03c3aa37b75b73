"""Build the subject: apply a series in memory and keep, for each line, what brought it."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from patchkit.patch.hunks import SOURCE_PREFIX, ChangeKind, LineKind, Patch, Place, Placement
from patchkit.patch.place import apply_sections, files_after
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


@dataclass(frozen=True, slots=True)
class _Trace:
    """What brought each line of one file so far. marks: the index of the line from which each hunk changes it."""

    origins: Sequence[Origin | None] = ()
    marks: Sequence[tuple[int, "_Mark"]] = ()


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
    files, traces = dict(upstream), {path: _Trace(_unpatched(content)) for path, content in upstream.items()}
    steps: list[Step] = []
    for named in patches:
        results = apply_sections(named.patch.files, files, twins=True)
        made = [Step(named.topic, named.file, result) for result in results]
        files, traces = files_after(results, files), _traces_after(made, traces)
        steps += made
    patched = {path: _patched_file(path, upstream[path], files[path], traces[path]) for path in sorted(files)}
    return Composed(tuple(steps), patched, tuple(_sites(steps, traces, patched)))


def applies(patches: Sequence[NamedPatch], upstream: Mapping[str, bytes | None]) -> bool:
    """Whether every section of every patch applies, in this order; cheaper than to compose."""
    files = dict(upstream)
    for named in patches:
        results = apply_sections(named.patch.files, files)
        if not all(result.ok for result in results):
            return False
        files = files_after(results, files)
    return True


def _unpatched(content: bytes | None) -> Sequence[Origin | None]:
    if content is None:
        return []
    return [None] * (content.count(b"\n") + (bool(content) and not content.endswith(b"\n")))


def _traces_after(steps: Sequence[Step], traces: Mapping[str, _Trace]) -> dict[str, _Trace]:
    """Return the traces with the steps of one patch in them, as files_after() does with the contents."""
    after = dict(traces)
    done = [step for step in steps if step.result.ok]
    for step in done:
        if step.result.section.kind in (ChangeKind.DELETE, ChangeKind.RENAME):
            after[step.result.section.old_path] = _Trace()
    for step in done:
        section = step.result.section
        if section.kind is not ChangeKind.DELETE:
            is_new = step.result.before is None
            after[section.new_path] = _traced(step, _Trace() if is_new else traces[section.old_path])
    return after


def _traced(step: Step, former: _Trace) -> _Trace:
    """Return the trace of a file after a step that applies."""
    origins: list[Origin | None] = []
    marks: list[tuple[int, _Mark]] = []
    ends, growths = [0], [0]  # where each hunk ends in the former lines, and by how much the file has grown there
    result = step.result
    for number, (hunk, placement) in enumerate(zip(result.section.hunks, result.placements, strict=True)):
        assert placement.at is not None
        end = placement.at + hunk.old_count
        origins += former.origins[ends[-1] : placement.at]
        added, first_change = _origins_of(step, number, former.origins[placement.at : end])
        marks.append((len(origins) + first_change, _Mark(step, number)))
        origins += added
        ends.append(end)
        growths.append(growths[-1] + hunk.new_count - hunk.old_count)
    origins += former.origins[ends[-1] :]
    moved = [(line + growths[bisect_right(ends, line) - 1], mark) for line, mark in former.marks]
    return _Trace(origins, [*moved, *marks])


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


def _patched_file(path: str, before: bytes | None, after: bytes | None, trace: _Trace) -> PatchedFile:
    return PatchedFile(
        path,
        None if before is None else Source(path, before),
        None if after is None else Source(path, after),
        tuple(trace.origins),
    )


def _sites(steps: Sequence[Step], traces: Mapping[str, _Trace], files: Mapping[str, PatchedFile]) -> Sequence[Site]:
    """Return where each hunk of each step lands in the whole result, in series order."""
    marks = {(id(mark.step), mark.number): line + 1 for trace in traces.values() for line, mark in trace.marks}
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
