"""Settings that a person has written wrong are refused by name, never with a traceback."""

from pathlib import Path

import pytest

from patchkit.errors import ConfigError
from patchkit.store import read_manifest, read_pin, read_series_names, read_topics
from tests.small_store import PIN, write_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_store(tmp_path / "store", tmp_path / "cache")
    return tmp_path / "store"


@pytest.mark.parametrize(
    ("former", "line", "said"),
    [
        ("[distribution]", "python = 2026-01-01\n[distribution]", "python must be a text"),
        ("[distribution]", "base_images = [1]\n[distribution]", "base_images must be a list of texts"),
        ("filename = ", "filename = 3 # ", "distribution.filename must be a text"),
        ("version = ", "version = 3 # ", "version must be a text"),
    ],
)
def test_setting_of_another_type(root: Path, former: str, line: str, said: str) -> None:
    path = root / "patches" / PIN / "pin.toml"
    text = path.read_text()
    assert former in text
    path.write_text(text.replace(former, line))
    with pytest.raises(ConfigError, match=said):
        read_pin(root, PIN)


def test_source_that_is_no_table(root: Path) -> None:
    path = root / "patches" / PIN / "pin.toml"
    path.write_text(path.read_text().split("[distribution]")[0] + 'distribution = "x"\n')
    with pytest.raises(ConfigError, match="distribution must be a table"):
        read_pin(root, PIN)


def test_pin_that_is_nested_too_deeply(root: Path) -> None:
    (root / "patches" / PIN / "pin.toml").write_text(f"version = {'[' * 100_000}\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_pin(root, PIN)


def test_manifest_that_is_nested_too_deeply(root: Path) -> None:
    (root / "patches" / PIN / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="manifest cannot be read"):
        read_manifest(root, PIN)


def test_series_that_is_no_text(root: Path) -> None:
    path = root / "patches" / PIN / "series"
    path.write_bytes(path.read_bytes() + b"\0\377\n")
    with pytest.raises(ConfigError, match="series is no text"):
        read_series_names(root, PIN)


def test_series_that_lists_a_patch_twice(root: Path) -> None:
    path = root / "patches" / PIN / "series"
    path.write_text(path.read_text() * 2)
    with pytest.raises(ConfigError, match="is listed twice"):
        read_series_names(root, PIN)


def test_topic_that_is_no_table(root: Path) -> None:
    (root / "patches/topics.toml").write_text("timeouts = 3\n")
    with pytest.raises(ConfigError, match="timeouts must be a table"):
        read_topics(root)
