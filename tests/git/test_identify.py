"""identify names the release by blob ids, and says what it could not look at."""

from pathlib import Path

import pytest

from patchkit.errors import ConfigError
from patchkit.patch.patchtext import blob_id
from patchkit.render import render_text
from patchkit.upstream.access import Access
from patchkit.verbs.identify import identify
from tests.git.releases import PREFIX, cache

SHIPPED = Path(__file__).parents[2] / "patches"
OLD = {"__init__.py": "", "srt/a.py": "x = 1\n", "srt/b.py": "y = 1\n"}
NEW = {"__init__.py": "", "srt/a.py": "x = 2\n", "srt/b.py": "y = 1\n"}


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return cache(tmp_path, {"0.5.13": OLD, "0.5.14": NEW})


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = folder / PREFIX / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def patch_for(text: str) -> str:
    before, after = blob_id(text.encode())[:9], "1" * 9
    return (
        f"diff --git a/{PREFIX}srt/a.py b/{PREFIX}srt/a.py\nindex {before}..{after} 100644\n"
        f"--- a/{PREFIX}srt/a.py\n+++ b/{PREFIX}srt/a.py\n@@ -1 +1 @@\n-{text}+x = 9\n"
    )


def test_patch_belongs_to_its_blobs_whatever_its_folder_says(tmp_path: Path, access: Access) -> None:
    folder = tmp_path / "v0.5.14"
    folder.mkdir()
    (folder / "sglang.patch").write_text(patch_for("x = 1\n"))
    found = identify(folder / "sglang.patch", access)
    assert (found.version, found.same, found.blobs, found.exit_code) == ("0.5.13", 1, 1, 0)


def test_tree_is_told_whole(tmp_path: Path, access: Access) -> None:
    found = identify(write_tree(tmp_path / "src", NEW), access)
    assert (found.version, found.same, found.blobs, found.mixed) == ("0.5.14", 3, 3, False)


def test_changed_file_is_named(tmp_path: Path, access: Access) -> None:
    found = identify(write_tree(tmp_path / "src", {**NEW, "srt/b.py": "y = 7\n"}), access)
    assert (found.version, found.same) == ("0.5.14", 2)
    assert [(stray.path, stray.versions) for stray in found.strays] == [(f"{PREFIX}srt/b.py", ())]
    assert "--offline" in found.notes[-1]


def test_unknown_blobs_end_with_2(tmp_path: Path, access: Access) -> None:
    (tmp_path / "a.patch").write_text(patch_for("x = 7\n"))
    assert identify(tmp_path / "a.patch", access).exit_code == 2


def test_patch_without_index_lines_is_refused_with_a_way_on(tmp_path: Path, access: Access) -> None:
    (tmp_path / "a.patch").write_text(f"--- a/{PREFIX}srt/a.py\n+++ b/{PREFIX}srt/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")
    with pytest.raises(ConfigError) as caught:
        identify(tmp_path / "a.patch", access)
    assert "--upstream VERSION" in caught.value.hint


def test_tree_with_the_series_of_the_store_is_told_so(tmp_path: Path, access: Access) -> None:
    applied = {**NEW, "srt/a.py": "x = 9\n"}
    folder = tmp_path / "store/patches/v0.5.14"
    folder.mkdir(parents=True)
    (folder / "series").write_text("one.patch\n")
    ids = [blob_id(text.encode()) for text in (NEW["srt/a.py"], applied["srt/a.py"])]
    name = f"{PREFIX}srt/a.py"
    (folder / "one.patch").write_text(
        f"diff --git a/{name} b/{name}\nindex {ids[0]}..{ids[1]} 100644\n--- a/{name}\n+++ b/{name}\n"
        "@@ -1 +1 @@\n-x = 2\n+x = 9\n"
    )
    (folder / "pin.toml").write_text((SHIPPED / "v0.5.16/pin.toml").read_text().replace("0.5.16", "0.5.14"))
    found = identify(write_tree(tmp_path / "src", applied), access, tmp_path / "store")
    assert (found.series, found.topics, found.strays) == ("v0.5.14", ("one",), ())
    assert "v0.5.14 with the series v0.5.14 applied (topics one); every other file is" in render_text(found)
    without = identify(write_tree(tmp_path / "pristine", NEW), access, tmp_path / "store")
    assert (without.series, without.same) == ("", 3)
