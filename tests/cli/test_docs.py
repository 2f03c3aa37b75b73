"""The reference pages are what the code says, and the JSON that commands print is what their schemas say."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from patchkit.cli import main

ROOT = Path(__file__).parents[2]


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
