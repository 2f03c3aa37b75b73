"""verify as SARIF 2.1.0, for code scanning: one result a finding, its region in the patch file."""

import hashlib
import json
import re
from typing import Any

from patchkit import __version__
from patchkit.model import Finding, Severity
from patchkit.results.verify import Accepted, Verify
from patchkit.rules.explained import CATALOG

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def text(result: Verify) -> str:
    """Return the log; accepted findings are in it as suppressed."""
    results = [_result(finding) for subject in result.subjects for finding in subject.findings]
    results += [_suppressed(each) for subject in result.subjects for each in subject.accepted]
    run = {
        "tool": {"driver": {"name": "patchkit", "version": __version__, "rules": [_rule(name) for name in CATALOG]}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(name: str) -> dict[str, Any]:
    rule = CATALOG[name]
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\n\n{rule.mend}"},
    }


def _result(finding: Finding) -> dict[str, Any]:
    details = [finding.message, finding.found, finding.hint and f"hint: {finding.hint}"]
    return {
        "ruleId": finding.rule,
        "ruleIndex": list(CATALOG).index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(each for each in details if each)},
        "locations": [_location(finding)],
        "partialFingerprints": {"patchkit/v1": fingerprint(finding)},
        "properties": {"topic": finding.topic, "path": finding.path, "line": finding.line, "scope": finding.scope},
    }


def _suppressed(accepted: Accepted) -> dict[str, Any]:
    why = f"{accepted.reason} (until {accepted.until})"
    return {
        **_result(accepted.finding),
        "suppressions": [{"kind": "external", "justification": why}],
    }


def _location(finding: Finding) -> dict[str, Any]:
    """Return the place in the repository: the patch file, or the file of the store that the finding is about."""
    line = finding.patch_line if finding.patch_file else finding.line
    place: dict[str, Any] = {"artifactLocation": {"uri": finding.patch_file or finding.path or "patches"}}
    if line:
        place["region"] = {"startLine": line}
    location: dict[str, Any] = {"physicalLocation": place}
    if finding.scope:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.scope}]
    return location


def fingerprint(finding: Finding) -> str:
    """Return what stays the same when lines move: rule, topic, files, scope, and the message without its numbers."""
    words = [finding.rule, finding.topic, finding.patch_file, finding.path, finding.scope]
    message = re.sub(r"[0-9]+", "0", finding.message)
    return hashlib.sha256("\0".join([*words, message]).encode("utf-8", "surrogateescape")).hexdigest()[:32]
