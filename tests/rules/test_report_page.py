"""The report's page is whole, safe against hostile text, and every link in it leads somewhere."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from patchkit.errors import ConfigError
from patchkit.model import CommitId, LockedFile, LockedHunk, Manifest, TreeId
from patchkit.patch.patchtext import read_patch
from patchkit.render.glance import at_a_glance
from patchkit.render.report import html, read_lines, text
from patchkit.results.report import Evidence, ReportedHunk
from patchkit.verbs.report import make_report, report_hunks
from tests.reported import EVIDENCE, HOSTILE, report

TWO_HUNKS = b"""\
diff --git a/python/sglang/a.py b/python/sglang/a.py
--- a/python/sglang/a.py
+++ b/python/sglang/a.py
@@ -20,2 +20,3 @@
 20
+new
 21
@@ -24 +25 @@
-24
+twenty-four
"""
ROOT = Path(__file__).parents[2]


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


def test_page_of_the_shipped_series_is_under_two_megabytes(shipped: str) -> None:
    assert len(shipped.encode()) < 2_000_000


def test_every_inner_link_leads_to_one_place(shipped: str) -> None:
    page = Page(shipped)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_page_needs_no_script_and_no_network(shipped: str) -> None:
    assert not {"script", "link", "img", "iframe", "object"} & set(Page(shipped).tags)


def test_hostile_text_stays_text() -> None:
    page = html(report(*EVIDENCE))
    assert not {"script", "img"} & set(Page(page).tags)
    assert not {"\x1b", "\u202e", "\0"} & set(page)
    assert page.count("&lt;script&gt;alert(1)") > 20


def test_every_part_is_shown_and_linked_without_a_double() -> None:
    page = Page(html(report(*EVIDENCE)))
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_findings_lead_to_the_hunk_that_they_are_in() -> None:
    page = html(report(*EVIDENCE))
    assert '<a href="#v0.5.99-python/sglang/a.py-2">python/sglang/a.py:42</a>' in page
    assert '<a href="#v0.5.99-python/sglang/a.py-1">python/sglang/a.py:0</a>' in page


def test_weather_names_the_first_release_that_breaks_the_ends_and_turning_points() -> None:
    page = html(report(*EVIDENCE))
    assert '<th scope="row">breaks first at</th><td class="bad">0.5.100</td>' in page
    assert '<th scope="row">0.5.98' in page
    assert '<th scope="row">0.5.99' not in page
    assert '<th scope="row">0.5.101' in page


def test_each_line_of_a_hunk_has_its_number() -> None:
    hunk = ReportedHunk("a.py", 1, 11, 10, "f", ("t",), (" x", "-old", "+new", "+more", " y"), ("above",), ("below",))
    assert [(line.kind, line.number, line.text) for line in read_lines(hunk)] == [
        ("around", 10, " above"),
        ("context", 11, " x"),
        ("removed", 11, "-old"),
        ("added", 12, "+new"),
        ("added", 13, "+more"),
        ("context", 14, " y"),
        ("around", 15, " below"),
    ]


def test_hunks_have_upstream_around_them_as_far_as_the_next_hunk() -> None:
    patch = read_patch(TWO_HUNKS, name="x.patch").files[0]
    locked = tuple(LockedHunk(hunk.number, ("t",), "f", hunk.old_start, hunk.new_start) for hunk in patch.hunks)
    file = LockedFile("python/sglang/a.py", "100644", None, None, locked)
    manifest = Manifest("0.5.99", CommitId(""), TreeId(""), "", {}, (file,))
    first, second = report_hunks(patch.hunks, manifest, [str(number) for number in range(1, 41)])
    assert first.above == tuple(str(number) for number in range(8, 20))
    assert first.below == ("22", "23")
    assert second.above == ("22", "23")
    assert second.below == tuple(str(number) for number in range(25, 37))


def test_document_that_is_not_the_verbs_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="not as its verb writes it"):
        html(report(Evidence("verify", "verify.json", {"subjects": [{"name": "v0.5.99"}]})))


def test_page_is_the_same_for_the_same_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert html(make_report(ROOT, None)) == html(make_report(ROOT, None))


def test_findings_and_smoke_results_are_shown_with_their_pin() -> None:
    finding = {"rule": "PK502", "message": "defined twice", "path": "a.py", "line": 7, "scope": "C", "hint": ""}
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
    assert ">mended<" in page


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


def test_first_lines_tell_what_each_part_comes_to() -> None:
    told = {line.part: (line.text.replace(HOSTILE, "x"), line.holds) for line in at_a_glance(report(*EVIDENCE))}
    assert told["verify"] == ("2 findings in v0.5.99", False)
    assert told["smoke"] == ("1 of 2 tests in the images of 1 pin not as they must be", False)
    assert told["rebase"][0].startswith("1 move: 1 hunk carried, 0 dropped, 1 carried but suspect")
    assert told["history"] == ("nightly-dev-20260101a, 2026-01-01", None)
    assert list(at_a_glance(report())) == [line for line in at_a_glance(report()) if line.part in ("images", "history")]
