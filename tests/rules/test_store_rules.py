"""PK8xx on values: the store says what is there."""

from dataclasses import replace
from datetime import date

import pytest

from patchkit.model import Finding, Severity, Topic
from patchkit.patch.headers import Head
from patchkit.rules import store
from patchkit.rules.accept import Acceptance, judge
from patchkit.rules.store import PinFacts, StoreFacts

HEAD = Head(fields=tuple((name, "x") for name in ("Description", "Origin", "Forwarded", "Last-Update")))
PIN = PinFacts("v0.5.16", "patches/v0.5.16", ("a.patch",), frozenset({"a.patch"}), {}, {"a.patch": HEAD})
TOPIC = Topic("a", "title", "fault", "why", upstream=("x#1",), guards=("A-1",), smoke=("a",))
STORE = StoreFacts(
    {"a": TOPIC}, frozenset({"a"}), {"a": frozenset({"A-1"})}, frozenset({"a"}), (), {}, ("v0.5.16",), "v0.5.16"
)


def rules(findings: object) -> list[str]:
    assert hasattr(findings, "__iter__")
    return [finding.rule for finding in findings]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, [], id="sound"),
        pytest.param({"present": frozenset({"a.patch", "b.patch"})}, ["PK801"], id="a patch that is not listed"),
        pytest.param({"stale": {"sglang.patch": True}}, ["PK802"], id="generated file not current"),
        pytest.param({"stale": {"manifest.json": False}}, ["PK802"], id="generated file not there"),
        pytest.param({"heads": {"a.patch": Head()}}, ["PK803"], id="no header"),
    ],
)
def test_pin(change: dict[str, object], expected: list[str]) -> None:
    assert rules(store.find_in_pin(replace(PIN, **change))) == expected  # type: ignore[arg-type]


def test_stale_file_names_the_command_that_refreshes_it() -> None:
    (finding,) = store.find_in_pin(replace(PIN, stale={"sglang.patch": True}))
    assert finding.hint == "patchkit refresh v0.5.16"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, [], id="sound"),
        pytest.param({"carried": frozenset({"a", "b"})}, ["PK804"], id="topic not described"),
        pytest.param({"topics": {"a": replace(TOPIC, why="")}}, ["PK805"], id="no why"),
        pytest.param({"topics": {"a": replace(TOPIC, guards=())}}, ["PK805"], id="no guard"),
        pytest.param({"topics": {"a": replace(TOPIC, lifecycle="until-PR", upstream=())}}, ["PK805"], id="until what"),
        pytest.param({"guards": {}}, ["PK806"], id="guard not written"),
        pytest.param({"smoke": frozenset()}, ["PK806"], id="smoke test not there"),
        pytest.param({"stale_sites": ("README.md: tag {tag}",)}, ["PK807"], id="another tag in the README"),
        pytest.param({"dockerfiles": {"docker/Dockerfile": "RUN git apply x/b.patch"}}, ["PK808"], id="unlisted patch"),
        pytest.param(
            {"dockerfiles": {"docker/Dockerfile": "COPY sglang.patch a.patch /x\n# b.patch"}}, [], id="listed"
        ),
        pytest.param({"pins": ("v0.5.16", "v0.5.17")}, ["PK809"], id="latest is not the newest"),
    ],
)
def test_store(change: dict[str, object], expected: list[str]) -> None:
    assert rules(store.find_in_store(replace(STORE, **change))) == expected  # type: ignore[arg-type]


FOUND = Finding("PK505", Severity.ERROR, "m", path="p.py", scope="C.f")
GUARD = Finding("PK701", Severity.ERROR, "guard P-1 fails: m")
TODAY = date(2026, 12, 1)
ACCEPTED = Acceptance("PK505", "meant so", date(2026, 12, 1), path="p.py")


@pytest.mark.parametrize(
    ("acceptance", "left", "accepted"),
    [
        pytest.param(ACCEPTED, ["PK701"], ["PK505"], id="on its last day"),
        pytest.param(replace(ACCEPTED, until=date(2026, 11, 30)), ["PK505", "PK701", "PK811"], [], id="ended"),
        pytest.param(replace(ACCEPTED, path="q.py"), ["PK505", "PK701", "PK812"], [], id="covers nothing"),
        pytest.param(replace(ACCEPTED, scope="C.g"), ["PK505", "PK701", "PK812"], [], id="another scope"),
        pytest.param(Acceptance("PK701", "r", TODAY, guard="P-1"), ["PK505"], ["PK701"], id="a guard"),
        pytest.param(
            Acceptance("PK701", "r", TODAY, guard="P-10"), ["PK505", "PK701", "PK812"], [], id="another guard"
        ),
    ],
)
def test_acceptance(acceptance: Acceptance, left: list[str], accepted: list[str]) -> None:
    judged = judge([FOUND, GUARD], [acceptance], TODAY)
    assert rules(judged.findings) == left
    assert [finding.rule for finding, _ in judged.accepted] == accepted
