"""`edit`: a worktree at a pin with one commit a topic, to be changed with any git tool."""

import shutil
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.patch.letters import read_letter
from patchkit.results.edit import Edit
from patchkit.series.editing import series_digests
from patchkit.series.files import OpenSeries, open_series, refuse_name, series_names
from patchkit.series.worktree import (
    TopicFiles,
    commit_empty,
    create_edit,
    edit_folder,
    is_untouched,
    open_edits,
    put_aside,
    read_commits,
    read_state,
    stop_at,
)
from patchkit.store import chosen_pin
from patchkit.upstream.access import Access


def edit_pin(root: Path, pin: str | None, access: Access, *, topic: str | None = None, fresh: bool = False) -> Edit:
    """Open the worktree of a pin's series, made now if there is none, and stop at a topic where one is named.

    An edit that holds work is found again as it was left. fresh: put it aside, whole, and begin anew.
    """
    name = chosen_pin(root, pin)
    folder = edit_folder(root, name)
    opened = open_series(root, name, access)
    if topic is not None:
        opened.draft(topic)
    aside = ""
    there = name in open_edits(root)
    if there and (fresh or (is_untouched(folder) and read_state(folder).files != series_digests(opened))):
        aside = str(put_aside(root, name)) if fresh and not is_untouched(folder) else ""
        shutil.rmtree(folder, ignore_errors=True)  # untouched, so nothing of it is lost
        there = False
    if not there:
        _create(root, opened)
    state = read_state(folder)
    if topic is not None and not state.busy and not state.dirty and not state.head_elsewhere:
        stop_at(folder, topic)
    elif topic is not None:
        raise ConfigError(
            "the edit holds work that is not finished",
            where=str(folder),
            found=f"a {state.busy} is under way" if state.busy else ", ".join(state.dirty[:10]),
            kept="the edit, as it was left",
            hint=f"git -C {folder} status",
        )
    commits = tuple((commit.topic or "(new)", commit.id[:12]) for commit in read_commits(folder))
    unfinished = tuple(filter(None, (f"a {state.busy} is under way" if state.busy else "", *state.dirty)))
    return Edit(name, str(folder), commits, topic or "", created=not there, unfinished=unfinished, aside=aside)


def begin_topic(root: Path, pin: str, topic: str, access: Access) -> Edit:
    """Put an empty commit for a new topic on top of a pin's edit; once it is filled, refresh takes it over."""
    refuse_name(topic)
    if topic in series_names(root, chosen_pin(root, pin)):
        raise ConfigError(f"{chosen_pin(root, pin)} has a topic {topic} already", hint=f"patchkit edit {pin} {topic}")
    found = edit_pin(root, pin, access)
    if found.unfinished:
        raise ConfigError(
            "the edit holds work that is not finished",
            where=found.folder,
            found=", ".join(found.unfinished[:10]),
            hint=f"git -C {found.folder} status",
        )
    commit_empty(Path(found.folder), f"{topic}: TODO: what it does, in one line", topic)
    return edit_pin(root, pin, access)


def close_edit(root: Path, pin: str | None) -> Edit:
    """Remove the worktree of an edit that holds nothing that the series has not."""
    name = chosen_pin(root, pin)
    folder = edit_folder(root, name)
    if name not in open_edits(root):
        raise ConfigError(f"no edit of {name} is open", hint=f"patchkit edit {name}")
    if not is_untouched(folder):
        raise ConfigError(
            "the edit holds work that the series has not",
            where=str(folder),
            kept="the edit, as it was left",
            hint=f"patchkit refresh {name}    (or begin anew, and keep it aside: patchkit edit {name} --fresh)",
        )
    shutil.rmtree(folder)
    return Edit(name, str(folder), (), "", created=False, closed=True)


def _create(root: Path, opened: OpenSeries) -> None:
    topics = [
        TopicFiles(draft.topic, read_letter(draft.preamble, topic=draft.topic), draft.before, draft.after)
        for draft in opened.drafts
    ]
    create_edit(root, opened.name, opened.upstream, topics, series_digests(opened))
