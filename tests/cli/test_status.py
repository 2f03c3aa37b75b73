"""`status` tells what is here and what to do next, also without a network and for one topic alone."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from patchkit.cli import main
from patchkit.store import pin_names, read_topics

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped store, with an empty cache."""
    shutil.copytree(ROOT / "patches", tmp_path / "patches", ignore=shutil.ignore_patterns("smoke"))
    shutil.copy(ROOT / "version.txt", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_matrix_names_every_pin_and_topic(store: Path) -> None:
    result = CliRunner().invoke(main, ["status", "--offline", "--root", str(store)])
    assert result.exit_code == 0
    for name in [*pin_names(ROOT), *read_topics(ROOT)]:
        assert name in result.stdout
    assert "newest upstream not known" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("next: ")


def test_store_with_one_topic_still_shows_its_pins(store: Path) -> None:
    (store / "patches/topics.toml").write_text('[only]\ntitle = "t"\nfault = "f"\nwhy = "w"\n')
    result = CliRunner().invoke(main, ["status", "--offline", "--root", str(store)])
    assert "newest upstream" in result.stdout


def test_one_topic_tells_its_variables_and_what_a_client_sees(store: Path) -> None:
    result = CliRunner().invoke(main, ["status", "--offline", "--root", str(store), "--topic", "timeouts"])
    for fact in ("SGLANG_DISAGGREGATION_TRANSFER_TIMEOUT", "600 s", "garbage:", "HTTP 504"):
        assert fact in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_unknown_topic_is_refused_with_those_that_exist(store: Path) -> None:
    result = CliRunner().invoke(main, ["status", "--offline", "--root", str(store), "--topic", "nope"])
    assert result.exit_code == 2
    assert "timeouts" in result.stderr


def test_json_document_has_its_schema(store: Path) -> None:
    result = CliRunner().invoke(main, ["status", "--offline", "--json", "--root", str(store)])
    document = json.loads(result.stdout)
    assert document["schema"] == "patchkit/status/1"
    assert [pin["pin"] for pin in document["pins"]] == pin_names(ROOT)
