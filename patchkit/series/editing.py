"""An edit as drafts: what its commits make of each topic, and how that differs from the series."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.patch.hunks import SOURCE_PREFIX, Patch
from patchkit.patch.letters import write_letter
from patchkit.patch.patchtext import read_patch
from patchkit.results.refresh import TopicChange, TopicState
from patchkit.series.drafts import Draft, meaning
from patchkit.series.files import OpenSeries
from patchkit.series.worktree import (
    Commit,
    EditState,
    digests,
    fold_fixups,
    read_commits,
    read_files,
    read_start,
    read_state,
)
from patchkit.upstream.objects import Entry

_SLUG = 40


@dataclass(frozen=True, slots=True)
class Exported:
    """The series as an edit has it. touched: whether any commit differs from the one that it began as."""

    drafts: tuple[Draft, ...]
    touched: bool


def export_edit(opened: OpenSeries, folder: Path) -> Exported:
    """Return a draft for each topic of the edit.

    A topic whose commit is what it was keeps every byte of its patch; one whose message is what it was keeps that.
    Raises: ConfigError where the edit is in the middle of something, or the series was changed beside it.
    """
    _refuse_unfinished(read_state(folder), folder)
    _refuse_other_series(opened, folder)
    fold_fixups(folder)
    commits = _by_topic(read_commits(folder), folder)
    start = {commit.topic: commit for commit in read_start(folder)}
    former = {draft.topic: draft for draft in opened.drafts}
    drafts = [_draft(commit, start.get(commit.topic), former.get(commit.topic), folder) for commit in commits]
    if not drafts:
        raise ConfigError("the edit has no topic left", where=str(folder), hint=f"git -C {folder} reflog")
    touched = [_look(commit) for commit in commits] != [_look(commit) for commit in start.values()]
    return Exported(tuple(drafts), touched)


def series_digests(opened: OpenSeries) -> dict[str, str]:
    """Return the sha256 of each patch of the series, in order."""
    return digests({draft.topic: draft.former.raw for draft in opened.drafts if draft.former is not None})


def tell_changes(opened: OpenSeries, files: Mapping[str, bytes | None], names: Sequence[str]) -> list[TopicChange]:
    """Return what becomes of each topic: a mere refresh keeps every line that it adds or removes."""
    former = {draft.topic: draft.former for draft in opened.drafts if draft.former is not None}
    changes = []
    for name in names:
        text = files.get(f"{name}.patch")
        patch = former.get(name)
        if text is None:  # its commit does nothing
            if patch is not None:
                changes.append(TopicChange(name, TopicState.GONE))
        elif patch is None:
            changes.append(TopicChange(name, TopicState.NEW))
        else:
            changes.append(TopicChange(name, _state(patch, text)))
    changes += [TopicChange(name, TopicState.GONE) for name in former if name not in names]
    return changes


def _state(former: Patch, text: bytes) -> TopicState:
    if former.raw == text:
        return TopicState.UNCHANGED
    patch = read_patch(text)
    if meaning(former) != meaning(patch):
        return TopicState.EDITED
    return TopicState.REFRESHED if former.preamble == patch.preamble else TopicState.REWORDED


def _refuse_unfinished(state: EditState, folder: Path) -> None:
    kept = f"the edit, in {folder}"
    if state.busy:
        raise ConfigError(
            f"the edit is in the middle of a {state.busy}",
            where=str(folder),
            found=f"not committed: {', '.join(state.dirty[:5])}" if state.dirty else "",
            kept=kept,
            hint=f"git -C {folder} commit -a --amend; git -C {folder} {state.busy} --continue",
        )
    if state.dirty:
        raise ConfigError(
            "the edit has changes that no commit holds",
            where=str(folder),
            found=", ".join(state.dirty[:10]),
            kept=kept,
            hint=f"git -C {folder} commit -a --amend    (or --fixup=COMMIT of the topic that they belong to)",
        )
    if state.head_elsewhere:
        raise ConfigError(
            "the edit stands at another commit than its branch",
            where=f"{folder}, commit {state.head_elsewhere[:12]}",
            kept=kept,
            hint=f"git -C {folder} checkout topics    (git branch NAME first, if the commit is wanted)",
        )


def _refuse_other_series(opened: OpenSeries, folder: Path) -> None:
    """Raise where the patches in the store are not those that the edit began with."""
    began, now = read_state(folder).files, series_digests(opened)
    differing = sorted({*began, *now} - {name for name in began if began[name] == now.get(name)})
    if differing or list(began) != list(now):
        raise ConfigError(
            f"the series {opened.name} was changed since the edit began",
            where=f"patches/{opened.name}",
            found=f"other content or order: {', '.join(differing) or 'order'}",
            kept=f"the edit, in {folder}",
            hint=f"patchkit edit {opened.name} --fresh    (puts this edit aside; cherry-pick from it what you want)",
        )


def _by_topic(commits: Sequence[Commit], folder: Path) -> list[Commit]:
    """Return one commit a topic: neighbours of one topic become one; a commit without a topic is a new one."""
    joined: list[Commit] = []
    for commit in commits:
        topic = commit.topic or _new_name(commit.letter.message, {each.topic for each in joined})
        if joined and joined[-1].topic == topic:
            joined[-1] = replace(joined[-1], changes=_chained(joined[-1].changes, commit.changes))
        elif any(each.topic == topic for each in joined):
            raise ConfigError(
                f"two commits that are apart belong to the topic {topic}",
                where=f"{folder}, commit {commit.id[:12]}",
                hint=f"git -C {folder} rebase -i refs/patchkit/base    (put them together)",
            )
        else:
            joined.append(replace(commit, topic=topic))
    return joined


def _chained(
    first: Mapping[str, tuple[Entry | None, Entry | None]], second: Mapping[str, tuple[Entry | None, Entry | None]]
) -> dict[str, tuple[Entry | None, Entry | None]]:
    whole = dict(first)
    for path, (before, after) in second.items():
        whole[path] = (first[path][0] if path in first else before, after)
    return {path: sides for path, sides in whole.items() if sides[0] != sides[1]}


def _new_name(message: str, taken: set[str]) -> str:
    """Return a topic's name from a subject: what stands before its colon, else its first words."""
    subject = message.partition("\n")[0]
    head, colon, _ = subject.partition(": ")
    text = head if colon and " " not in head else subject
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG].strip("-") or "topic"
    return name if name not in taken else f"{name}-{len(taken)}"


def _draft(commit: Commit, start: Commit | None, former: Draft | None, folder: Path) -> Draft:
    outside = [path for path in commit.changes if not path.startswith(SOURCE_PREFIX)]
    if outside:
        raise ConfigError(
            f"the topic {commit.topic} changes files outside of python/sglang/",
            where=f"{folder}, commit {commit.id[:12]}",
            found=", ".join(outside[:5]),
            hint="the worktree has only what the wheel has; such files are carried as their patch has them",
        )
    entries = [side for sides in commit.changes.values() for side in sides]
    files = iter(read_files(folder, entries))
    pairs = {path: (next(files), next(files)) for path in commit.changes}
    same_letter = start is not None and start.letter == commit.letter
    preamble = former.preamble if former is not None and same_letter else write_letter(commit.letter)
    return Draft(
        commit.topic,
        preamble,
        {path: before for path, (before, _) in pairs.items()},
        {path: after for path, (_, after) in pairs.items()},
        former.former if former else None,
        is_current=former is not None and start is not None and start.changes == commit.changes,
    )


def _look(commit: Commit) -> object:
    return commit.topic, commit.letter, commit.changes
