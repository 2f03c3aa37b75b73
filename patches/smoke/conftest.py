"""Finds the release, tells fault from drift, and writes both down for `patchkit smoke --control`.

Each test carries one mark: `fault(id, since, until)` or `regression`; `releases(since, until)`
leaves a test out where it means nothing. JUnit gets four properties a test: `topic` (the
directory), `kind` (fault or regression, as it holds for this release), `fault` (the id, if
any) and `outcome` (ok, fault or drift: smokekit/outcome.py).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from smokekit import stubs
from smokekit.clock import Clock
from smokekit.outcome import DRIFT, OK, Drift, outcome_of
from smokekit.versions import is_within, release_under_test

HERE = Path(__file__).parent
RELEASE = pytest.StashKey[str]()
OUTCOME = pytest.StashKey[str]()


@dataclass(frozen=True)
class Case:
    """What a test claims on the release under test."""

    topic: str
    kind: str  # "fault" or "regression"
    fault: str


def pytest_configure(config: pytest.Config) -> None:
    stubs.install()
    try:
        config.stash[RELEASE] = release_under_test()
    except (ImportError, Drift) as error:
        raise pytest.UsageError(f"no sglang release to test: {error}") from error


def pytest_report_header(config: pytest.Config) -> str:
    return f"sglang: {config.stash[RELEASE]}"


def case_of(item: pytest.Item, release: str) -> Case:
    topic = item.path.relative_to(HERE).parts[0]
    fault = item.get_closest_marker("fault")
    if fault is None:
        if item.get_closest_marker("regression") is None:
            raise pytest.UsageError(f"{item.nodeid} is marked neither fault nor regression")
        return Case(topic, "regression", "")
    bounds = {"since": "", "until": "", **fault.kwargs}
    return Case(topic, "fault" if is_within(release, **bounds) else "regression", fault.args[0])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    release = config.stash[RELEASE]
    kept, left_out = [], []
    for item in items:
        case = case_of(item, release)
        item.user_properties += [("topic", case.topic), ("kind", case.kind), ("fault", case.fault)]
        bounds = item.get_closest_marker("releases")
        applies = bounds is None or is_within(release, **{"since": "", "until": "", **bounds.kwargs})
        (kept if applies else left_out).append(item)
    kept.sort(key=lambda item: item.get_closest_marker("two_ranks") is None)  # stable; smokekit/ranks.py says why
    items[:] = kept
    if left_out:
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    error = call.excinfo.value if call.excinfo else None
    outcome = outcome_of(error, error.__traceback__ if error else None)
    if call.when == "call" or outcome != OK:
        item.stash[OUTCOME] = outcome if call.when == "call" else DRIFT
    if call.when == "teardown":  # the JUnit writer reads the properties of the last report
        report.user_properties.append(("outcome", item.stash[OUTCOME]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        TALLY.update(value for name, value in report.user_properties if name == "outcome")


TALLY: Counter[str] = Counter()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counts = ", ".join(f"{TALLY[outcome]} {outcome}" for outcome in (OK, "fault", DRIFT))
    terminalreporter.write_line(f"smoke on sglang {config.stash[RELEASE]}: {counts}")


@pytest.fixture
def release(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """The adapter of the release under test, all modules loaded."""
    from smokekit.release import Release

    release = Release(request.config.stash[RELEASE])
    release.load()
    release.set_context(monkeypatch)
    return release


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def prefill(release, clock, monkeypatch):
    """A prefill scheduler with hierarchical cache storage."""
    from smokekit.prefill import Prefill

    return Prefill(release, clock, monkeypatch)


@pytest.fixture
def prefill_without_storage(release, clock, monkeypatch):
    from smokekit.prefill import Prefill

    return Prefill(release, clock, monkeypatch, storage=False)


@pytest.fixture
def decode(release, clock, monkeypatch):
    from smokekit.decode import Decode

    return Decode(release, clock, monkeypatch)


@pytest.fixture
def mooncake(release):
    from smokekit.events import EventLog
    from smokekit.transfer import Backend

    return Backend(release, "mooncake", EventLog())


@pytest.fixture(params=["prefill", "decode"])
def occupation(request, release):
    """The memory of a prefill and of a decode scheduler."""
    from smokekit.memory import Occupation

    return Occupation(release, request.getfixturevalue(request.param))
