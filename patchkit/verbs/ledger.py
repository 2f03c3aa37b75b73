"""`ledger`: list what persons decided at rebases, or remove one."""

from pathlib import Path

from patchkit.rebasing.ledger import drop_entry, read_accepted, read_ledger
from patchkit.results.ledger import Ledger, Resolution


def show_ledger(root: Path, *, drop: str | None = None) -> Ledger:
    """Return what is recorded, after removing what is named."""
    if drop is not None:
        drop_entry(root, drop)
    entries = [
        Resolution(one.name, one.path, one.scope, one.topic, one.onto, one.by, one.when, one.why)
        for one in read_ledger(root)
    ]
    entries += [
        Resolution(
            name, one.path, f"#{one.number} {one.cause}", one.topic, one.onto, one.by, one.when, one.why, "accepted"
        )
        for name, one in read_accepted(root).items()
    ]
    return Ledger(tuple(entries), dropped=drop or "")
