"""PK81x: findings that pin.toml accepts, each with a reason and an end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from patchkit.model import Finding, Severity


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One `[[accept]]` of a pin.toml: the findings of a rule, narrowed by what else is said.

    until: the last day. path, scope, topic: equal to the finding's. guard: the id that a PK7xx finding names.
    where: the file, for messages.
    """

    rule: str
    reason: str
    until: date
    path: str = ""
    scope: str = ""
    topic: str = ""
    guard: str = ""
    where: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is one of these."""
        return (
            finding.rule == self.rule
            and self.path in ("", finding.path)
            and self.scope in ("", finding.scope)
            and self.topic in ("", finding.topic)
            and (not self.guard or finding.message.startswith(f"guard {self.guard} "))
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings that count, and those that are accepted, each with what accepts it."""

    findings: tuple[Finding, ...]
    accepted: tuple[tuple[Finding, Acceptance], ...]


def judge(findings: Iterable[Finding], acceptances: Sequence[Acceptance], today: date) -> Judged:
    """Part the findings; an acceptance that has ended or that covers nothing is a finding itself."""
    open_findings: list[Finding] = []
    accepted: list[tuple[Finding, Acceptance]] = []
    used: set[int] = set()
    for finding in findings:
        covering = [each for each in acceptances if each.covers(finding)]
        used.update(id(each) for each in covering)
        valid = next((each for each in covering if each.until >= today), None)
        if valid is None:
            open_findings.append(finding)
        else:
            accepted.append((finding, valid))
    for each in acceptances:
        if id(each) not in used:
            open_findings.append(_finding("PK812", Severity.WARNING, each, "covers no finding any more", "delete it"))
        elif each.until < today:
            hint = "mend the finding, or give a new day with the reason"
            open_findings.append(_finding("PK811", Severity.ERROR, each, f"has ended on {each.until}", hint))
    return Judged(tuple(open_findings), tuple(accepted))


def _finding(rule: str, severity: Severity, acceptance: Acceptance, what: str, hint: str) -> Finding:
    return Finding(
        rule, severity, f"the acceptance of {acceptance.rule} {what}", path=acceptance.where,
        found=acceptance.reason, hint=hint,
    )  # fmt: skip
