"""verify as GitHub workflow commands: one annotation a finding, on the line of the patch file."""

from patchkit.model import Finding, Severity
from patchkit.results.verify import Accepted, Verify

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def text(result: Verify) -> str:
    """Return the annotations, errors first: GitHub shows ten of each level and step."""
    findings = [finding for subject in result.subjects for finding in subject.findings]
    accepted = [_accepted(each) for subject in result.subjects for each in subject.accepted]
    ordered = sorted(findings, key=lambda finding: list(_LEVELS).index(finding.severity))
    return "\n".join([*map(_annotation, ordered), *accepted])


def _annotation(finding: Finding) -> str:
    file, line = (finding.patch_file, finding.patch_line) if finding.patch_file else (finding.path, finding.line)
    place = f"{finding.path}:{finding.line}, {finding.scope}" if finding.scope else finding.path
    details = [finding.message, f"where: {place}", finding.found, finding.hint and f"hint: {finding.hint}"]
    properties = {"file": file, "line": str(line) if line else "", "title": f"{finding.rule} {finding.topic}".strip()}
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{_LEVELS[finding.severity]} {shown}::{_message(chr(10).join(each for each in details if each))}"


def _accepted(accepted: Accepted) -> str:
    title = _property(f"{accepted.finding.rule} accepted until {accepted.until}")
    return f"::notice title={title}::{_message(accepted.finding.message)}%0A{_message(accepted.reason)}"


def _message(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _message(words).replace(":", "%3A").replace(",", "%2C")
