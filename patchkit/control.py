"""What smoke results prove: each fault fails without the series and passes with it; each regression passes on both.

The results come from JUnit files whose test cases carry the properties topic, kind, fault and outcome.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from patchkit.errors import SmokeError
from patchkit.model import Outcome, SmokeCase, SmokeKind, SmokeVerdict

_MAX_BYTES = 64 << 20


def read_cases(junit: bytes, *, where: str) -> dict[str, SmokeCase]:
    """Return the cases of a JUnit file by name. A file without a case is refused: a run of nothing proves nothing."""
    if len(junit) > _MAX_BYTES or b"<!DOCTYPE" in junit or b"<!ENTITY" in junit:
        raise SmokeError("the JUnit file is not one that pytest writes", where=where)
    try:
        suites = ET.fromstring(junit)
    except ET.ParseError as exc:
        raise SmokeError("the JUnit file is cut off or damaged", where=where, found=str(exc)) from exc
    cases = [_read_case(element) for element in suites.iter("testcase")]
    if not cases:
        raise SmokeError(
            "no smoke test was collected", where=where, hint="a test belongs in patches/smoke/<topic>/test_*.py"
        )
    return {case.name: case for case in cases}


def _read_case(element: ET.Element) -> SmokeCase:
    properties = {found.get("name", ""): found.get("value", "") for found in element.iter("property")}
    failed = next((found for tag in ("failure", "error") if (found := element.find(tag)) is not None), None)
    skipped = element.find("skipped")
    outcome = _outcome(properties.get("outcome", ""), failed=failed is not None, skipped=skipped is not None)
    told = failed if failed is not None else skipped
    kind = properties.get("kind", "")
    return SmokeCase(
        name=f"{element.get('classname', '')}::{element.get('name', '')}",
        topic=properties.get("topic", ""),
        kind=SmokeKind(kind) if kind in [known.value for known in SmokeKind] else SmokeKind.UNKNOWN,
        fault=properties.get("fault", ""),
        outcome=outcome,
        seconds=float(element.get("time") or 0),
        message=" ".join(((told.get("message") or told.text or "") if told is not None else "").split()),
    )


def _outcome(said: str, *, failed: bool, skipped: bool) -> Outcome:
    """Return the outcome that the test recorded if it fits how it ended; anything else is drift, never a pass."""
    if skipped:
        return Outcome.SKIPPED
    if not failed:
        return Outcome.OK if said in ("", Outcome.OK.value) else Outcome.DRIFT
    return Outcome.FAULT if said == Outcome.FAULT.value else Outcome.DRIFT


def judge(patched: Mapping[str, SmokeCase], unpatched: Mapping[str, SmokeCase] | None) -> tuple[SmokeVerdict, ...]:
    """Return a verdict for every case of both runs. unpatched: None when no control run was asked for."""
    names = list(patched) + [name for name in unpatched or () if name not in patched]
    return tuple(_judge(name, patched.get(name), unpatched) for name in names)


def _judge(name: str, patched: SmokeCase | None, unpatched: Mapping[str, SmokeCase] | None) -> SmokeVerdict:
    other = unpatched.get(name) if unpatched is not None else None
    case = patched or other
    assert case is not None
    with_series = patched.outcome if patched else Outcome.MISSING
    without = None if unpatched is None else (other.outcome if other else Outcome.MISSING)
    problem = (
        _problem_with(with_series)
        or ("" if without is None else _problem_without(case.kind, without, with_series))
        or ("it is marked neither fault nor regression" if case.kind is SmokeKind.UNKNOWN else "")
    )
    source = other if problem.startswith("without") and other else case
    return SmokeVerdict(
        name=name,
        topic=case.topic,
        kind=case.kind,
        fault=case.fault,
        with_series=with_series,
        without=without,
        seconds=case.seconds + (other.seconds if other and patched else 0),
        problem=problem,
        message=source.message if problem else "",
    )


def _problem_with(outcome: Outcome) -> str:
    match outcome:
        case Outcome.OK | Outcome.SKIPPED:
            return ""
        case Outcome.FAULT:
            return "with the series the fault is still there"
        case Outcome.DRIFT:
            return "with the series the test does not fit this release"
        case Outcome.MISSING:
            return "with the series it did not run"


def _problem_without(kind: SmokeKind, without: Outcome, with_series: Outcome) -> str:
    match without:
        case Outcome.MISSING:
            return "without the series it did not run"
        case Outcome.DRIFT:
            return "without the series the test does not fit this release: it proves nothing"
        case Outcome.SKIPPED:
            return "" if with_series is Outcome.SKIPPED else "without the series it was skipped: it proves nothing"
        case Outcome.OK:
            passes = "without the series it passes too: it proves nothing"
            return passes if kind is SmokeKind.FAULT else ""
        case Outcome.FAULT:
            return "" if kind is SmokeKind.FAULT else "without the series it fails, but it is not marked as a fault"


def write_junit(verdicts: Sequence[SmokeVerdict], *, suite: str) -> str:
    """Return the verdicts as one JUnit document, a failure each where something is not as it must be."""
    failures = sum(1 for verdict in verdicts if verdict.problem)
    total = sum(verdict.seconds for verdict in verdicts)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites><testsuite name={quoteattr(suite)} tests="{len(verdicts)}" failures="{failures}" errors="0" '
        f'skipped="{sum(1 for v in verdicts if v.with_series is Outcome.SKIPPED)}" time="{total:.3f}">',
    ]
    for verdict in verdicts:
        classname, _, name = verdict.name.rpartition("::")
        lines.append(f'<testcase classname={quoteattr(classname)} name={quoteattr(name)} time="{verdict.seconds:.3f}">')
        lines.append("<properties>")
        for key, value in _properties(verdict).items():
            lines.append(f"<property name={quoteattr(key)} value={quoteattr(value)}/>")
        lines.append("</properties>")
        if verdict.problem:
            lines.append(f"<failure message={quoteattr(f'{verdict.problem}: {verdict.message}')}/>")
        elif verdict.with_series is Outcome.SKIPPED:
            lines.append("<skipped/>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])


def _properties(verdict: SmokeVerdict) -> dict[str, str]:
    found = {"topic": verdict.topic, "kind": verdict.kind.value, "fault": verdict.fault}
    found["with"] = verdict.with_series.value
    return found | ({"without": verdict.without.value} if verdict.without else {})
