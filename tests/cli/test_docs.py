"""The reference pages are what the code says, and the JSON that commands print is what their schemas say."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from patchkit.cli import main
from patchkit.model import LockedFile, LockedHunk, Topic, Variable
from patchkit.pinsites import PinSite
from patchkit.rebasing import ledger
from patchkit.rebasing.ledger import Entry
from patchkit.rules.accept import Acceptance

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"]
UNNAMED = re.compile(r"^```\n(patchkit |python |make )", re.MULTILINE)  # nothing would run it


def test_reference_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command", [["status", "--offline"], ["doctor", "--offline"], ["report"], ["explain", "PK101"]]
)
def test_document_is_valid_by_its_schema(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = CliRunner().invoke(main, [*command, "--json", "--root", str(ROOT)])
    document = json.loads(result.stdout)
    schema = json.loads((ROOT / f"docs/schemas/{command[0]}.json").read_text())
    jsonschema.validate(document, schema)


def test_manual_page_is_sound_and_names_every_command() -> None:
    page = ROOT / "docs/patchkit.1"
    headings = [line for line in page.read_text().splitlines() if line.startswith(".SS patchkit ")]
    assert {line.split()[2] for line in headings} == set(main.commands)
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    command = ["groff", "-man", "-Tutf8", "-ww", "-rLL=80n", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "patchkit rebase --onto" in done.stdout


@pytest.mark.parametrize(
    ("heading", "record", "named_otherwise"),
    [
        ("pin.toml", Acceptance, {"where"}),
        ("topics.toml", Topic, {"name"}),
        ("topics.toml", Variable, set()),
        ("sites.toml", PinSite, set()),
        ("manifest.json", LockedFile, set()),
        ("manifest.json", LockedHunk, set()),
        ("ledger", Entry, set()),
        ("ledger", ledger.Acceptance, set()),
    ],
)
def test_page_of_files_names_every_key_of_a_record(heading: str, record: type[Any], named_otherwise: set[str]) -> None:
    text = (ROOT / "docs/reference/files.md").read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)`|^(\w+) =", text, re.MULTILINE))
    keys = {field.name for field in dataclasses.fields(record)} - named_otherwise
    assert keys <= {word for pair in named for word in pair}


def test_page_of_files_names_every_key_that_is_shipped() -> None:
    text = (ROOT / "docs/reference/files.md").read_text("utf-8")
    for path in (ROOT / "patches").glob("*/pin.toml"):
        assert [
            key for key in tomllib.loads(path.read_text()) if f"`{key}`" not in text and f"[{key}]" not in text
        ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings], (
                target
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_stands_in_a_block_that_is_not_named_sh_or_console(page: Path) -> None:
    shown_only = page.parent.name == "reference"
    assert shown_only or not UNNAMED.search(page.read_text("utf-8"))
