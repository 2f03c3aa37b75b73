"""docs/topics.md says what topics.toml says."""

from pathlib import Path

from click.testing import CliRunner

from patchkit.cli import main

ROOT = Path(__file__).parents[2]


def test_topics_page_is_current() -> None:
    shown = CliRunner().invoke(main, ["--root", str(ROOT), "status", "--markdown"])

    assert shown.exit_code == 0
    assert (ROOT / "docs" / "topics.md").read_text() == shown.stdout, "run: patchkit status --markdown > docs/topics.md"
