"""How `why` is shown."""

from patchkit.counting import count
from patchkit.results.why import Why, WhyHunk


def text(result: Why) -> str:
    """Return the line and what brought it, or each hunk of the file."""
    if not result.line:
        lines = [f"{result.path} at {result.pin}: {count(len(result.hunks), 'hunk')}"]
        return "\n".join([*lines, *(_block(hunk) for hunk in result.hunks)])
    head = f"{result.path}:{result.line} at {result.pin}: {result.text.strip()}"
    if result.upstream_line:
        near = [f"  lines were removed here by {hunk.topic} ({_where(hunk)})" for hunk in result.hunks]
        return "\n".join([head, f"  upstream's own line (line {result.upstream_line} of the pin)", *near])
    return "\n".join([head, *(_block(hunk) for hunk in result.hunks)])


def _block(hunk: WhyHunk) -> str:
    scope = f", {hunk.scope}" if hunk.scope else ""
    lines = [f"  {hunk.topic}: {hunk.title}", f"    hunk:     {hunk.hunk} ({_where(hunk)}), line {hunk.line}{scope}"]
    if hunk.why:
        lines.append(f"    fault:    {hunk.why}")
    lines.append(f"    upstream: {', '.join(hunk.upstream) or 'nothing is named'}")
    return "\n".join(lines)


def _where(hunk: WhyHunk) -> str:
    return f"{hunk.patch_file}:{hunk.patch_line}"
