"""verify as a person reads it."""

from patchkit.counting import count
from patchkit.model import Finding, Severity
from patchkit.render import printable
from patchkit.results.verify import Accepted, Verified, Verify

_SIGNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def text(result: Verify) -> str:
    """Return every finding with what it takes to act, then one line a series."""
    blocks = [block(finding) for subject in result.subjects for finding in subject.findings]
    blocks += [accepted_block(each) for subject in result.subjects for each in subject.accepted]
    return printable("\n".join([*blocks, *(_summary(subject) for subject in result.subjects)]))


def block(finding: Finding) -> str:
    """Return one finding: what is wrong, then what it takes to act."""
    lines = [f"{_SIGNS[finding.severity]}: {finding.rule} {finding.message}"]
    lines += [f"  {name + ':':<6} {value}" for name, value in _fields(finding) if value]
    return "\n".join(lines)


def _fields(finding: Finding) -> list[tuple[str, str]]:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    scope = f", {finding.scope}" if finding.scope else ""
    patch = f"{finding.patch_file}:{finding.patch_line}" if finding.patch_line else finding.patch_file
    return [("where", place + scope), ("patch", patch), ("found", finding.found), ("hint", finding.hint)]


def accepted_block(accepted: Accepted) -> str:
    """Return one accepted finding with its reason."""
    finding = accepted.finding
    return f"accepted: {finding.rule} {finding.message}\n  until {accepted.until}: {accepted.reason}"


def _summary(subject: Verified) -> str:
    counts = {
        "error": subject.errors,
        "warning": subject.warnings,
        "accepted": len(subject.accepted),
    }
    verdict = ", ".join(
        f"{count} {name}{'s' if count > 1 and name != 'accepted' else ''}" for name, count in counts.items() if count
    )
    topics = count(len(subject.topics), "topic")
    hunks = f", {count(subject.hunks, 'hunk')} in {count(subject.files, 'file')}" if subject.files else ""
    head = f"{subject.name}: {topics}{hunks}"
    lines = [f"{head}: {verdict or 'verified'} ({subject.seconds:.2f} s)"]
    lines += [f"  not run: {reason}" for reason in subject.not_run]
    return "\n".join(lines)
