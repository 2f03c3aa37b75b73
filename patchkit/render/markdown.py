"""verify as Markdown, for a pull request or a step summary."""

from patchkit.model import Finding
from patchkit.results.verify import Verified, Verify


def text(result: Verify) -> str:
    """Return one table of series and, where there is any, one of findings and one of accepted ones."""
    parts = ["## patchkit verify\n", "| series | topics | hunks | files | errors | warnings | accepted | seconds |"]
    parts += ["|---|--:|--:|--:|--:|--:|--:|--:|", *map(_row, result.subjects)]
    findings = [(subject.name, finding) for subject in result.subjects for finding in subject.findings]
    if findings:
        parts += ["\n### Findings\n", "| rule | series | where | what | what to do |", "|---|---|---|---|---|"]
        parts += [_finding(name, finding) for name, finding in findings]
    accepted = [(subject.name, each) for subject in result.subjects for each in subject.accepted]
    if accepted:
        parts += ["\n### Accepted\n", "| rule | series | what | reason | until |", "|---|---|---|---|---|"]
        parts += [
            f"| {each.finding.rule} | {name} | {_cell(each.finding.message)} | {_cell(each.reason)} | {each.until} |"
            for name, each in accepted
        ]
    not_run = [f"- {name}: {_cell(reason)}" for name, reason in _not_run(result)]
    return "\n".join([*parts, *(["\n### Not looked at\n", *not_run] if not_run else [])])


def _not_run(result: Verify) -> list[tuple[str, str]]:
    return [(subject.name, reason) for subject in result.subjects for reason in subject.not_run]


def _row(subject: Verified) -> str:
    counts = [
        len(subject.topics),
        subject.hunks,
        subject.files,
        subject.errors,
        subject.warnings,
        len(subject.accepted),
    ]
    return f"| {subject.name} | {' | '.join(map(str, counts))} | {subject.seconds:.2f} |"


def _finding(name: str, finding: Finding) -> str:
    patch = f"{finding.patch_file}:{finding.patch_line}" if finding.patch_line else finding.patch_file
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    where = "<br>".join(f"`{_cell(each)}`" for each in (patch, place, finding.scope) if each)
    what = "<br>".join(_cell(each) for each in (finding.message, finding.found) if each)
    return f"| {finding.rule} ({finding.severity}) | {name} | {where} | {what} | {_cell(finding.hint)} |"


def _cell(words: str) -> str:
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
