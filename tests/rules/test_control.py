"""What a pair of smoke results proves."""

import pytest

from patchkit.control import judge, read_cases, write_junit
from patchkit.errors import SmokeError
from patchkit.model import Outcome, SmokeCase, SmokeKind


def case(kind: SmokeKind, outcome: Outcome) -> SmokeCase:
    return SmokeCase("m::t", "timeouts", kind, "T-1", outcome, 0.1, "message")


FAULT, REGRESSION, UNKNOWN = SmokeKind.FAULT, SmokeKind.REGRESSION, SmokeKind.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "without", "patched", "problem"),
    [
        pytest.param(FAULT, Outcome.FAULT, Outcome.OK, "", id="fails without, passes with"),
        pytest.param(REGRESSION, Outcome.OK, Outcome.OK, "", id="passes on both"),
        pytest.param(FAULT, Outcome.OK, Outcome.OK, "without the series it passes too", id="proves nothing"),
        pytest.param(FAULT, Outcome.DRIFT, Outcome.OK, "does not fit this release", id="drift without"),
        pytest.param(FAULT, Outcome.FAULT, Outcome.FAULT, "the fault is still there", id="not mended"),
        pytest.param(FAULT, Outcome.FAULT, Outcome.DRIFT, "does not fit this release", id="drift with"),
        pytest.param(REGRESSION, Outcome.FAULT, Outcome.OK, "not marked as a fault", id="regression fails without"),
        pytest.param(REGRESSION, Outcome.OK, Outcome.FAULT, "the fault is still there", id="regression broken by us"),
        pytest.param(FAULT, Outcome.SKIPPED, Outcome.OK, "was skipped", id="skipped without"),
        pytest.param(FAULT, Outcome.SKIPPED, Outcome.SKIPPED, "", id="skipped on both: not run"),
        pytest.param(UNKNOWN, Outcome.OK, Outcome.OK, "neither fault nor regression", id="says nothing"),
    ],
)
def test_verdict(kind: SmokeKind, without: Outcome, patched: Outcome, problem: str) -> None:
    (verdict,) = judge({"m::t": case(kind, patched)}, {"m::t": case(kind, without)})
    assert problem in verdict.problem
    assert bool(verdict.problem) is bool(problem)


def test_a_test_that_ran_in_one_run_only_is_a_problem() -> None:
    good = case(FAULT, Outcome.OK)
    assert judge({"m::t": good}, {})[0].problem == "without the series it did not run"
    assert judge({}, {"m::t": good})[0].problem == "with the series it did not run"


def junit(body: str) -> bytes:
    return f"<testsuites><testsuite>{body}</testsuite></testsuites>".encode()


def properties(outcome: str) -> str:
    return (
        '<properties><property name="topic" value="timeouts"/><property name="kind" value="fault"/>'
        f'<property name="outcome" value="{outcome}"/></properties>'
    )


@pytest.mark.parametrize(
    ("said", "element", "outcome"),
    [
        pytest.param("ok", "", Outcome.OK, id="passed"),
        pytest.param("fault", '<failure message="m"/>', Outcome.FAULT, id="failed as a fault"),
        pytest.param("drift", '<failure message="m"/>', Outcome.DRIFT, id="failed as drift"),
        pytest.param("ok", '<error message="m"/>', Outcome.DRIFT, id="an error that says ok"),
        pytest.param("fault", "", Outcome.DRIFT, id="a pass that says fault"),
        pytest.param("", '<failure message="m"/>', Outcome.DRIFT, id="failed without a word"),
        pytest.param("ok", "<skipped/>", Outcome.SKIPPED, id="skipped"),
    ],
)
def test_what_a_test_says_must_fit_how_it_ended(said: str, element: str, outcome: Outcome) -> None:
    found = read_cases(junit(f'<testcase classname="m" name="t">{properties(said)}{element}</testcase>'), where="x")
    assert found["m::t"].outcome is outcome


@pytest.mark.parametrize("text", [junit(""), b"", b"<testsuites>", b"<!DOCTYPE x><testsuites/>"])
def test_a_file_that_proves_nothing_is_refused(text: bytes) -> None:
    with pytest.raises(SmokeError):
        read_cases(text, where="x")


def test_verdicts_are_written_as_junit_and_read_again() -> None:
    verdicts = judge({"m::t": case(FAULT, Outcome.FAULT)}, None)
    found = read_cases(write_junit(verdicts, suite="smoke").encode(), where="x")
    assert "the fault is still there: message" in found["m::t"].message
