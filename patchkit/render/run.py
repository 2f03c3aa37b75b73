"""How `run` is shown."""

from patchkit.errors import PatchkitError
from patchkit.render import render_error, render_text, table
from patchkit.results.run import Failure, Job, Run


def text(result: Run) -> str:
    """Return a table for each pin, and one line a pin at the end when there are several."""
    parts = [_job(job) for job in result.jobs]
    if len(result.jobs) > 1:
        rows = [(job.pin, _state(job), job.engine, _total(job)) for job in result.jobs]
        parts.append(table([("pin", "", "engine", "time"), *rows]))
    return "\n\n".join(parts)


def _job(job: Job) -> str:
    """Return one line a step, what failed in full, the artifact, and the next step."""
    rows = [("step", "", "time", "shown")]
    rows += [(step.name, "ok" if step.ok else "FAILED", f"{step.seconds:.1f} s", step.note) for step in job.steps]
    parts = [table(rows)]
    if isinstance(job.failure, Failure):
        failure = job.failure
        error = PatchkitError(
            failure.what, where=failure.where, found=failure.found, kept=failure.kept, hint=failure.hint
        )
        parts.append(render_error(error))
    elif job.failure is not None:
        parts.append(render_text(job.failure))
    facts = [("pin", job.pin), ("engine", job.engine)]
    if job.artifact:
        facts.append(("image" if job.engine != "venv" else "folder", job.artifact))
    facts.append(("next", job.next_step))
    parts.append(table(facts))
    return "\n\n".join(parts)


def _state(job: Job) -> str:
    return f"FAILED with {job.failed_with}" if job.failed_with else "ok"


def _total(job: Job) -> str:
    return f"{sum(step.seconds for step in job.steps):.1f} s"
