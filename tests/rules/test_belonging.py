"""Blob ids say which release a patch belongs to; names only break ties."""

import pytest

from patchkit.patch.patchtext import read_patch
from patchkit.upstream.belonging import judge_matches, match_release, same_id, stated_preimages

A, B = "python/sglang/a.py", "python/sglang/b.py"


def patch(path: str, before: str, after: str) -> bytes:
    return (
        f"diff --git a/{path} b/{path}\nindex {before}..{after} 100644\n--- a/{path}\n+++ b/{path}\n"
        "@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    ).encode()


def test_pin_states_the_id_that_no_other_patch_leaves_behind() -> None:
    later, first = read_patch(patch(A, "2222222", "3333333")), read_patch(patch(A, "1111111", "2222222"))
    assert stated_preimages([later, first]) == {A: "1111111"}


def test_paths_outside_the_package_say_nothing() -> None:
    assert stated_preimages([read_patch(patch("sgl-kernel/a.py", "1111111", "2222222"))]) == {}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("11111", "1111122222", True, id="abbreviated"),
        pytest.param("11112", "1111122222", False, id="other"),
        pytest.param("", "1111122222", False, id="absent"),
    ],
)
def test_ids_are_the_same_as_far_as_both_are_given(one: str, other: str, same: bool) -> None:
    assert same_id(one, other) is same


def test_most_blobs_win_over_the_label() -> None:
    stated = {A: "1111111", B: "2222222"}
    whole = match_release("0.5.13", stated, {A: "1" * 40, B: "2" * 40})
    part = match_release("0.5.14", stated, {A: "1" * 40, B: "3" * 40})
    judged = judge_matches([part, whole], preferred=["0.5.14"])
    assert judged.best == whole
    assert judged.best.is_whole
    assert not judged.is_mixed


def test_label_breaks_a_tie_and_the_others_are_told() -> None:
    stated = {A: "1111111"}
    matches = [match_release(version, stated, {A: "1" * 40}) for version in ("0.5.13", "0.5.14", "0.5.13.post1")]
    judged = judge_matches(matches, preferred=["0.5.14"])
    assert judged.best is not None
    assert judged.best.version == "0.5.14"
    assert judged.ties == ("0.5.13", "0.5.13.post1")


def test_files_of_two_releases_are_mixed() -> None:
    stated = {A: "1111111", B: "2222222"}
    one = match_release("0.5.13", stated, {A: "1" * 40, B: None})
    other = match_release("0.5.14", stated, {A: None, B: "2" * 40})
    assert judge_matches([one, other]).is_mixed


def test_no_blob_anywhere_is_no_release() -> None:
    assert judge_matches([match_release("0.5.13", {A: "1111111"}, {A: "2" * 40})]).best is None
