"""`run`, the main job: apply, verify, build and smoke --control of one pin, in this order."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patchkit.counting import count
from patchkit.errors import PatchkitError
from patchkit.render.json import text as render_json
from patchkit.results.build import Build
from patchkit.results.run import Failure, Job, Run, Step
from patchkit.results.smoke import Smoke
from patchkit.results.verify import Verify
from patchkit.store import chosen_pin, read_pin, replace_file
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_pin
from patchkit.verbs.apply import Wish, apply_series
from patchkit.verbs.build import build_images
from patchkit.verbs.smoke import run_smoke
from patchkit.verbs.verify import verify_pins


@dataclass(slots=True)
class _Way:
    """The main job of one pin on its way. evidence: where each step's JSON document goes; None: nowhere."""

    pin: str
    progress: Callable[[str], None]
    evidence: Path | None
    steps: list[Step] = field(default_factory=list)
    failure: Failure | Verify | Smoke | None = None
    failed_with: int = 0

    def do(self, name: str, work: Callable[[], tuple[Verify | Build | Smoke | None, str]]) -> Build | None:
        """Do one step unless an earlier one failed; keep its time, what it showed and its document."""
        if self.failed_with:
            return None
        self.progress(f"{name} {self.pin}")
        started = time.monotonic()
        result: Verify | Build | Smoke | None = None
        try:
            result, note = work()
            code = result.exit_code if result else 0
        except PatchkitError as error:
            note, code = error.what, error.exit_code
            self.failure = Failure(error.what, error.where, error.found, error.kept, error.hint)
        self.steps.append(Step(name, not code, time.monotonic() - started, note))
        self.failed_with = code
        if result and self.evidence:
            replace_file(self.evidence / f"{name}-{self.pin}.json", render_json(result).encode() + b"\n")
        if code and not isinstance(result, Build):
            self.failure = self.failure or result
        return result if isinstance(result, Build) else None


def run_main_job(
    root: Path, pins: Sequence[str], access: Access, *, engine: str = "auto", evidence: Path | None = None
) -> Run:
    """Do the main job for each pin (default: the latest) and return what each step showed.

    A step that fails ends its pin's job; the others go on. evidence: a folder for the JSON documents of the steps.
    """
    names = [chosen_pin(root, pin) for pin in pins] or [chosen_pin(root, None)]
    if evidence:
        evidence.mkdir(parents=True, exist_ok=True)
    return Run(tuple(_run_pin(root, name, access, engine, evidence) for name in names))


def _run_pin(root: Path, name: str, access: Access, engine: str, evidence: Path | None) -> Job:
    way = _Way(name, access.progress, evidence)
    way.do("upstream", lambda: (None, _bring(root, name, access)))
    way.do("apply", lambda: (None, _apply(root, name, access)))
    way.do("verify", lambda: _verify(root, name, access))
    built = way.do("build", lambda: _build(root, name, access, engine))
    chosen = built.images[0].engine if built else engine
    way.do("smoke", lambda: _smoke(root, name, access, chosen))
    return Job(
        pin=name,
        engine=chosen,
        steps=tuple(way.steps),
        artifact=built.images[0].image if built else "",
        failed_with=way.failed_with,
        failure=way.failure,
        next_step=_next_step(way, name, chosen),
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
    hunks, files = count(applied.hunks, "hunk"), count(len(applied.files), "file")
    return f"{hunks} of the topics in {files}, no offset, again and back"


def _verify(root: Path, name: str, access: Access) -> tuple[Verify, str]:
    result = verify_pins(root, [name], access)
    findings = sum(len(subject.findings) for subject in result.subjects)
    note = count(findings, "finding") if findings else "every rule holds"
    return result, note


def _build(root: Path, name: str, access: Access, engine: str) -> tuple[Build, str]:
    result = build_images(root, [name], access, engine=engine)
    image = result.images[0]
    return result, f"{image.engine}: {image.tag}"


def _smoke(root: Path, name: str, access: Access, engine: str) -> tuple[Smoke, str]:
    result = run_smoke(root, name, access, engine=engine, control=True)
    good = sum(not verdict.problem for verdict in result.tests)
    return result, f"{good} of {len(result.tests)} tests as they must be, without and with the patch"


def _next_step(way: _Way, name: str, engine: str) -> str:
    if not way.failed_with:
        return f"patchkit apply CHECKOUT, or ship {name}: patchkit bump, then patchkit build {name}"
    step = way.steps[-1].name
    again = {
        "upstream": "patchkit doctor",
        "apply": f"patchkit verify {name}",
        "verify": f"patchkit verify {name}",
        "build": f"patchkit build {name} --engine {engine} --verbose",
        "smoke": f"patchkit smoke {name} --engine {engine} --control",
    }
    return again[step]
