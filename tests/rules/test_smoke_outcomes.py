"""What the smoke suite's conftest.py writes down is what the control run reads.

The suite runs here against a made-up sglang of one module: nothing of the real one is needed to
tell a fault from drift.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

from patchkit.control import read_cases
from patchkit.model import Outcome, SmokeCase, SmokeKind
from patchkit.process import Completed, run

SMOKE = Path(__file__).parents[2] / "patches" / "smoke"
SGLANG = """
__version__ = "0.5.13"

def check():
    assert False, "an assertion of sglang's own"
"""
TESTS = """
import pytest
import sglang

@pytest.fixture
def broken():
    yield
    raise RuntimeError("torn down badly")

@pytest.mark.fault("P-1", until="0.5.15")
def test_fault():
    assert 1 == 2

@pytest.mark.fault("A-8", until="0.5.13")
def test_mended_upstream():
    pass

@pytest.mark.fault("T-8", since="0.5.13")
def test_first_release_with_it():
    assert 1 == 2

@pytest.mark.fault("A-9", since="0.5.12.post1", until="0.5.13.post1")
def test_last_release_with_it():
    assert 1 == 2

@pytest.mark.regression
def test_regression():
    pass

@pytest.mark.fault("P-2")
def test_attribute_gone():
    sglang.gone

@pytest.mark.fault("P-2")
def test_assertion_inside_sglang():
    sglang.check()

@pytest.mark.regression
def test_torn_down_badly(broken):
    pass

@pytest.mark.releases(until="0.5.13")
@pytest.mark.regression
def test_of_another_release():
    assert 1 == 2
"""


def run_suite(folder: Path, tests: str, *, allowed: int) -> Completed:
    """Run a suite of one test file under the real conftest.py and write smoke.xml."""
    shutil.copytree(SMOKE / "smokekit", folder / "smoke" / "smokekit")
    for name in ("conftest.py", "pytest.ini"):
        shutil.copy(SMOKE / name, folder / "smoke")
    for name, text in (("smoke/prefetch-release/test_it.py", tests), ("site/sglang/__init__.py", SGLANG)):
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "smoke", "--junitxml=smoke.xml"]
    environ = {**os.environ, "PYTHONPATH": str(folder / "site"), "PATCHKIT_PIN": ""}
    return run(command, cwd=folder, timeout_s=60, env=environ, allowed=(allowed,))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SmokeCase]:
    folder = tmp_path_factory.mktemp("suite")
    run_suite(folder, TESTS, allowed=1)
    found = read_cases((folder / "smoke.xml").read_bytes(), where="smoke.xml")
    return {name.rpartition("::")[2]: case for name, case in found.items()}


FAULT, REGRESSION = SmokeKind.FAULT, SmokeKind.REGRESSION


@pytest.mark.parametrize(
    ("test", "kind", "fault", "outcome"),
    [
        ("test_fault", FAULT, "P-1", Outcome.FAULT),
        ("test_mended_upstream", REGRESSION, "A-8", Outcome.OK),
        ("test_first_release_with_it", FAULT, "T-8", Outcome.FAULT),
        ("test_last_release_with_it", FAULT, "A-9", Outcome.FAULT),
        ("test_regression", REGRESSION, "", Outcome.OK),
        ("test_attribute_gone", FAULT, "P-2", Outcome.DRIFT),
        ("test_assertion_inside_sglang", FAULT, "P-2", Outcome.DRIFT),
        ("test_torn_down_badly", REGRESSION, "", Outcome.DRIFT),
    ],
)
def test_case_is_written_down(
    cases: dict[str, SmokeCase], test: str, kind: SmokeKind, fault: str, outcome: Outcome
) -> None:
    case = cases[test]
    assert (case.topic, case.kind, case.fault, case.outcome) == ("prefetch-release", kind, fault, outcome)


def test_a_test_of_another_release_is_left_out(cases: dict[str, SmokeCase]) -> None:
    assert "test_of_another_release" not in cases


def test_a_test_without_a_mark_is_refused(tmp_path: Path) -> None:
    done = run_suite(tmp_path, "def test_it(): pass", allowed=4)
    assert b"is marked neither fault nor regression" in done.stdout + done.stderr
