"""The topics of a pin as rows of the map, each with what decides about it."""

import hashlib
from collections.abc import Iterator, Sequence

from patchkit.model import Series
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.rebasing.steps import contents
from patchkit.rules.compose import NamedPatch
from patchkit.series.drafts import Draft, read_drafts, result_of
from patchkit.upstream.bring import Upstream
from patchkit.upstream.trees import LayeredTree, UpstreamTree
from patchkit.weather.nouns import Row


def read_rows(series: Series, upstream: Upstream) -> list[Row]:
    """Return a row for each topic that changes a file of python/sglang/, in series order."""
    patches = [NamedPatch(one.topic, f"{one.topic}.patch", one.patch) for one in series.topics]
    drafts = read_drafts(patches, upstream, what=f"series {series.pin.name}")
    return list(_rows(series, upstream, drafts))


def _rows(series: Series, upstream: Upstream, drafts: Sequence[Draft]) -> Iterator[Row]:
    rows: list[Row] = []
    for at, draft in enumerate(drafts):
        old = LayeredTree(UpstreamTree(upstream), {**contents(result_of(drafts[:at])), **contents(draft.before)})
        row = Row(draft.topic, series.pin.name, draft, old, _below(draft, rows), "")
        if row.sections:
            row = Row(row.topic, row.pin, draft, old, row.below, _key(upstream, row))
            rows.append(row)
            yield row


def _below(draft: Draft, earlier: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows before it that share a file with it, or with one that does."""
    assert draft.former is not None
    paths = {path for one in draft.former.files for path in (one.old_path, one.new_path)}
    found: list[Row] = []
    for row in reversed(earlier):
        if paths.intersection(row.own_paths):
            paths.update(row.paths)
            found.insert(0, row)
    return tuple(found)


def _key(upstream: Upstream, row: Row) -> str:
    digest = hashlib.sha256(upstream.tree.encode())
    for one in (*row.below, row):
        assert one.draft.former is not None
        for section in one.draft.former.files:
            if section.path.startswith(SOURCE_PREFIX):
                digest.update(repr((section.old_path, section.new_path, section.kind, section.hunks)).encode())
    return digest.hexdigest()[:16]
