"""How `smoke` is shown."""

from patchkit.counting import count
from patchkit.model import Outcome, SmokeKind, SmokeVerdict
from patchkit.render import table
from patchkit.results.smoke import Smoke


def text(result: Smoke) -> str:
    """Return one line a test, then what is not as it must be, then the sum."""
    rows = [(verdict.topic, verdict.fault or "-", _name(verdict), _told(verdict)) for verdict in result.tests]
    lines = [table(rows)]
    bad = [verdict for verdict in result.tests if verdict.problem]
    for verdict in bad:
        lines.append(f"error: topic {verdict.topic}, test {_name(verdict)}: {verdict.problem}")
        if verdict.message:
            lines.append(f"  found: {verdict.message[:300]}")
    faults = sum(1 for verdict in result.tests if verdict.kind is SmokeKind.FAULT and not verdict.problem)
    skipped = sum(1 for verdict in result.tests if verdict.with_series is Outcome.SKIPPED)
    tests = count(len(result.tests), "test")
    total = f"{tests} in {result.seconds:.1f} s with {result.engine}: {len(bad)} not as they must be"
    if result.control:
        total += f", {faults} fail without and pass with"
    if result.remembered:
        total += " (without: as in an earlier run of the same tests in the same base; --fresh runs it again)"
    if skipped:
        total += f", {skipped} not run"
    kept = [f"kept: {name}    # {result.engine} rm -f {name}" for name in result.kept]
    return "\n".join([*lines, *kept, f"{result.pin}: {total}"])


def _name(verdict: SmokeVerdict) -> str:
    return verdict.name.rpartition("::")[2]


def _told(verdict: SmokeVerdict) -> str:
    if verdict.problem:
        return verdict.problem
    if verdict.with_series is Outcome.SKIPPED:
        return "not run"
    match verdict.without:
        case None:
            return "passes"
        case Outcome.FAULT:
            return "fails without, passes with"
        case Outcome.OK | Outcome.DRIFT | Outcome.SKIPPED | Outcome.MISSING:
            return "passes on both"
