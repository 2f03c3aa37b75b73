"""How `split`, `squash` and `topic` are shown."""

from patchkit.results.reshape import Reshape


def text(result: Reshape) -> str:
    """Return the series before and after, and what was written."""
    if result.plan:
        return result.plan
    wrote, removed = ("would write", "would remove") if result.dry_run else ("wrote", "removed")
    lines = [f"{result.pin}: {', '.join(result.before)}", f"{' ' * len(result.pin)}  -> {', '.join(result.after)}"]
    if result.same_result:
        lines.append("every file ends as before, by blob id")
    lines += [f"{wrote} {path}" for path in result.changed]
    lines += [f"{removed} {path}" for path in result.removed]
    lines += [f"note: {note}" for note in result.notes]
    return "\n".join([*lines, f"next: patchkit verify {result.pin.replace(',', '')}"])
