"""What a night leaves behind: its folder, the outputs of the CI system, a call to the hook."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from patchkit.counting import count
from patchkit.errors import CommandError, ConfigError, ConflictError, VerifyError
from patchkit.nightly.machine import REPORT
from patchkit.nightly.state import Failure, Night, StepName
from patchkit.process import run
from patchkit.render.json import text as render_json
from patchkit.render.nightly import headline, markdown, title
from patchkit.results.nightly import Nightly
from patchkit.results.rebase import RebasedHunk
from patchkit.results.run import Step
from patchkit.store import replace_file

_HOOK_TIMEOUT_S = 60.0
SMOKE_JUNIT = "smoke.xml"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the CI system wants to be told. hook: a shell command, or empty."""

    output: Path | None = None
    summary: Path | None = None
    hook: str = ""


def result_of(night: Night, folder: Path) -> Nightly:
    """Return the night as the record that is shown."""
    failure = {key: str(value) for key, value in asdict(night.failure).items()} if night.failure else {}
    failed_with = int(failure.pop("exit_code", 0))
    merge = (
        f"git merge {night.branch}"
        if not night.push
        else f"open a pull request from {night.branch}: pr-title.txt, pr-body.md"
    )
    return Nightly(
        outcome="failed" if night.failure else "published",
        reason=night.reason,
        tag=night.tag,
        pin_from=night.pin_from,
        pin_to=night.pin_to,
        branch=night.branch,
        commit=night.commit,
        steps=tuple(Step(step.name.value, step.failure is None, step.seconds, step.note) for step in night.steps),
        failed_with=failed_with,
        failure=failure,
        folder=str(folder),
        notes=(*night.notes, *_left(night)),
        next_step=merge if night.published else _after_failure(night.failure),
    )


def what_is_open(hunks: Sequence[RebasedHunk], pin: str) -> tuple[str, str]:
    """Return what stopped the rebase at a topic, and the command that goes on from there."""
    unresolved = sum(hunk.action == "unresolved" for hunk in hunks)
    suspects = count(sum(hunk.suspect for hunk in hunks), "suspect hunk")
    by_hand = f"patchkit rebase --onto {pin}"
    if unresolved:
        also = f", and read {suspects}" if any(hunk.suspect for hunk in hunks) else ""
        note = f"a person must settle {count(unresolved, 'hunk')}{also}"
        return note, f"{by_hand}  # settle, --continue, commit patches/, then: patchkit nightly"
    return f"a person must read {suspects}", f"patchkit nightly --accept-suspects  # or look first: {by_hand}"


def _left(night: Night) -> tuple[str, ...]:
    """Return what a failed night has left outside of its folder: the image, which --resume goes on with."""
    if not (night.failure and night.leftover):
        return ()
    return (f"its image stays for --resume; to remove it: {night.leftover}",)


def _after_failure(failure: Failure | None) -> str:
    """Return what helps. What a person must change first fails again as it is, and a resumed night sees no change."""
    by_hand = (ConfigError.exit_code, ConflictError.exit_code, VerifyError.exit_code)
    if failure is None or failure.exit_code not in by_hand:
        return "patchkit nightly --resume"
    return failure.hint if failure.hint and failure.exit_code != ConfigError.exit_code else "patchkit nightly"


def write_report(result: Nightly, folder: Path) -> None:
    """Write the report, the text of the pull request, the JUnit file and the step summary."""
    blocks = {name.value: (folder / f"{name}.md").read_text() for name in StepName if (folder / f"{name}.md").is_file()}
    body = markdown(result, blocks)
    for file, content in {
        "pr-title.txt": (title(result) + "\n").encode(),
        "pr-body.md": body.encode(),
        "summary.md": f"# {title(result)}\n\n{body}".encode(),
        "junit.xml": _junit(result, folder / SMOKE_JUNIT),
        REPORT: (render_json(result) + "\n").encode(),
    }.items():
        replace_file(folder / file, content)


def tell(result: Nightly, surroundings: Surroundings) -> str:
    """Write the CI system's outputs and call the hook; return what went wrong with the hook, or nothing.

    The hook gets the report on stdin, and PATCHKIT_OUTCOME, PATCHKIT_TAG, PATCHKIT_HEADLINE and PATCHKIT_FOLDER.
    A notification that fails changes nothing about the night.
    """
    if surroundings.output:
        _append(surroundings.output, "".join(f"{key}={_line(value)}\n" for key, value in outputs(result).items()))
    if surroundings.summary:
        summary = Path(result.folder, "summary.md") if result.folder else None
        _append(surroundings.summary, summary.read_text() if summary else headline(result) + "\n")
    if not surroundings.hook:
        return ""
    told = {key: outputs(result)[key] for key in ("outcome", "tag", "folder")} | {"headline": headline(result)}
    try:
        run(
            ["sh", "-c", surroundings.hook],
            cwd=Path.cwd(),
            timeout_s=_HOOK_TIMEOUT_S,
            stdin=render_json(result).encode(),
            env={f"PATCHKIT_{key.upper()}": _line(value) for key, value in told.items()},
        )
    except CommandError as exc:
        return f"the hook failed: {exc.what}" + (f": {exc.found}" if exc.found else "")
    return ""


def outputs(result: Nightly) -> dict[str, str]:
    """Return what $GITHUB_OUTPUT is given."""
    return {
        "outcome": result.outcome,
        "tag": result.tag,
        "pin": result.pin_to,
        "from": result.pin_from,
        "branch": result.branch,
        "commit": result.commit,
        "title": title(result) if result.folder else "",
        "folder": result.folder,
        "exit-code": str(result.exit_code),
    }


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as exc:
        raise CommandError("cannot write the outputs for the CI system", where=str(path), found=str(exc)) from exc


def _line(text: str) -> str:
    return " ".join(text.split())


def _junit(result: Nightly, smoke: Path) -> bytes:
    """Return the steps as test cases, and the smoke tests' own results after them."""
    suites = ET.Element("testsuites")
    failures = sum(not step.ok for step in result.steps)
    suite = ET.SubElement(suites, "testsuite", name="nightly", tests=str(len(result.steps)), failures=str(failures))
    for step in result.steps:
        case = ET.SubElement(suite, "testcase", classname="nightly", name=step.name, time=f"{step.seconds:.3f}")
        if not step.ok:
            told = ET.SubElement(case, "failure", message=result.failure.get("what", step.note))
            told.text = "\n".join(f"{name}: {value}" for name, value in result.failure.items() if value)
    if smoke.is_file():
        suites.extend(ET.fromstring(smoke.read_bytes()).iter("testsuite"))
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document
