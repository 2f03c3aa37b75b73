"""The report in a real browser: nothing runs, nothing is fetched, all can be read, reached and printed by anyone."""

from itertools import pairwise
from pathlib import Path

import pytest

from patchkit.render.report import html
from patchkit.verbs.report import make_report
from tests.browser.conftest import Opener
from tests.reported import EVIDENCE, report

ROOT = Path(__file__).parents[2]
PHONE = 360
VISIBLE_TARGET = """() => {
  const at = document.querySelector(":target");
  return at !== null && at.checkVisibility() && (at.closest("details")?.open ?? true);
}"""

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["hostile", "shipped"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html(report(*EVIDENCE) if request.param == "hostile" else make_report(ROOT, None)), "utf-8")
    return path


@pytest.mark.parametrize("width", [1280, PHONE])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(file: Path, open_page: Opener, width: int, dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened = open_page(file, width=width, dark=dark)
    opened.page.eval_on_selector_all("details", "all => all.slice(0, 12).forEach(one => one.open = true)")
    found = Axe().run(opened.page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


@pytest.mark.parametrize("width", [1280, PHONE])
def test_nothing_complains_and_nothing_is_fetched(file: Path, open_page: Opener, width: int) -> None:
    opened = open_page(file, width=width)
    opened.page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    assert opened.complaints == []
    assert opened.page.evaluate("document.querySelectorAll('script, img, iframe, link, object').length") == 0


def test_the_page_itself_never_scrolls_sideways_on_a_phone(file: Path, open_page: Opener) -> None:
    page = open_page(file, width=PHONE).page
    page.eval_on_selector_all("details", "all => all.slice(0, 40).forEach(one => one.open = true)")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE


def test_every_inner_link_leads_to_a_place_that_is_then_seen(file: Path, open_page: Opener) -> None:
    page = open_page(file).page
    targets = page.eval_on_selector_all("a[href^='#']", "all => [...new Set(all.map(one => one.getAttribute('href')))]")
    assert len(targets) > 10
    assert not page.is_visible("details pre >> nth=-1")
    for target in targets:
        page.evaluate("target => { location.hash = target }", target)
        shown = page.evaluate(
            "() => { const at = document.querySelector(':target'); return at && at.checkVisibility() }"
        )
        assert shown, target


def test_keyboard_reaches_the_report_first_and_opens_a_hunk(file: Path, open_page: Opener) -> None:
    page = open_page(file).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    page.focus("#hunks ~ section summary >> nth=0")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")


def test_print_shows_closed_hunks_too_and_no_navigation(file: Path, open_page: Opener) -> None:
    page = open_page(file).page
    page.emulate_media(media="print")
    assert page.is_visible("#hunks ~ section details pre >> nth=0")
    assert not page.is_visible("nav")


def test_headings_descend_by_one(file: Path, open_page: Opener) -> None:
    levels = open_page(file).page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(one => +one.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
