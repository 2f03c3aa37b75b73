"""diff as a person reads it, and as Markdown."""

from collections import Counter

from patchkit.results.diff import Diff

_MARKS = {"unchanged": "=", "refreshed": "~", "edited": "!", "new": "+", "gone": "-", "dropped": "x"}


def text(result: Diff) -> str:
    """Return the counts, and a line for each hunk that is more than refreshed."""
    lines = [f"{result.old} -> {result.new}: {_counts(result)}"]
    for hunk in result.hunks:
        if hunk.change not in {"unchanged", "refreshed"}:
            topic = f"{hunk.topic}: " if hunk.topic else ""
            was = f" (was {hunk.old})" if hunk.old and hunk.new and hunk.old != hunk.new else ""
            lines.append(f"  {_MARKS[hunk.change]} {topic}{hunk.new or hunk.old}{was}  {hunk.section}".rstrip())
            lines += [f"      {hunk.reason}"] if hunk.reason else []
    return "\n".join(lines)


def markdown(result: Diff) -> str:
    """Return the same as a table."""
    lines = [
        f"{result.old} to {result.new}: {_counts(result)}",
        "",
        "| topic | hunk | change | why |",
        "|---|---|---|---|",
    ]
    for hunk in result.hunks:
        reason = hunk.reason.replace("|", "\\|")
        lines.append(f"| {hunk.topic} | `{hunk.new or hunk.old}` | {hunk.change} | {reason} |")
    return "\n".join(lines)


def _counts(result: Diff) -> str:
    counts = Counter(hunk.change for hunk in result.hunks)
    return ", ".join(f"{counts[name]} {name}" for name in _MARKS if counts[name]) or "no hunks"
