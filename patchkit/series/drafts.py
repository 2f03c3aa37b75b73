"""A series as contents: each topic's files before and after it, and the canonical patch text that follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patchkit.errors import ConflictError
from patchkit.patch.hunks import SOURCE_PREFIX, ChangeKind, LineKind, Patch, Place
from patchkit.patch.patchtext import blob_id, read_patch, write_section
from patchkit.rules.compose import NamedPatch, compose, inside, touched_paths
from patchkit.rules.subject import Step
from patchkit.upstream.belonging import same_id
from patchkit.upstream.bring import Upstream
from patchkit.upstream.objects import File, ObjectStore

_ABSENT = "0" * 40
Files = Mapping[str, File | None]


@dataclass(frozen=True, slots=True)
class Draft:
    """One topic, ready to be written.

    preamble: the bytes above its first section. before, after: each file of python/sglang/ that it changes.
    former: the patch that it was read from; its sections outside of python/sglang/ are carried as they are.
    is_current: the former's text still says exactly this: same ids, no offset.
    """

    topic: str
    preamble: bytes
    before: Files
    after: Files
    former: Patch | None = None
    is_current: bool = False

    @property
    def has_outside(self) -> bool:
        """Whether it changes a file outside of python/sglang/ too."""
        sections = self.former.files if self.former else ()
        return any(not section.path.startswith(SOURCE_PREFIX) for section in sections)

    @property
    def changes(self) -> set[str]:
        """The paths whose content differs."""
        return {path for path in {*self.before, *self.after} if self.before.get(path) != self.after.get(path)}


def read_drafts(patches: Sequence[NamedPatch], upstream: Upstream, *, what: str) -> list[Draft]:
    """Apply the patches in order and return each as a draft.

    what: the series, for the message. Raises: ConflictError with every hunk that has no place.
    """
    named = [inside(patch) for patch in patches]
    composed = compose(named, upstream.read(sorted(touched_paths(named))))
    refuse_failures(composed.steps, what=what)
    modes: dict[str, str] = {}
    steps = iter(composed.steps)
    drafts = []
    for whole, part in zip(patches, named, strict=True):
        own = [next(steps) for _ in part.patch.files]
        before, after = _contents(own, modes)
        current = all(_is_current(step) for step in own)
        drafts.append(Draft(whole.topic, whole.patch.preamble, before, after, whole.patch, current))
    return drafts


def refuse_failures(steps: Sequence[Step], *, what: str, kept: str = "nothing was changed") -> None:
    """Raise a ConflictError that names every hunk without a place; do nothing where there is none."""
    lines = []
    for step in steps:
        if not step.result.ok:
            hunks = [f"{hunk.name} ({step.patch_file}:{hunk.patch_line})" for hunk in step.result.failed]
            lines += hunks or [f"{step.result.section.path} ({step.patch_file}): {step.result.fault}"]
    if lines:
        raise ConflictError(
            f"{what} does not apply: {len(lines)} without a place",
            where="\n".join(lines),
            kept=kept,
            hint="patchkit verify says what stands there instead",
        )


def write_draft(draft: Draft, objects: ObjectStore) -> bytes:
    """Return the patch text of a draft: the former's own bytes where they are current, else canonical ones."""
    former = draft.former
    if former is not None and draft.is_current:
        return draft.preamble + former.raw[len(former.preamble) :]
    outside = [section for section in (former.files if former else ()) if not section.path.startswith(SOURCE_PREFIX)]
    body = objects.diff(draft.before, draft.after)
    return _ended(draft.preamble) + body + b"".join(write_section(section) for section in outside)


def rebuild(drafts: Sequence[Draft], upstream: Upstream, *, what: str) -> list[Draft]:
    """Apply the formers of these drafts in this order, on each other's results, and return what they become."""
    patches = [NamedPatch(draft.topic, f"{draft.topic}.patch", _as_patch(draft, upstream.objects)) for draft in drafts]
    return read_drafts(patches, upstream, what=what)


def result_of(drafts: Sequence[Draft]) -> dict[str, File | None]:
    """Return what all drafts together make of each file that any of them changes."""
    result: dict[str, File | None] = {}
    for draft in drafts:
        result.update({path: draft.after.get(path) for path in {*draft.before, *draft.after}})
    return result


def other_results(one: Sequence[Draft], other: Sequence[Draft]) -> list[str]:
    """Return the paths that do not end the same in both; a file that a series leaves alone ends as it began."""
    pin: dict[str, File | None] = {}
    for draft in (*reversed(other), *reversed(one)):
        pin.update(draft.before)
    first, second = {**pin, **result_of(one)}, {**pin, **result_of(other)}
    return sorted(path for path in pin if first[path] != second[path])


def meaning(patch: Patch) -> dict[str, list[tuple[LineKind, bytes]]]:
    """Return the lines that a patch adds and removes, by path: what stays the same when it is only refreshed."""
    changed: dict[str, list[tuple[LineKind, bytes]]] = {}
    for section in patch.files:
        lines = [(line.kind, line.text) for hunk in section.hunks for line in hunk.lines]
        changed[section.path] = [line for line in lines if line[0] is not LineKind.CONTEXT]
    return changed


def _as_patch(draft: Draft, objects: ObjectStore) -> Patch:
    return read_patch(write_draft(draft, objects), name=f"{draft.topic}.patch")


def _contents(steps: Sequence[Step], modes: dict[str, str]) -> tuple[dict[str, File | None], dict[str, File | None]]:
    """Return each touched file before the first and after the last of the steps; modes as the patches have said."""
    before: dict[str, File | None] = {}
    after: dict[str, File | None] = {}
    for step in steps:
        section, result = step.result.section, step.result
        old, new = section.old_path, section.new_path
        old_mode = section.old_mode or modes.get(old, "100644")
        modes[new] = section.new_mode or old_mode
        before.setdefault(old, _file(result.before, old_mode))
        if section.kind is ChangeKind.RENAME:
            after[old] = None
        if new != old:
            before.setdefault(new, None)
        after[new] = _file(result.after, modes[new])
        after.setdefault(old, before[old])
    return before, after


def _file(content: bytes | None, mode: str) -> File | None:
    return None if content is None else File(content, mode)


def _is_current(step: Step) -> bool:
    result = step.result
    if any(placement.place is not Place.EXACT for placement in result.placements):
        return False
    section = result.section
    pairs = ((section.preimage_id, result.before), (section.postimage_id, result.after))
    return all(not stated or _is_id_of(stated, content) for stated, content in pairs)


def _is_id_of(stated: str, content: bytes | None) -> bool:
    if content is None or not stated.strip("0"):
        return content is None and not stated.strip("0")
    return same_id(stated, blob_id(content))


def _ended(preamble: bytes) -> bytes:
    """Return the preamble with an empty line at its end, so that no diff becomes part of a message."""
    if not preamble or preamble.endswith(b"\n\n"):
        return preamble
    return preamble.rstrip(b"\n") + b"\n\n"
