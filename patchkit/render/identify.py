"""How `identify` is shown."""

from patchkit.counting import count
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


def _beside(result: Identify) -> str:
    strays = count(len(result.strays), "other file is", "other files are")
    return f"; {strays} not the release's" if result.strays else "; every other file is the release's"


def _verdict(result: Identify) -> str:
    if not result.version:
        return f"no blob of it is in any of the {result.looked_at} releases that were looked at"
    if result.series:
        topics = ", ".join(result.topics)
        return f"v{result.version} with the series {result.series} applied (topics {topics}){_beside(result)}"
    if result.same == result.blobs:
        return f"release v{result.version}, all of its {count(result.blobs, 'blob')}"
    kind = "mixed, per file; nearest" if result.mixed else "nearest"
    return f"{kind} v{result.version}, {result.same} of {result.blobs} blobs"
