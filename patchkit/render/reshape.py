"""How `split`, `squash` and `topic` are shown."""

from patchkit.results.reshape import Reshape


def text(result: Reshape) -> str:
    """Return the series before and after, and what was written."""
    if result.plan:
        return result.plan
    verb = "would change" if result.dry_run else "wrote"
    lines = [f"{result.pin}: {', '.join(result.before)}", f"{' ' * len(result.pin)}  -> {', '.join(result.after)}"]
    if result.same_result:
        lines.append("every file ends as before, by blob id")
    lines += [f"{verb} {path}" for path in result.changed]
    lines += [f"note: {note}" for note in result.notes]
    return "\n".join([*lines, f"next: patchkit verify {result.pin}"])
