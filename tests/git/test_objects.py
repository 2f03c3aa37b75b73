"""The object store keeps trees by content and writes canonical patch text."""

from pathlib import Path

import pytest

from patchkit.upstream.objects import File, ObjectStore


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore.open(tmp_path / "objects.git")


def test_same_files_give_the_same_tree(objects: ObjectStore) -> None:
    files = [("a.py", File(b"1\n")), ('d/odd "name"\n.py', File(b"2"))]
    assert objects.keep("refs/patchkit/x", files, note="x") == objects.keep("refs/patchkit/y", files, note="y")
    assert set(objects.entries("refs/patchkit/x")) == {"a.py", 'd/odd "name"\n.py'}


def test_read_keeps_order_and_tells_what_is_missing(objects: ObjectStore) -> None:
    tree = objects.keep("refs/patchkit/x", [("a", File(b"1\n\n")), ("b", File(b""))], note="x")
    assert objects.read([f"{tree}:b", f"{tree}:none", f"{tree}:a"]) == [b"", None, b"1\n\n"]


def test_diff_is_canonical_and_leaves_no_ref(objects: ObjectStore) -> None:
    before = {"a": File(b"1\n2\n3\n"), "gone": File(b"x\n"), "new": None}
    after = {"a": File(b"1\nII\n3\n"), "gone": None, "new": File(b"n")}
    text = objects.diff(before, after)
    assert text.count(b"diff --git ") == 3
    assert b"\\ No newline at end of file\n" in text
    assert all(
        len(part) == 40
        for line in text.splitlines()
        if line.startswith(b"index ")
        for part in line.split()[1].split(b"..")
    )
    assert objects.refs("refs/patchkit") == {}


def test_store_is_made_once_by_two(tmp_path: Path) -> None:
    first = ObjectStore.open(tmp_path / "objects.git")
    tree = first.keep("refs/patchkit/x", [("a", File(b"1\n"))], note="x")
    assert ObjectStore.open(tmp_path / "objects.git").tree_at("refs/patchkit/x") == tree
