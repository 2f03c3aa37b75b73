"""`split`: take one topic apart, by file or by a plan; every file ends as before."""

from pathlib import Path

from patchkit.adopt.parting import part_by_file, part_by_plan, read_plan, write_plan
from patchkit.errors import ConfigError
from patchkit.patch.hunks import Hunk, LineKind
from patchkit.results.reshape import Reshape
from patchkit.series.files import open_series, split_series
from patchkit.source.scopes import Scopes, scopes
from patchkit.upstream.access import Access


def split_topic(
    root: Path, pin: str, topic: str, access: Access, *, plan: Path | None = None, dry_run: bool = False
) -> Reshape:
    """Replace a topic by one topic a file, or by those that a plan names; the sum has the same post-image ids."""
    opened = open_series(root, pin, access)
    draft = opened.draft(topic)
    assert draft.former is not None
    if plan is None:
        parting = part_by_file(draft.former)
    else:
        where = str(plan)
        parting = part_by_plan(draft.former, read_plan(_text(plan), where=where), topic=topic, where=where)
    return split_series(opened, topic, parting, dry_run=dry_run)


def tell_plan(root: Path, pin: str, topic: str, access: Access) -> Reshape:
    """Return a plan for the topic that a person can edit: one line a hunk, with its scope and first change."""
    opened = open_series(root, pin, access)
    draft = opened.draft(topic)
    assert draft.former is not None
    known: dict[str, Scopes] = {}

    def scope_of(hunk: Hunk) -> str:
        file = draft.after.get(hunk.path)
        if file is None or not hunk.path.endswith(".py"):
            return ""
        if hunk.path not in known:
            known[hunk.path] = scopes(file.content)
        above = next((at for at, line in enumerate(hunk.lines) if line.kind is not LineKind.CONTEXT), 0)
        return known[hunk.path].at(max(hunk.new_start, 1) + above)

    names = tuple(each.topic for each in opened.drafts)
    text = write_plan(draft.former, pin=opened.name, topic=topic, scope_of=scope_of)
    return Reshape(opened.name, names, names, (), same_result=True, plan=text)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"cannot read {path.name}", where=str(path), found=str(exc)) from exc
