"""A report with something in each of its parts, and hostile text in all of them."""

from typing import Any

from patchkit.model import Topic
from patchkit.results.report import Evidence, PinPage, PublishedTag, Report, ReportedHunk

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{ 7 * 7 }}\x1b[31m\u202e\0"
PIN = "v0.5.99"


def report(*evidence: Evidence) -> Report:
    """Return a report of one pin with this evidence."""
    hunks = (
        ReportedHunk("python/sglang/a.py", 1, 7, 7, "C.f", ("t",), (" x", f"+{HOSTILE}", "-old"), ("up",), ("down",)),
        ReportedHunk("python/sglang/a.py", 2, 40, 39, "C.g", ("t",), tuple(f"+{'wide ' * 60}" for _ in range(3))),
        ReportedHunk(f"python/{HOSTILE}.py", 1, 1, 0, HOSTILE, ("t",), (f"+{HOSTILE}", " x")),
        ReportedHunk("python/sglang/a-b.py", 1, 1, 1, "", ("t",), ("+x",)),
        ReportedHunk("python/sglang/a_b.py", 1, 1, 1, "", ("t",), ("+x",)),
    )
    image = {
        "reference": HOSTILE,
        "digest": HOSTILE,
        "version": "n",
        "series": "3" * 64,
        "base": "b",
        "base_digest": "d",
    }
    pin = PinPage(PIN, "", "1" * 40, "2" * 64, ("t",), 1, 0, hunks, (image,))
    topic = Topic("t", HOSTILE, HOSTILE, HOSTILE, upstream=("sgl-project/sglang#1", HOSTILE), fixed_in="0.5.100")
    tag = PublishedTag("nightly-dev-20260101a", "2026-01-01", "4" * 40, PIN, HOSTILE)
    return Report("nightly-dev-20260101a", PIN, "2026-01-01 00:00 UTC", (topic,), (pin,), evidence, (tag,))


def _finding(line: int) -> dict[str, Any]:
    return {
        "rule": "PK502",
        "message": HOSTILE,
        "path": "python/sglang/a.py",
        "line": line,
        "scope": HOSTILE,
        "hint": HOSTILE,
    }


_VERIFIED = {
    "name": PIN,
    "hunks": 5,
    "files": 4,
    "findings": [_finding(42), _finding(0)],
    "accepted": [{"finding": _finding(8), "reason": HOSTILE, "until": "2027-01-01"}],
    "not_run": [HOSTILE],
}
_TESTS = [
    {
        "topic": "t",
        "fault": "T-1",
        "name": f"a::test_{HOSTILE}",
        "problem": "",
        "with_series": "ok",
        "without": "fault",
    },
    {"topic": "t", "fault": "", "name": "a::test_y", "problem": HOSTILE, "with_series": "ok", "without": "ok"},
]
_CARRIED = {"path": "python/sglang/a.py", "action": "carried", "to": "", "suspect": False, "stage": "merge"}
_MOVED = {"path": HOSTILE, "action": "moved", "to": "python/sglang/a.py", "suspect": True, "stage": "follow"}
_HUNKS = [
    {**hunk, "number": number, "cause": "", "scope": HOSTILE, "evidence": [HOSTILE, HOSTILE]}
    for number, hunk in enumerate((_CARRIED, _MOVED), start=1)
]
_IMAGE = {"pin": PIN, "tag": HOSTILE, "image": HOSTILE, "base": HOSTILE, "base_id": HOSTILE, "series": "5" * 64}
_NIGHT = {
    "tag": "",
    "pin_from": "v0.5.98",
    "pin_to": PIN,
    "outcome": "failed",
    "reason": "",
    "failure": {"what": HOSTILE},
}

_CHANGE = {"column": "0.5.98", "state": "clean", "to": "", "evidence": [], "commit": "", "subject": ""}
_CHANGED = {
    **_CHANGE,
    "column": "0.5.100",
    "state": "conflict",
    "to": HOSTILE,
    "evidence": [HOSTILE],
    "commit": "6" * 40,
}
_WEATHER = {
    "columns": [
        {"name": f"0.5.{number}", "kind": "release", "day": "", "subject": ""} for number in (98, 99, 100, 101)
    ],
    "topics": [
        {
            "topic": "t",
            "pin": PIN,
            "states": ["clean", "clean", "conflict", "conflict"],
            "ended": "0.5.100",
            "hunks": [
                {"path": "python/sglang/a.py", "number": 1, "scope": HOSTILE, "changes": [_CHANGE, _CHANGED]},
                {"path": HOSTILE, "number": 1, "scope": HOSTILE, "changes": [_CHANGE]},
            ],
        }
    ],
    "notes": [HOSTILE],
}

EVIDENCE = (
    Evidence("weather", "weather.json", _WEATHER),
    Evidence("verify", "verify.json", {"subjects": [_VERIFIED]}),
    Evidence("smoke", "smoke.json", {"pin": PIN, "tests": _TESTS}),
    Evidence(
        "rebase",
        "rebase.json",
        {"source": "v0.5.98", "target": PIN, "state": "stopped", "topics": [{"topic": "t", "hunks": _HUNKS}]},
    ),
    Evidence("build", "build.json", {"images": [{**_IMAGE, "engine": "podman", "pushed": ""}]}),
    Evidence("nightly", "nightly.json", {**_NIGHT, "failure": {"what": HOSTILE}}),
)
