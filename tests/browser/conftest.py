"""One headless Chromium for all tests, and pages in it that note what a browser complains about."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Opened:
    """A page in the browser. complaints: its console, uncaught exceptions, requests for anything else."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def hear(self, complaint: str) -> None:
        """Note a complaint."""
        self.complaints.append(complaint)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium as the system has it; its absence is a failure, as these tests were asked for."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("playwright is not installed: pip install '.[browser]'")
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.fail("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        # as root Chromium starts only without its sandbox; the page is ours and has no script
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


class Opener:
    """Opens a file in a window of this width and colour scheme."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.contexts: list[Any] = []

    def __call__(self, file: Path, *, width: int = 1280, dark: bool = False) -> Opened:
        context = self.browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
        )
        self.contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda said: opened.hear(f"{said.type}: {said.text}"))
        opened.page.on("pageerror", lambda error: opened.hear(f"exception: {error}"))
        opened.page.on("request", lambda sent: opened.hear(sent.url) if sent.url != file.as_uri() else None)
        opened.page.goto(file.as_uri())
        return opened


@pytest.fixture
def open_page(browser: Any) -> Iterator[Opener]:
    opener = Opener(browser)
    yield opener
    for context in opener.contexts:
        context.close()
