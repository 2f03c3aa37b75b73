"""One topic's move: the old side as it was, the new side as the topics before it left it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patchkit.carry.engine import carry_patch
from patchkit.carry.nouns import Action, Carried, Decision, Settle, Stage
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.series.drafts import Draft, result_of, write_draft
from patchkit.upstream.bring import Upstream
from patchkit.upstream.objects import File
from patchkit.upstream.trees import LayeredTree, UpstreamTree


@dataclass(frozen=True, slots=True)
class Move:
    """What one topic becomes on the new upstream.

    before, after: each file of the new upstream that it changes. former: the draft that it comes from.
    """

    former: Draft
    carried: Carried
    before: Mapping[str, File | None]
    after: Mapping[str, File | None]

    @property
    def unresolved(self) -> tuple[Decision, ...]:
        """The hunks that a person must settle."""
        return tuple(one for one in self.carried.decisions if one.action is Action.UNRESOLVED)

    @property
    def suspects(self) -> tuple[Decision, ...]:
        """The carried or dropped hunks that a person should look at; what a resolver proposed is always one."""
        return tuple(
            one
            for one in self.carried.decisions
            if one.action is not Action.UNRESOLVED and (one.suspect or one.stage is Stage.RESOLVER)
        )


def carry_topic(
    draft: Draft,
    sides: tuple[Sequence[Draft], Sequence[Draft]],
    upstreams: tuple[Upstream, Upstream],
    settle: Sequence[Settle] = (),
) -> Move:
    """Carry a topic. sides: the topics before it, on the old and on the new upstream."""
    old_side, new_side = sides
    old_upstream, new_upstream = upstreams
    assert draft.former is not None
    sections = [section for section in draft.former.files if section.path.startswith(SOURCE_PREFIX)]
    old = LayeredTree(UpstreamTree(old_upstream), {**contents(result_of(old_side)), **contents(draft.before)})
    below = UpstreamTree(new_upstream)
    new = LayeredTree(below, contents(result_of(new_side)))
    touched = sorted({path for section in sections for path in (section.old_path, section.new_path)})
    new.load(touched)
    carried = carry_patch(sections, old, new, settle)
    before, after = as_files(carried.clean, new, draft)
    return Move(draft, carried, before, after)


def as_files(
    texts: Mapping[str, bytes | None], new: LayeredTree, draft: Draft
) -> tuple[dict[str, File | None], dict[str, File | None]]:
    """Return the files that really change, before and after; modes as the topic had them."""
    before: dict[str, File | None] = {}
    after: dict[str, File | None] = {}
    for path, text in sorted(texts.items()):
        old = new.read(path)
        if old == text:
            continue
        was, now = draft.before.get(path), draft.after.get(path)
        mode = was.mode if was else "100644"
        before[path] = None if old is None else File(old, mode)
        after[path] = None if text is None else File(text, now.mode if now else mode)
    return before, after


def patch_of(move: Move, upstream: Upstream) -> bytes:
    """Return the topic's patch text on the new upstream; empty where nothing of it is left."""
    if not move.before and not move.former.has_outside:
        return b""
    draft = Draft(move.former.topic, move.former.preamble, move.before, move.after, move.former.former)
    return write_draft(draft, upstream.objects)


def contents(files: Mapping[str, File | None]) -> dict[str, bytes | None]:
    """Return the bytes of files."""
    return {path: None if file is None else file.content for path, file in files.items()}
