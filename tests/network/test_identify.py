"""On the real package index, a patch is told from its blobs, also where its folder names another release."""

import shutil
from pathlib import Path

import pytest

from patchkit.upstream.access import Access
from patchkit.verbs.identify import identify

ROOT = Path(__file__).parents[2]


@pytest.mark.network
def test_release_is_found_next_to_the_one_that_the_folder_names(tmp_path: Path) -> None:
    folder = tmp_path / "v0.5.17"
    folder.mkdir()
    shutil.copy(ROOT / "patches/v0.5.16/sglang.patch", folder)
    found = identify(folder / "sglang.patch", Access(tmp_path / "cache"))
    assert (found.version, found.same) == ("0.5.16", found.blobs)
    assert found.looked_at <= 3
