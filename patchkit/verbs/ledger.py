"""`ledger`: list the recorded resolutions, or remove one."""

from pathlib import Path

from patchkit.ledger import drop_entry, read_ledger
from patchkit.results.ledger import Ledger, Resolution


def show_ledger(root: Path, *, drop: str | None = None) -> Ledger:
    """Return the resolutions that are recorded, after removing the one that is named."""
    if drop is not None:
        drop_entry(root, drop)
    entries = [
        Resolution(one.name, one.path, one.scope, one.topic, one.onto, one.by, one.when, one.why)
        for one in read_ledger(root)
    ]
    return Ledger(tuple(entries), dropped=drop or "")
