"""The first lines of the report's page: what each part below comes to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from patchkit.counting import count
from patchkit.results.report import Report

BREAKS = ("conflict", "suspect")  # states of weather that need a person
PROBLEM = "PROBLEM"  # how a smoke test's cell begins that is not as it must be


@dataclass(frozen=True, slots=True)
class Told:
    """What one part of the page comes to. part: its anchor; holds: None where the part judges nothing."""

    part: str
    name: str
    text: str
    holds: bool | None = None


def at_a_glance(report: Report) -> Iterator[Told]:
    """Yield one line for each part that has evidence."""
    subjects = {subject["name"]: subject for document in report.documents("verify") for subject in document["subjects"]}
    if subjects:
        yield _verified(subjects)
    tests = [test for document in report.documents("smoke") for test in document["tests"]]
    if tests:
        problems = sum(bool(test["problem"]) for test in tests)
        pins = len({document["pin"] for document in report.documents("smoke")})
        where = f"{count(len(tests), 'test')} in the images of {count(pins, 'pin')}"
        text = f"{problems} of {where} not as they must be" if problems else f"{where}, each as it must be"
        yield Told("smoke", "Smoke", text, holds=not problems)
    for document in report.documents("weather"):
        yield Told("weather", "Weather", _outlook(document))
    rebases = report.documents("rebase")
    if rebases:
        yield Told("rebase", "Rebase", _carried(rebases))
    built = sum(len(document["images"]) for document in report.documents("build"))
    pushed = sum(len(pin.images) for pin in report.pins)
    if built or pushed:
        yield Told("images", "Images", f"{built} built" + (f", {pushed} pushed before" if pushed else ""))
    if report.tags:
        yield Told("history", "Last nightly", f"{report.tags[0].tag}, {report.tags[0].date}")


def breaks_at(columns: Sequence[Mapping[str, Any]], states: Sequence[str]) -> str:
    """Return the first release or commit at which a topic needs a person; "" for none."""
    return next((str(at["name"]) for at, state in zip(columns, states, strict=True) if state in BREAKS), "")


def _verified(subjects: Mapping[str, Mapping[str, Any]]) -> Told:
    findings = {name: len(subject["findings"]) for name, subject in subjects.items() if subject["findings"]}
    text = ", ".join(f"{count(number, 'finding')} in {name}" for name, number in findings.items())
    return Told("verify", "Verify", text or f"every rule holds in all of {', '.join(subjects)}", holds=not findings)


def _outlook(document: Mapping[str, Any]) -> str:
    first = {
        topic["topic"]: breaks_at(document["columns"], topic["states"]) or "at none" for topic in document["topics"]
    }
    releases = count(len(document["columns"]), "release or commit", "releases or commits")
    return f"over {releases}, a person is needed first at: " + ", ".join(
        f"{name} {release}" for name, release in first.items()
    )


def _carried(documents: Sequence[Mapping[str, Any]]) -> str:
    hunks = [hunk for document in documents for topic in document["topics"] for hunk in topic["hunks"]]
    unresolved = sum(hunk["action"] == "unresolved" for hunk in hunks)
    dropped = sum(hunk["action"] == "dropped" for hunk in hunks)
    suspect = sum(bool(hunk["suspect"]) and hunk["action"] not in ("unresolved", "dropped") for hunk in hunks)
    carried = len(hunks) - unresolved - dropped - suspect
    told = (
        f"{count(carried, 'hunk')} carried, {dropped} dropped, {suspect} carried but suspect, {unresolved} unresolved"
    )
    return f"{count(len(documents), 'move')}: {told}"
