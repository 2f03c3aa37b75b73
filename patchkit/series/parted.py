"""Take one topic apart, or put several together, so that the series as a whole does the same to every file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from patchkit.adopt.parting import Parting, is_whole
from patchkit.errors import ConfigError, ConflictError
from patchkit.patch.hunks import SOURCE_PREFIX, FilePatch
from patchkit.patch.letters import read_letter, write_letter
from patchkit.patch.patchtext import split_lines
from patchkit.patch.place import place_hunks, replace_lines
from patchkit.series.drafts import Draft, other_results, rebuild, result_of
from patchkit.upstream.bring import Upstream
from patchkit.upstream.objects import File


def split_draft(draft: Draft, parting: Parting) -> list[Draft]:
    """Return one draft a topic of the parting; together they go from the draft's files to its result.

    A piece has the author, date and text of the whole, and a subject that begins with its topic.
    """
    assert draft.former is not None
    pieces = []
    current = dict(draft.before)
    for number, topic in enumerate(parting.topics):
        wanted = set(parting.topics[: number + 1])
        after = dict(current)
        for section in draft.former.files:
            if section.path.startswith(SOURCE_PREFIX):
                after.update(_with_hunks(section, draft, parting, wanted))
        outside = [
            section
            for section in draft.former.files
            if not section.path.startswith(SOURCE_PREFIX) and topic == _topic_of(section, parting)
        ]
        changed = {path for path in after if after[path] != current.get(path)}
        pieces.append(
            Draft(
                topic,
                _preamble(draft, topic),
                {path: current.get(path) for path in changed},
                {path: after[path] for path in changed},
                draft.former._replace(files=tuple(outside)),
            )
        )
        current = after
    result = {path: current.get(path) for path in draft.after}
    if result != dict(draft.after):
        raise ConfigError(
            f"{draft.topic} cannot be taken apart by hunk",
            where=", ".join(path for path in result if result[path] != draft.after[path]),
            found="it changes a file in more than one section",
            hint="assign the whole file to one topic",
        )
    return pieces


def squash_drafts(drafts: Sequence[Draft], names: Sequence[str], into: str, upstream: Upstream) -> list[Draft]:
    """Return the series with the named topics as one, where the first of them stands.

    Topics between them move behind; where they cannot, that is a conflict.
    """
    chosen = [draft for draft in drafts if draft.topic in names]
    first = drafts.index(chosen[0])
    others = [draft for draft in drafts[first:] if draft.topic not in names]
    ordered = [*drafts[:first], *chosen, *others]
    moved = list(drafts) if ordered == list(drafts) else reorder_drafts(drafts, [d.topic for d in ordered], upstream)
    group = moved[first : first + len(chosen)]
    before: dict[str, File | None] = {}
    for draft in group:
        before = {**draft.before, **before}
    after = {path: file for path, file in result_of(group).items() if file != before.get(path)}
    outside = [s for d in group if d.former for s in d.former.files if not s.path.startswith(SOURCE_PREFIX)]
    assert group[0].former is not None
    whole = Draft(
        into,
        _joined_preamble(group, into),
        {path: before.get(path) for path in after},
        after,
        group[0].former._replace(files=tuple(outside)),
    )
    return [*moved[:first], whole, *moved[first + len(chosen) :]]


def reorder_drafts(drafts: Sequence[Draft], names: Sequence[str], upstream: Upstream) -> list[Draft]:
    """Return the series in another order; every file must end as it did.

    Raises: ConflictError where a topic does not apply at its new place, or the result would be another.
    """
    if sorted(names) != sorted(draft.topic for draft in drafts):
        raise ConfigError(
            "the new order must name every topic of the series once",
            found=f"the series has {', '.join(draft.topic for draft in drafts)}",
        )
    by_name = {draft.topic: draft for draft in drafts}
    moved = rebuild([by_name[name] for name in names], upstream, what="the series in this order")
    _refuse_other_result(drafts, moved)
    return moved


def drop_draft(drafts: Sequence[Draft], name: str, upstream: Upstream) -> list[Draft]:
    """Return the series without one topic. Raises: ConflictError where a later one needs it."""
    return rebuild([d for d in drafts if d.topic != name], upstream, what=f"the series without {name}")


def _refuse_other_result(former: Sequence[Draft], moved: Sequence[Draft]) -> None:
    if differing := other_results(former, moved):
        raise ConflictError(
            "in this order the series gives another result", where="\n".join(differing), kept="nothing was changed"
        )


def _with_hunks(section: FilePatch, draft: Draft, parting: Parting, wanted: set[str]) -> Mapping[str, File | None]:
    """Return the section's file with the hunks of the wanted topics in it."""
    old, new = section.old_path, section.new_path
    if is_whole(section):
        if parting.of[(section.path, 0)] not in wanted:
            return {}
        return {old: draft.after.get(old), new: draft.after.get(new)}
    before, after = draft.before[old], draft.after[new]
    assert before is not None
    assert after is not None
    hunks = [hunk for hunk in section.hunks if parting.of[(section.path, hunk.number)] in wanted]
    if len(hunks) == len(section.hunks):
        return {new: after}
    lines = split_lines(before.content)
    placements = place_hunks(section.hunks, lines)
    chosen = [placement for hunk, placement in zip(section.hunks, placements, strict=True) if hunk in hunks]
    return {new: File(replace_lines(hunks, chosen, lines), before.mode if not hunks else after.mode)}


def _topic_of(section: FilePatch, parting: Parting) -> str:
    """Return where a section outside of python/sglang/ goes: it is never taken apart, so with its first hunk."""
    return parting.of.get((section.path, 0)) or parting.of[(section.path, 1)]


def _preamble(draft: Draft, topic: str) -> bytes:
    letter = read_letter(draft.preamble, topic=draft.topic)
    subject, _, body = letter.message.partition("\n")
    bare = subject.removeprefix(f"{draft.topic}: ")
    return write_letter(replace(letter, message=f"{topic}: {bare}\n{body}"))


def _joined_preamble(group: Sequence[Draft], into: str) -> bytes:
    """Return the text of the first, with the messages of the others below it."""
    if len(group) == 1:
        return group[0].preamble
    letters = [read_letter(draft.preamble, topic=draft.topic) for draft in group]
    subject, _, body = letters[0].message.partition("\n")
    bare = subject.removeprefix(f"{group[0].topic}: ")
    parts = [f"{into}: {bare}" if bare != group[0].topic else into, body.strip(), *(o.message for o in letters[1:])]
    return write_letter(replace(letters[0], message="\n\n".join(part for part in parts if part)))
