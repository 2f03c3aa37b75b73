"""bump writes the next tag everywhere in one step, or nowhere."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patchkit.cli import main
from patchkit.process import run

SITES = """
[[site]]
file = "docker/Dockerfile"
text = "ARG PATCHKIT_TAG={tag}"
[[site]]
file = "README.md"
text = "| latest | {pin} | {tag} |"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store in a git repository, with two pin sites."""
    (tmp_path / "patches/v0.5.13").mkdir(parents=True)
    (tmp_path / "docker").mkdir()
    for name, text in {
        "patches/topics.toml": "",
        "patches/latest": "v0.5.13\n",
        "patches/sites.toml": SITES,
        "docker/Dockerfile": "ARG PATCHKIT_TAG=nightly-dev-20260809a\nFROM scratch\n",
        "README.md": "| latest | v0.5.12 | nightly-dev-20260809a |\r\n",
        "version.txt": "nightly-dev-20260809a\n",
    }.items():
        (tmp_path / name).write_text(text, newline="")
    git(tmp_path, "init", "-q", ".")
    return tmp_path


def git(root: Path, *arguments: str) -> str:
    names = {key: value for key, value in os.environ.items() if key.startswith("GIT_")}
    return run(["git", *arguments], cwd=root, timeout_s=30, env=names).stdout.decode().strip()


def bump(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["bump", "--root", str(root), "--date", "2026-08-10", *arguments])


def contents(root: Path) -> dict[str, bytes]:
    files = (file for file in root.rglob("*") if file.is_file() and ".git" not in file.relative_to(root).parts)
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def test_bump_writes_version_and_every_site(root: Path) -> None:
    done = bump(root)
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        "nightly-dev-20260810a  (after nightly-dev-20260809a; 1 published)\n"
        "  wrote docker/Dockerfile\n  wrote README.md\n  wrote version.txt\n"
    )
    assert contents(root)["docker/Dockerfile"] == b"ARG PATCHKIT_TAG=nightly-dev-20260810a\nFROM scratch\n"
    assert contents(root)["README.md"] == b"| latest | v0.5.13 | nightly-dev-20260810a |\r\n"
    assert contents(root)["version.txt"] == b"nightly-dev-20260810a\n"


def test_dry_run_writes_nothing(root: Path) -> None:
    before = contents(root)
    document = json.loads(bump(root, "--dry-run", "--json").stdout)
    assert document["schema"] == "patchkit/bump/1"
    assert document["tag"] == "nightly-dev-20260810a"
    assert contents(root) == before


def test_git_tags_and_the_list_count_as_published(root: Path, tmp_path: Path) -> None:
    git(root, "commit", "-q", "--allow-empty", "-m", "c")
    git(root, "tag", "nightly-dev-20260810a")
    git(root, "tag", "nightly-dev-2026081")
    listed = tmp_path / "tags.txt"
    listed.write_text("latest\nlmsysorg/sglang:nightly-dev-20260810b-cu129\n# nightly-dev-20260810q\nv0.5.13\n")
    done = bump(root, "--published", str(listed))
    assert done.stdout.splitlines()[0] == "nightly-dev-20260810c  (after nightly-dev-20260809a; 3 published)"
    assert "passed over: nightly-dev-2026081 is no nightly tag" in done.stdout


def test_reused_tag_is_refused(root: Path) -> None:
    git(root, "commit", "-q", "--allow-empty", "-m", "c")
    git(root, "tag", "nightly-dev-20260811a")
    before = contents(root)
    done = bump(root)
    assert done.exit_code == 2
    assert "error: the next nightly tag would go backwards: nightly-dev-20260811a is published" in done.stderr
    assert contents(root) == before


def test_malformed_version_is_refused(root: Path) -> None:
    (root / "version.txt").write_text("nightly-dev-2026810a\n")
    done = bump(root)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: version.txt is malformed: 'nightly-dev-2026810a' is not a nightly tag\n")


@pytest.mark.parametrize("text", ["nothing here", "ARG PATCHKIT_TAG=nightly-dev-1\nARG PATCHKIT_TAG=nightly-dev-2\n"])
def test_site_that_is_not_there_once_stops_everything(root: Path, text: str) -> None:
    (root / "docker/Dockerfile").write_text(text)
    before = contents(root)
    done = bump(root)
    assert done.exit_code == 2
    assert "docker/Dockerfile" in done.stderr
    assert contents(root) == before


def test_failed_replace_puts_every_file_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(root)
    real, calls = os.replace, []

    def fail_third(source: object, target: object) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise OSError(28, "No space left on device", str(target))
        real(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", fail_third)
    done = bump(root)
    assert done.exit_code == 6, done.output
    assert "No space left on device" in done.stderr
    assert contents(root) == before


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_slime_style_version_file_keeps_its_bytes(root: Path, end: str) -> None:
    (root / "version.txt").rename(root / "docker/version.txt")
    (root / "docker/version.txt").write_text("nightly-dev-20260809a" + end, newline="")
    assert bump(root).exit_code == 0
    assert (root / "docker/version.txt").read_bytes() == b"nightly-dev-20260810a" + end.encode()


def test_two_version_files_are_refused(root: Path) -> None:
    (root / "docker/version.txt").write_text("nightly-dev-20260809a")
    assert bump(root).exit_code == 2


def test_bump_works_outside_of_git(root: Path, tmp_path: Path) -> None:
    (root / ".git").rename(tmp_path / "elsewhere")
    assert bump(root).exit_code == 0
