"""The releases that the package index serves, as it said it last; kept, so that asking again at once costs nothing."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from patchkit.errors import CommandError
from patchkit.store import replace_file
from patchkit.upstream.access import Access
from patchkit.upstream.index import listed_versions

FRESH = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Listing:
    """What the index said, newest first, and when; None and empty where it never did."""

    versions: tuple[str, ...] = ()
    said: datetime | None = None


def list_releases(access: Access, now: datetime) -> Listing:
    """Return what the index said within the last hour, else what it says now; offline what it said last."""
    kept = _read(access)
    if access.offline or (kept.said is not None and timedelta() <= now - kept.said < FRESH):
        return kept
    versions = listed_versions(access)
    text = json.dumps({"said": now.isoformat(), "versions": versions})
    replace_file(access.cache / "listed.json", text.encode())
    return Listing(tuple(versions), now)


def _read(access: Access) -> Listing:
    try:
        table = json.loads((access.cache / "listed.json").read_bytes())
        return Listing(tuple(table["versions"]), datetime.fromisoformat(table["said"]).astimezone(UTC))
    except FileNotFoundError:
        return Listing()
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise CommandError(
            "the kept list of releases is damaged", where=str(access.cache / "listed.json"), hint="remove the file"
        ) from exc
