"""How `identify` is shown."""

from patchkit.results.identify import Identify

_SHOWN = 20


def text(result: Identify) -> str:
    """Return the release in one line, then each file that is not its own."""
    lines = [f"{result.path}: {_verdict(result)}"]
    if result.ties:
        lines.append(f"  fits as well: {', '.join(f'v{version}' for version in result.ties)}")
    for stray in result.strays[:_SHOWN]:
        of = ", ".join(f"v{version}" for version in stray.versions) or "of no release that was looked at"
        lines.append(f"  {stray.path}: {of}")
    if len(result.strays) > _SHOWN:
        lines.append(f"  ... and {len(result.strays) - _SHOWN} more files (--json lists all)")
    lines += [f"  note: {note}" for note in result.notes]
    return "\n".join(lines)


def _verdict(result: Identify) -> str:
    if not result.version:
        return f"no blob of it is in any of the {result.looked_at} releases that were looked at"
    if result.same == result.blobs:
        return f"release v{result.version}, all {result.blobs} blobs"
    kind = "mixed, per file; nearest" if result.mixed else "nearest"
    return f"{kind} v{result.version}, {result.same} of {result.blobs} blobs"
