"""The search for a release looks at labels first, then around the best; what it cannot have does not stop it."""

from pathlib import Path

import pytest

from patchkit.errors import CommandError
from patchkit.patch.patchtext import blob_id
from patchkit.upstream import releases
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream, bring_version
from patchkit.upstream.releases import find_release
from tests.git.releases import PREFIX, keep_release

LISTED = [f"0.5.{number}" for number in range(1, 30)]
STATED = {f"{PREFIX}srt/a.py": blob_id(b"x = 12\n")}


class Index:
    """A package index with a release for each number, whose file says it; one of them cannot be had."""

    def __init__(self, folder: Path, *, missing: str = "") -> None:
        self.access = Access(folder)
        self.missing = missing
        self.asked: list[str] = []

    def bring(self, version: str, access: Access) -> Upstream:
        self.asked.append(version)
        if version == self.missing:
            raise CommandError("no such file")
        keep_release(access, version, {"__init__.py": "", "srt/a.py": f"x = {version.rpartition('.')[2]}\n"})
        return bring_version(version, access)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(releases, "bring_version", self.bring)
        monkeypatch.setattr(releases, "listed_versions", lambda access: LISTED)


def test_label_is_asked_first_and_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(tmp_path)
    index.install(monkeypatch)
    found = find_release(STATED, index.access, labels=["0.5.12"])
    assert found.belonging.best is not None
    assert (found.belonging.best.version, index.asked) == ("0.5.12", ["0.5.12"])


def test_neighbours_of_a_wrong_label_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(tmp_path, missing="0.5.15")
    index.install(monkeypatch)
    found = find_release(STATED, index.access, labels=["0.5.14"])
    assert found.belonging.best is not None
    assert found.belonging.best.version == "0.5.12"
    assert index.asked == ["0.5.14", "0.5.15", "0.5.13", "0.5.16", "0.5.12"]
    assert found.notes == ("v0.5.15 could not be downloaded: no such file",)


def test_search_stops_when_enough_was_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(tmp_path)
    index.install(monkeypatch)
    found = find_release(STATED, index.access, labels=["0.5.25"], max_downloads=3)
    assert found.belonging.best is None
    assert len(index.asked) == 3
