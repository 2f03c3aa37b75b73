"""The alignment of two texts: what is kept, what never crosses, and that git agrees."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.carry.align import align, changed_blocks
from patchkit.process import run

LINES = st.lists(st.sampled_from("abcdefg"), max_size=24)


@given(LINES, LINES)
def test_blocks_rebuild_the_new_text(old: list[str], new: list[str]) -> None:
    built, at = [], 0
    for block in changed_blocks(old, new):
        built += old[at : block.lo] + new[block.new_lo : block.new_hi]
        at = block.hi
    assert built + old[at:] == new


@given(LINES, LINES)
def test_matches_never_cross(old: list[str], new: list[str]) -> None:
    kept = [there for there in align(old, new).to_new if there >= 0]
    assert kept == sorted(set(kept))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("a b c d e", "a x c d y e", id="two edits"),
        pytest.param("a b a b a b z", "b a b z a b", id="repeated lines"),
        pytest.param("f { } g { } h { }", "g { } f { } h { }", id="moved blocks"),
    ],
)
def test_as_many_lines_are_kept_as_by_git(old: str, new: str, tmp_path: Path) -> None:
    for name, text in (("old", old), ("new", new)):
        (tmp_path / name).write_text("".join(f"{word}\n" for word in text.split()))
    command = ["git", "diff", "--no-index", "--histogram", "--numstat", "old", "new"]
    answer = run(command, cwd=tmp_path, timeout_s=10, allowed=(0, 1)).stdout.split()
    kept = sum(there >= 0 for there in align(old.split(), new.split()).to_new)
    assert kept == len(old.split()) - int(answer[1])
