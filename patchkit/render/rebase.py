"""rebase as a person reads it, and as the text of the pull request that brings the new pin."""

from patchkit.model import Met
from patchkit.results.rebase import Rebase, RebasedHunk, RebasedTopic
from patchkit.versions import is_version, order

_COUNTED = ("carried", "moved", "shrunk", "dropped", "unresolved", "suspect")
_PLAIN = ("unchanged", "merge")  # carried as git would: not worth a line each


def text(result: Rebase) -> str:
    """Return one line a topic, every hunk that is not simply carried, and the next step."""
    lines = [f"{result.source} -> {result.target}{_direction(result)}: {result.state}"]
    for topic in result.topics:
        lines.append(f"  {topic.topic}: {_counts(topic)}" + (f" ({topic.state})" if topic.state else ""))
        for hunk in topic.hunks:
            if _is_telling(hunk):
                lines += [f"    {_hunk(hunk)}{_at(result, hunk)}", *(f"        {line}" for line in _evidence(hunk))]
        lines += [f"    edited by hand beyond its conflicts: {path}" for path in topic.edited]
    lines += [f"  until: {line}" for line in _until(result)]
    if result.written:
        lines.append(f"written: {result.written}")
    if result.work:
        lines.append(f"settle the files in {result.work}; what is open: {result.work.rpartition('/')[0]}/CONFLICTS.md")
    if result.next_step:
        lines.append(f"next: {result.next_step}")
    return "\n".join(lines)


def _direction(result: Rebase) -> str:
    """Return a word of warning where the release is an older one."""
    ends = result.source, result.target
    return " (an older release)" if all(map(is_version, ends)) and order(ends[1]) < order(ends[0]) else ""


def _until(result: Rebase) -> list[str]:
    """Return what a person must know of each topic's end: it has come, or nobody recorded whether it has."""
    return [
        f"{verdict.topic}: {verdict.until}: {verdict.met.value} at {result.target} ({verdict.evidence})"
        for verdict in result.until
        if verdict.met is not Met.NO
    ]


def markdown(result: Rebase) -> str:
    """Return the text for the pull request: what a reviewer must look at first, then the rest in numbers."""
    lines = [f"## Series carried from {result.source} to {result.target}{_direction(result)}", ""]
    lines += ["| topic | " + " | ".join(_COUNTED) + " |", "|---|" + "---|" * len(_COUNTED)]
    for topic in result.topics:
        numbers = " | ".join(str(topic.counts.get(name, 0)) for name in _COUNTED)
        lines.append(f"| {topic.topic}{_shown_state(topic)} | {numbers} |")
    if until := _until(result):
        lines += ["", "### To be dropped?", "", *(f"- {line}" for line in until)]
    for title, chosen in _SECTIONS:
        found = [(topic.topic, hunk) for topic in result.topics for hunk in topic.hunks if _section(hunk) == chosen]
        if found:
            lines += ["", f"### {title}", ""]
            for name, hunk in found:
                where = _since(result, hunk) if chosen == "upstreamed" else _at(result, hunk)
                lines.append(
                    f"- `{hunk.path}#{hunk.number}` ({name}{_scope(hunk)}{where}): {'; '.join(_evidence(hunk))}"
                )
    edited = [f"- `{path}` ({topic.topic})" for topic in result.topics for path in topic.edited]
    if edited:
        lines += ["", "### Edited by hand beyond the conflicts: read these", "", *edited]
    return "\n".join(lines)


_SECTIONS = (
    ("Unresolved", "unresolved"),
    ("Suspect: read these", "suspect"),
    ("Suspect, but read and accepted", "accepted"),
    ("By hand", "by hand"),
    ("Left out by hand", "left out"),
    ("From the ledger or a resolver", "recorded"),
    ("Dropped: upstream has it", "upstreamed"),
    ("Dropped: nothing needs it any more", "dropped"),
    ("Shrunk: upstream has a part", "shrunk"),
    ("Moved", "moved"),
    ("Merged beside upstream's change", "merged"),
)


def _section(hunk: RebasedHunk) -> str:
    if hunk.action == "unresolved":
        return "unresolved"
    if hunk.suspect:
        return "suspect"
    if hunk.accepted:
        return "accepted"
    if hunk.stage == "by hand":
        return "left out" if hunk.action == "dropped" else "by hand"
    if hunk.stage in {"ledger", "resolver"}:
        return "recorded"
    if hunk.action == "dropped":
        return "upstreamed" if hunk.stage == "upstreamed" else "dropped"
    if hunk.action in {"shrunk", "moved"}:
        return hunk.action
    return "" if hunk.stage in _PLAIN else "merged"


def _is_telling(hunk: RebasedHunk) -> bool:
    return hunk.suspect or bool(hunk.accepted) or hunk.action != "carried" or hunk.stage not in _PLAIN


def _hunk(hunk: RebasedHunk) -> str:
    to = f" -> {hunk.to}" if hunk.action == "moved" else ""
    mark = "  SUSPECT" if hunk.suspect else ""
    by = f" ({hunk.stage})" if hunk.stage else ""
    return f"{hunk.action}{by} {hunk.path}#{hunk.number}{to}{_scope(hunk)}{mark}"


def _at(result: Rebase, hunk: RebasedHunk) -> str:
    """Return at which release between it was so."""
    return f", at {hunk.at}" if hunk.at not in {"", result.target} else ""


def _since(result: Rebase, hunk: RebasedHunk) -> str:
    """Return which release has what a hunk brought, and the last one looked at that has it not."""
    before = result.before(hunk.at)
    return f", in {hunk.at}, not in {before}" if before else ""


def _evidence(hunk: RebasedHunk) -> list[str]:
    return [*hunk.evidence, *([hunk.accepted] if hunk.accepted else [])]


def _scope(hunk: RebasedHunk) -> str:
    return f", {hunk.scope}" if hunk.scope else ""


def _shown_state(topic: RebasedTopic) -> str:
    return f" ({topic.state})" if topic.state and topic.state != "carried" else ""


def _counts(topic: RebasedTopic) -> str:
    return ", ".join(f"{topic.counts[name]} {name}" for name in _COUNTED if topic.counts.get(name)) or "no hunks"
