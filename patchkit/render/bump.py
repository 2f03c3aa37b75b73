"""bump as a person reads it."""

from patchkit.results.bump import Bump


def text(result: Bump) -> str:
    """Return the tag, what it comes after, and the files that name it."""
    lines = [f"{result.tag}  (after {result.previous}; {result.published} published)"]
    lines += [f"  {'would write' if result.dry_run else 'wrote'} {file}" for file in result.files]
    lines += [f"  passed over: {name} is no nightly tag" for name in result.malformed]
    return "\n".join(lines)
