"""How `apply` is shown."""

from patchkit.applied import Applied


def text(result: Applied) -> str:
    """Return what was done, what was found, and each hunk that is not where the patch says."""
    lines = [result.recovered] if result.recovered else []
    lines.append(f"{_headline(result)}: {result.label}, {_contents(result)}")
    lines += [f"  {name} at an offset of {offset:+d}" for name, offset in result.offsets.items()]
    if result.files and not result.dry_run:
        lines.append(
            f"  {len(result.files)} files changed, each proven by its blob id; it was {result.verdict.value} before"
        )
    return "\n".join(lines)


def _headline(result: Applied) -> str:
    done = "taken out" if result.reverse else "applied"
    if result.files:
        return f"would be {done}" if result.dry_run else done
    return f"already {'pristine' if result.reverse else 'applied'}"


def _contents(result: Applied) -> str:
    inside = f"{len(result.topics)} of {len(result.series)} topics in"
    return f"{inside}, {result.hunks} hunks" if result.files and result.hunks else inside
