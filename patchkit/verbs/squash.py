"""`squash`: put several topics of a series together as one; every file ends as before."""

from collections.abc import Sequence
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.results.reshape import Reshape
from patchkit.series.files import open_series, refuse_name, reshape_series
from patchkit.series.parted import squash_drafts
from patchkit.upstream.access import Access


def squash_topics(
    root: Path, pin: str, topics: Sequence[str], access: Access, *, into: str | None = None, dry_run: bool = False
) -> Reshape:
    """Join the topics, all of the series where none is named, where the first of them stands.

    into: the name of the whole; the first topic's by default.
    """
    opened = open_series(root, pin, access)
    names = list(topics) or [draft.topic for draft in opened.drafts]
    chosen = [opened.draft(name).topic for name in names]
    if len(set(chosen)) < 2:
        raise ConfigError("squash needs two topics", where=opened.name, found=", ".join(chosen))
    name = into or chosen[0]
    refuse_name(name)
    if name in {draft.topic for draft in opened.drafts} - set(chosen):
        raise ConfigError(f"{opened.name} has a topic {name} already", hint="choose another name: --into NAME")
    drafts = squash_drafts(opened.drafts, chosen, name, opened.upstream)
    return reshape_series(opened, drafts, dry_run=dry_run)
