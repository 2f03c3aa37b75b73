"""Two versions of a patch, hunk by hunk."""

import pytest

from patchkit.carry.compare import Change, compare
from patchkit.patch.patchtext import read_patch
from tests.rules.carrying import PATH, patch_between

OLD = "".join(f"line {number}\n" for number in range(20))
PATCHED = OLD.replace("line 9\n", "nine\nmore\n")


@pytest.mark.parametrize(
    ("base", "patched", "changes"),
    [
        pytest.param(OLD, PATCHED, [Change.SAME], id="the same"),
        pytest.param("top\n" + OLD, "top\n" + PATCHED, [Change.REFRESHED], id="a line lower"),
        pytest.param(OLD, PATCHED.replace("more\n", "less\n"), [Change.EDITED], id="another added line"),
        pytest.param(OLD, OLD.replace("line 2\n", ""), [Change.NEW, Change.GONE], id="another hunk"),
    ],
)
def test_change(base: str, patched: str, changes: list[Change]) -> None:
    old = read_patch(patch_between({PATH: OLD}, {PATH: PATCHED})).files
    new = read_patch(patch_between({PATH: base}, {PATH: patched})).files
    assert [change for change, _, _ in compare(old, new)] == changes
