"""`run`, the main job: apply, verify, build and smoke --control of one pin, in this order."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from patchkit.errors import PatchkitError
from patchkit.results import Build, Failure, Result, Run, Smoke, Step, Verify
from patchkit.store import chosen_pin, read_pin
from patchkit.upstream import Access, bring_pin
from patchkit.verbs.apply import Wish, apply_series
from patchkit.verbs.build import build_images
from patchkit.verbs.smoke import run_smoke
from patchkit.verbs.verify import verify_pins


@dataclass(slots=True)
class _Job:
    """The main job on its way. failure: what stopped it, to be told after the table."""

    pin: str
    progress: Callable[[str], None]
    steps: list[Step] = field(default_factory=list)
    failure: Failure | Result | None = None
    failed_with: int = 0

    def do(self, name: str, work: Callable[[], tuple[Result | None, str]]) -> Result | None:
        """Do one step unless an earlier one failed; keep its time and what it showed."""
        if self.failed_with:
            return None
        self.progress(f"{name} {self.pin}")
        started = time.monotonic()
        result: Result | None = None
        try:
            result, note = work()
            code = result.exit_code if result else 0
        except PatchkitError as error:
            note, code = error.what, error.exit_code
            self.failure = Failure(error.what, error.where, error.found, error.kept, error.hint)
        self.steps.append(Step(name, not code, time.monotonic() - started, note))
        if code:
            self.failed_with = code
            self.failure = self.failure or result
            return None
        return result


def run_main_job(root: Path, pin: str | None, access: Access, *, engine: str = "auto") -> Run:
    """Do the main job for a pin (default: the latest) and return what each step showed.

    A step that fails ends the job; its exit code becomes the job's.
    """
    name = chosen_pin(root, pin)
    job = _Job(name, access.progress)
    job.do("upstream", lambda: (None, _bring(root, name, access)))
    job.do("apply", lambda: (None, _apply(root, name, access)))
    job.do("verify", lambda: _verify(root, name, access))
    built = job.do("build", lambda: _build(root, name, access, engine))
    chosen = built.images[0].engine if isinstance(built, Build) else engine
    job.do("smoke", lambda: _smoke(root, name, access, chosen))
    return Run(
        pin=name,
        engine=chosen,
        steps=tuple(job.steps),
        artifact=built.images[0].image if isinstance(built, Build) else "",
        failed_with=job.failed_with,
        failure=job.failure,
        next_step=_next_step(job, name, chosen),
    )


def _bring(root: Path, name: str, access: Access) -> str:
    upstream = bring_pin(read_pin(root, name), access)
    return f"sglang {upstream.version}, tree {upstream.tree[:12]}, as pinned"


def _apply(root: Path, name: str, access: Access) -> str:
    """Apply the series to a pristine checkout, apply it again, and take it out again."""
    with tempfile.TemporaryDirectory(prefix="patchkit-") as folder:
        checkout = Path(folder)
        upstream = bring_pin(read_pin(root, name), access)
        upstream.write_to(checkout)
        applied = apply_series(checkout, root, name, Wish())
        again = apply_series(checkout, root, name, Wish())
        back = apply_series(checkout, root, name, Wish(reverse=True))
    assert not again.files, "applied twice, changed twice"
    assert len(back.files) == len(applied.files), "not all was taken out again"
    return f"{applied.hunks} hunks in {len(applied.files)} files, no offset, again and back"


def _verify(root: Path, name: str, access: Access) -> tuple[Verify, str]:
    result = verify_pins(root, [name], access)
    findings = sum(len(subject.findings) for subject in result.subjects)
    note = f"{findings} findings" if findings else "every rule holds"
    return result, note


def _build(root: Path, name: str, access: Access, engine: str) -> tuple[Build, str]:
    result = build_images(root, [name], access, engine=engine)
    image = result.images[0]
    return result, f"{image.engine}: {image.tag}"


def _smoke(root: Path, name: str, access: Access, engine: str) -> tuple[Smoke, str]:
    result = run_smoke(root, name, access, engine=engine, control=True)
    good = sum(not verdict.problem for verdict in result.tests)
    return result, f"{good} of {len(result.tests)} tests as they must be, without and with the patch"


def _next_step(job: _Job, name: str, engine: str) -> str:
    if not job.failed_with:
        return f"patchkit apply CHECKOUT, or ship {name}: patchkit bump, then patchkit build {name}"
    step = job.steps[-1].name
    again = {
        "upstream": "patchkit doctor",
        "apply": f"patchkit verify {name}",
        "verify": f"patchkit verify {name}",
        "build": f"patchkit build {name} --engine {engine} --verbose",
        "smoke": f"patchkit smoke {name} --engine {engine} --control",
    }
    return again[step]
