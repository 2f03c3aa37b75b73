"""The report's page is whole, safe against hostile text, and every link in it leads somewhere."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from patchkit.model import Topic
from patchkit.render.report import html, text
from patchkit.results.report import Evidence, PinPage, Report, ReportedHunk
from patchkit.verbs.report import make_report

ROOT = Path(__file__).parents[2]
HOSTILE = "</pre><script>alert(1)</script>\x1b[31m\u202e"


class Page(HTMLParser):
    """Collects what the tests ask about."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")


@pytest.fixture(scope="module")
def shipped() -> str:
    return html(make_report(ROOT, None))


def report(*evidence: Evidence) -> Report:
    hunk = ReportedHunk(f"python/{HOSTILE}.py", 1, 1, HOSTILE, ("t",), (f"+{HOSTILE}", " x"))
    pin = PinPage("v0.5.99", "", "1" * 40, "2" * 64, ("t",), 1, 0, (hunk,))
    topic = Topic("t", HOSTILE, HOSTILE, HOSTILE, upstream=("sgl-project/sglang#1", HOSTILE), fixed_in="0.5.100")
    return Report("nightly-dev-20260101a", "v0.5.99", "2026-01-01 00:00 UTC", (topic,), (pin,), evidence)


def test_page_of_the_shipped_series_is_under_two_megabytes(shipped: str) -> None:
    assert len(shipped.encode()) < 2_000_000


def test_every_inner_link_leads_to_one_place(shipped: str) -> None:
    page = Page(shipped)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_page_needs_no_script_and_no_network(shipped: str) -> None:
    assert not {"script", "link", "img", "iframe", "object"} & set(Page(shipped).tags)


def test_hostile_text_stays_text() -> None:
    page = html(report())
    assert "script" not in Page(page).tags
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_page_is_the_same_for_the_same_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert html(make_report(ROOT, None)) == html(make_report(ROOT, None))


def test_findings_and_smoke_results_are_shown_with_their_pin() -> None:
    finding = {"rule": "PK502", "message": "defined twice", "path": "a.py", "line": 7, "scope": "C"}
    subject = {"name": "v0.5.99", "hunks": 1, "files": 1, "findings": [finding], "accepted": [], "not_run": []}
    test = {"topic": "t", "fault": "T-1", "name": "a::test_x", "problem": "", "with_series": "ok", "without": "fault"}
    page = html(
        report(
            Evidence("verify", "verify.json", {"subjects": [subject]}),
            Evidence("smoke", "smoke.json", {"pin": "v0.5.99", "tests": [test]}),
        )
    )
    assert "PK502" in page
    assert "a.py:7" in page
    assert "fails without, passes with" in page


def test_every_hunk_of_a_rebase_is_told_with_its_evidence() -> None:
    hunk = {"path": "a.py", "number": 3, "action": "moved", "to": "b.py", "suspect": True, "stage": "follow"}
    topic = {"topic": "t", "hunks": [{**hunk, "cause": "", "scope": "C.f", "evidence": ["it is now", HOSTILE]}]}
    document = {"source": "v0.5.98", "target": "v0.5.99", "state": "stopped", "topics": [topic]}
    page = html(report(Evidence("rebase", "rebase.json", document)))
    assert "moved to b.py, suspect" in page
    assert "it is now; &lt;/pre&gt;" in page


def test_text_names_the_evidence() -> None:
    shown = text(report(Evidence("verify", "verify.json", {"subjects": []})))
    assert shown.endswith("evidence: verify.json (verify)")


def test_documents_are_taken_by_their_schema(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"schema": "patchkit/verify/1", "subjects": []}')
    (tmp_path / "other.json").write_text('{"schema": 7}')
    assert [entry.verb for entry in make_report(ROOT, tmp_path).evidence] == ["verify"]
