"""A set of patches without the hunks that have no place: what can be carried today, and the rest as it was."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from patchkit.adopt.judging import Judged
from patchkit.patch.headers import read_head
from patchkit.patch.hunks import SOURCE_PREFIX, FilePatch, Hunk
from patchkit.patch.patchtext import read_patch, write_patch
from patchkit.rules.compose import NamedPatch, compose, inside, touched_paths
from patchkit.series.drafts import read_drafts, write_draft
from patchkit.upstream.bring import Upstream

LEFT_OUT = ".rej"  # as patch(1) calls what it could not place


def take_placed(judged: Judged) -> tuple[Judged, dict[str, bytes]]:
    """Return the set with the hunks that have a place, as canonical text, and what was left out of each topic.

    A topic of which nothing has a place is left out whole. A set that applies is returned as it is.
    """
    upstream = judged.upstream
    if upstream is None or judged.composes:
        return judged, {}
    whole = [
        NamedPatch(topic, one.file.shown, one.patch) for topic, one in zip(judged.topics, judged.parsed, strict=True)
    ]
    placed = _without_failures(whole, upstream)
    kept = [named for named in placed if any(section.path.startswith(SOURCE_PREFIX) for section in named.patch.files)]
    drafts = read_drafts(kept, upstream, what="what has a place")
    parsed, topics = [], []
    for draft in drafts:
        if not draft.changes:
            continue
        former = judged.parsed[judged.topics.index(draft.topic)]
        is_whole = draft.former == former.patch
        raw = write_draft(draft if is_whole else replace(draft, is_current=False), upstream.objects)
        patch = read_patch(raw, name=former.file.shown)
        parsed.append(replace(former, file=replace(former.file, raw=raw), patch=patch, head=read_head(patch.preamble)))
        topics.append(draft.topic)
    named = [inside(NamedPatch(topic, one.file.shown, one.patch)) for topic, one in zip(topics, parsed, strict=True)]
    composed = compose(named, upstream.read(sorted(touched_paths(named))))
    left = {
        f"{former.topic}{LEFT_OUT}": text
        for former, now in zip(whole, placed, strict=True)
        if (text := _left_out(former, now))
    }
    return replace(judged, parsed=tuple(parsed), topics=tuple(topics), composed=composed), left


def _without_failures(patches: Sequence[NamedPatch], upstream: Upstream) -> list[NamedPatch]:
    """Return the patches without what does not apply, and then without what needed that, until all of it applies."""
    before = upstream.read(sorted(touched_paths([inside(named) for named in patches])))
    current = list(patches)
    while True:
        steps = iter(compose([inside(named) for named in current], before).steps)
        smaller = []
        for named in current:
            files = []
            for section in named.patch.files:
                if not section.path.startswith(SOURCE_PREFIX):
                    files.append(section)
                    continue
                result = next(steps).result
                if result.ok:
                    files.append(section)
                elif not result.fault and (hunks := tuple(h for h in section.hunks if h not in result.failed)):
                    files.append(section._replace(hunks=hunks, header=(), preimage_id="", postimage_id=""))
            smaller.append(replace(named, patch=named.patch._replace(files=tuple(files))))
        if smaller == current:
            return current
        current = smaller


def _left_out(whole: NamedPatch, placed: NamedPatch) -> bytes:
    """Return the sections and hunks of a patch that are not in what was placed of it; empty where all of it is."""
    kept = {section.path: section for section in placed.patch.files}
    files = tuple(_missing(whole.patch.files, kept))
    return write_patch(whole.patch._replace(files=files, preamble=b"")) if files else b""


def _missing(sections: Sequence[FilePatch], kept: dict[str, FilePatch]) -> Iterator[FilePatch]:
    for section in sections:
        there = kept.get(section.path)
        if there is None:
            yield section
        elif missing := tuple(hunk for hunk in section.hunks if not _is_in(hunk, there)):
            yield section._replace(hunks=missing)


def _is_in(hunk: Hunk, section: FilePatch) -> bool:
    return any(hunk.number == other.number for other in section.hunks)
