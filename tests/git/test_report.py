"""`report` on a real repository: the nightly tags that git knows, and upstream's lines out of the cache."""

import subprocess
from pathlib import Path

from patchkit.verbs.report import make_report
from tests.small_store import PIN, write_store


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def test_tags_are_told_newest_first_with_pin_and_date(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write_store(store, tmp_path / "cache")
    git(store, "init", "-q")
    git(store, "add", "-A")
    git(store, "commit", "-qm", "nightly: one\n\nPin: v0.5.11")
    git(store, "tag", "nightly-dev-20260101b")
    git(store, "commit", "-qm", "nightly: two", "--allow-empty")
    git(store, "tag", "-a", "nightly-dev-20260102a", "-m", f"two\n\nPin: {PIN}")
    git(store, "tag", "nightly-dev-yesterday")
    tags = make_report(store, None).tags
    assert [(tag.tag, tag.pin, tag.date, tag.subject) for tag in tags] == [
        ("nightly-dev-20260102a", PIN, "2026-01-01", "nightly: two"),
        ("nightly-dev-20260101b", "v0.5.11", "2026-01-01", "nightly: one"),
    ]


def test_report_without_a_repository_has_no_tags(tmp_path: Path) -> None:
    write_store(tmp_path / "store", tmp_path / "cache")
    assert make_report(tmp_path / "store", None).tags == ()
