"""How `run` is shown."""

from patchkit.errors import PatchkitError
from patchkit.render import render_error, render_text, table
from patchkit.results import Failure, Run


def text(result: Run) -> str:
    """Return one line a step, what failed in full, the artifact, and the next step."""
    rows = [("step", "", "time", "shown")]
    rows += [(step.name, "ok" if step.ok else "FAILED", f"{step.seconds:.1f} s", step.note) for step in result.steps]
    parts = [table(rows)]
    if isinstance(result.failure, Failure):
        failure = result.failure
        error = PatchkitError(
            failure.what, where=failure.where, found=failure.found, kept=failure.kept, hint=failure.hint
        )
        parts.append(render_error(error))
    elif result.failure is not None:
        parts.append(render_text(result.failure))
    facts = [("pin", result.pin), ("engine", result.engine)]
    if result.artifact:
        facts.append(("image" if result.engine != "venv" else "folder", result.artifact))
    facts.append(("next", result.next_step))
    parts.append(table(facts))
    return "\n\n".join(parts)
