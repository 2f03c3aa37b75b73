"""The generated files follow from the series alone, and refresh tells when they do not."""

from pathlib import Path

import pytest

from patchkit.errors import ConflictError
from patchkit.model import CommitId, Distribution, Pin, Series, TreeId
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.patchtext import blob_id, read_patch
from patchkit.series.generated import generate
from patchkit.store import pin_names, read_series
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream, bring_pin
from patchkit.upstream.objects import File, ObjectStore
from patchkit.verbs.refresh import refresh_pin

A = "python/sglang/a.py"
ONE = b"""diff --git a/python/sglang/a.py b/python/sglang/a.py
--- a/python/sglang/a.py
+++ b/python/sglang/a.py
@@ -1,3 +1,4 @@
 def f():
     x = 1
+    y = 2
     return x
"""
TWO = b"""diff --git a/python/sglang/a.py b/python/sglang/a.py
--- a/python/sglang/a.py
+++ b/python/sglang/a.py
@@ -1,4 +1,3 @@
 def f():
-    x = 1
     y = 2
-    return x
+    return y
"""
BEFORE = b"def f():\n    x = 1\n    return x\n"
AFTER = b"def f():\n    y = 2\n    return y\n"


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    objects = ObjectStore.open(tmp_path / "objects.git")
    objects.keep("refs/patchkit/x", [(A, File(BEFORE))], note="x")
    tree = objects.tree_at("refs/patchkit/x", "python/sglang")
    assert tree is not None
    return Upstream("0.5.99", "refs/patchkit/x", tree, objects)


def series(*texts: bytes) -> Series:
    pin = Pin("0.5.99", CommitId("0" * 40), TreeId("1" * 40), Distribution("x.whl", "0" * 64))
    return Series(pin, tuple(TopicPatch(f"t{n}", read_patch(text)) for n, text in enumerate(texts, start=1)))


def test_manifest_locks_ids_scope_and_topics(upstream: Upstream) -> None:
    generated = generate(series(ONE, TWO), upstream)
    (file,) = generated.manifest.files
    assert (file.preimage, file.postimage) == (blob_id(BEFORE), blob_id(AFTER))
    (hunk,) = file.hunks
    assert (hunk.scope, hunk.topics) == ("f", ("t1", "t2"))


def test_combined_patch_goes_straight_from_pin_to_result(upstream: Upstream) -> None:
    combined = generate(series(ONE, TWO), upstream).combined
    assert b"-    x = 1\n-    return x\n+    y = 2\n+    return y\n" in combined


def test_same_series_gives_the_same_bytes(upstream: Upstream) -> None:
    assert generate(series(ONE, TWO), upstream).files() == generate(series(ONE, TWO), upstream).files()


def test_series_that_does_not_compose_names_every_hunk(upstream: Upstream) -> None:
    with pytest.raises(ConflictError) as caught:
        generate(series(TWO, ONE), upstream)
    assert "python/sglang/a.py#1 (t1.patch:4)" in caught.value.where


@pytest.mark.network
def test_shipped_generated_files_are_current(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    access = Access(tmp_path / "cache")
    for pin in pin_names(root):
        assert refresh_pin(root, pin, access, check=True).changed == ()


@pytest.mark.network
def test_git_takes_the_shipped_patch_without_offset(tmp_path: Path) -> None:
    from patchkit.process import run

    root = Path(__file__).parents[2]
    access = Access(tmp_path / "cache")
    for pin in pin_names(root):
        checkout = tmp_path / pin
        bring_pin(read_series(root, pin).pin, access).write_to(checkout)
        patch = root / "patches" / pin / "sglang.patch"
        done = run(
            ["git", "apply", "--check", "--verbose", str(patch)],
            cwd=checkout,
            timeout_s=60,
            env={"GIT_DIR": str(tmp_path / "none")},
        )
        assert b"offset" not in done.stderr
        assert b"Checking patch" in done.stderr
