"""From a slime-like folder to a green verify, by the commands that a person would type."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patchkit.cli import main
from tests.git import patchfolders as make


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A slime-like project in the working directory, beside a cache with its releases."""
    made = make.sound(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home-cache"))
    (tmp_path / "home-cache").mkdir()
    (tmp_path / "cache").rename(tmp_path / "home-cache/patchkit")
    monkeypatch.chdir(made.base)
    return made.base


def do(*arguments: str, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["--offline", *arguments])
    assert result.exit_code == exit_code, result.output
    return result


def test_five_commands_lead_to_a_green_verify(project: Path) -> None:
    shown = do("import", "--dry-run", "docker/patch").stdout
    assert (
        "v0.5.15 -> patches/v0.5.15 (1 of 1 preimage blobs; order: single file)" in shown or "preimage blobs" in shown
    )
    assert "no trouble found" in shown
    assert do("import", "docker/patch").stdout.splitlines()[-1] == "next: patchkit verify --all"
    do("verify", "--all")
    do("split", "v0.5.15", "downstream")
    do("verify", "v0.5.15")
    assert "next: " in do("status").stdout


def test_report_is_one_document_with_its_schema(project: Path) -> None:
    document = json.loads(do("--json", "import", "--dry-run", "docker/patch").stdout)
    assert document["schema"] == "patchkit/adopt/1"
    assert [each["pin"] for each in document["sets"]] == ["v0.5.14", "v0.5.15"]


def test_edit_and_refresh_from_the_command_line(project: Path) -> None:
    do("import", "docker/patch")
    shown = do("edit").stdout
    assert "v0.5.15: made .patchkit/edit/v0.5.15" in shown
    assert "downstream" in shown
    assert "every file is current" in do("refresh", "--check").stdout
    limits = project / ".patchkit/edit/v0.5.15/python/sglang/srt/limits.py"
    limits.write_text(limits.read_text().replace("BURST = 1", "BURST = 2"))
    refused = do("refresh", exit_code=2)
    assert "error: the edit has changes that no commit holds" in refused.stderr
    assert "kept:  the edit, in " in refused.stderr
    make.git(limits.parents[3], "commit", "-q", "-a", "--amend", "--no-edit")
    assert "v0.5.15: not current" in do("refresh", "--check", exit_code=4).stdout
    assert "downstream  edited" in do("refresh").stdout
    do("edit", "--close")


def test_wrong_use_is_told(project: Path) -> None:
    two = ["import", "--from-git", "a..b", "docker", "docker/patch"]
    assert "--from-git takes one repository" in do(*two, exit_code=2).stderr
    assert "'soon' is not an upstream version" in do("import", "--pin", "soon", "docker/patch", exit_code=2).stderr
    do("import", "docker/patch")
    assert "there is no pin v0.5.9" in do("edit", "v0.5.9", exit_code=2).stderr
    assert (project / "patches").is_dir()
