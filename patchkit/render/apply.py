"""How `apply` is shown."""

from patchkit.counting import count
from patchkit.results.apply import Applied


def text(result: Applied) -> str:
    """Return what was done, what was found, and each hunk that is not where the patch says."""
    lines = [result.recovered] if result.recovered else []
    lines.append(f"{_headline(result)}: {result.label}{_contents(result)}")
    lines += [f"  {name} at an offset of {offset:+d}" for name, offset in result.offsets.items()]
    if result.files and not result.dry_run:
        changed = count(len(result.files), "file")
        lines.append(f"  {changed} changed, each proven by its blob id; before: {result.verdict.value}")
    return "\n".join(lines)


def _headline(result: Applied) -> str:
    done = "taken out" if result.reverse else "applied"
    if result.files:
        return f"would be {done}" if result.dry_run else done
    return f"already {'pristine' if result.reverse else 'applied'}"


def _contents(result: Applied) -> str:
    """Return how many topics are in, where there is more than one to count, and the hunks that were placed."""
    topics = f", {len(result.topics)} of {len(result.series)} topics in" if len(result.series) > 1 else ""
    of_topics = " of theirs" if topics else ""
    return topics + (f", {count(result.hunks, 'hunk')}{of_topics}" if result.hunks else "")
