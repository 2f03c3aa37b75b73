"""split, squash and topic change which patch says what, and not what the series does; or they refuse."""

from pathlib import Path

import pytest

from patchkit.errors import ConfigError, ConflictError
from patchkit.patch.hunks import BlobId
from patchkit.render import render_text
from patchkit.store import read_manifest, read_series_names, read_topics
from patchkit.verbs.adopt import adopt_folder
from patchkit.verbs.refresh import refresh_pin
from patchkit.verbs.split import split_topic, tell_plan
from patchkit.verbs.squash import squash_topics
from patchkit.verbs.topic import drop_topic, rename_topic, reorder_topics
from tests.git import patchfolders as make
from tests.git.patchfolders import LIMITS, QUEUE, V13, Field
from tests.git.releases import cache

PIN = "v0.5.13"
LONG = QUEUE + "\n\ndef last():\n    return 1\n\n\ndef very_last():\n    return 2\n"
CHANGED = LONG.replace("import time\n", "import os\nimport time\n").replace("return 2", "return 3")


@pytest.fixture
def field(tmp_path: Path) -> Field:
    """A store with one monolithic topic: two hunks in a file, one in another, a new file, a file of the kernels."""
    release = {**V13, "srt/queue.py": LONG}
    made = make.field(tmp_path)
    cache(tmp_path, {"0.5.13": release})
    kernel = "../sgl-kernel/setup.py"
    before = {**release, kernel: "a = 1\n"}
    after = {**release, "srt/queue.py": CHANGED, "srt/limits.py": LIMITS + "B = 1\n", "srt/new.py": "x = 1\n"}
    made.write("p/sglang.patch", make.mail("all of it", "Needed.", made.diff(before, {**after, kernel: "a = 2\n"})))
    assert adopt_folder([made.base / "p"], made.base, made.access, version="0.5.13").sets[0].composes
    return made


def state(made: Field) -> dict[str, bytes]:
    """Every file of the store."""
    return {str(path): path.read_bytes() for path in (made.base / "patches").rglob("*") if path.is_file()}


def post_images(made: Field) -> dict[str, BlobId | None]:
    return {file.path: file.postimage for file in read_manifest(made.base, PIN).files}


def plan(made: Field, text: str) -> Path:
    return made.write("plan.txt", text)


def test_split_by_file_keeps_every_post_image(field: Field) -> None:
    before = post_images(field)
    result = split_topic(field.base, PIN, "downstream", field.access)
    assert set(result.after) == {"sgl-kernel-setup", "limits", "new", "queue"}
    assert read_series_names(field.base, PIN) == [f"{name}.patch" for name in result.after]
    assert post_images(field) == before
    assert result.removed == (f"patches/{PIN}/downstream.patch",)
    assert f"removed patches/{PIN}/downstream.patch" in render_text(result)
    assert {f"patches/{PIN}/{name}.patch" for name in result.after} < set(result.changed)
    assert all((field.base / path).is_file() for path in result.changed), "what is told as written is there"
    assert refresh_pin(field.base, PIN, field.access, check=True).changed == ()
    text = (field.base / "patches" / PIN / "limits.patch").read_bytes()
    assert b"From: Ada <ada@example.com>" in text
    assert b"Subject: [PATCH] limits: all of it" in text
    assert read_topics(field.base)["limits"].why == "Needed."


def test_split_by_plan_puts_hunks_of_one_file_into_two_topics(field: Field) -> None:
    before = post_images(field)
    text = "imports srt/queue.py#1\nlimits srt/limits.py\nlimits srt/queue.py#2\n"
    result = split_topic(field.base, PIN, "downstream", field.access, plan=plan(field, text))
    assert result.after == ("imports", "limits", "downstream")
    assert post_images(field) == before
    folder = field.base / "patches" / PIN
    assert b"+import os" in (folder / "imports.patch").read_bytes()
    assert b"+    return 3" in (folder / "limits.patch").read_bytes()
    assert b"sgl-kernel" in (folder / "downstream.patch").read_bytes()


def test_plan_that_was_written_is_read_again(field: Field) -> None:
    text = tell_plan(field.base, PIN, "downstream", field.access).plan
    assert "python/sglang/srt/queue.py#2" in text
    assert "very_last" in text
    edited = text.replace("downstream python/sglang/srt/queue.py#1", "imports python/sglang/srt/queue.py#1")
    result = split_topic(field.base, PIN, "downstream", field.access, plan=plan(field, edited))
    assert set(result.after) == {"downstream", "imports"}


def test_name_of_a_deep_file_is_a_topic(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    path = "srt/layers/quantization/compressed_tensors/schemes/compressed_tensors_wna16_moe_of_a_very_long_name.py"
    made.write("p/sglang.patch", made.diff(V13, {**V13, path: "x = 1\n", "srt/limits.py": "A = 1\n"}))
    adopt_folder([made.base / "p"], made.base, made.access, version="0.5.13")
    assert len(split_topic(made.base, PIN, "downstream", made.access).after) == 2


def test_line_that_matches_nothing_refuses_the_plan(field: Field) -> None:
    before = state(field)
    with pytest.raises(ConfigError) as caught:
        split_topic(field.base, PIN, "downstream", field.access, plan=plan(field, "x srt/queue.py#9\n"))
    assert "plan.txt:1" in caught.value.where
    assert state(field) == before


def test_squash_undoes_split(field: Field) -> None:
    before = post_images(field)
    split_topic(field.base, PIN, "downstream", field.access)
    result = squash_topics(field.base, PIN, [], field.access, into="downstream")
    assert result.after == ("downstream",)
    assert post_images(field) == before
    assert b"sgl-kernel" in (field.base / "patches" / PIN / "downstream.patch").read_bytes()


def test_dry_run_of_split_writes_nothing(field: Field) -> None:
    before = state(field)
    assert split_topic(field.base, PIN, "downstream", field.access, dry_run=True).after
    assert state(field) == before


def test_topics_that_overlap_cannot_change_places(field: Field) -> None:
    chain = "one srt/queue.py#1\n"
    split_topic(field.base, PIN, "downstream", field.access, plan=plan(field, chain))
    squashed = squash_topics(field.base, PIN, [], field.access, into="all", dry_run=True)
    assert squashed.after == ("all",)
    moved = reorder_topics(field.base, PIN, ["downstream", "one"], field.access)
    assert moved.same_result
    assert read_series_names(field.base, PIN) == ["downstream.patch", "one.patch"]


def test_order_in_which_a_topic_has_no_place_is_refused(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    one = {"srt/queue.py": make.COUNTED}
    made.write("p/a.patch", made.diff({"srt/queue.py": QUEUE}, one))
    two = {"srt/queue.py": make.COUNTED.replace("+= 1", "+= 2")}
    made.write("p/b.patch", made.diff(one, two))
    adopt_folder([made.base / "p"], made.base, made.access, version="0.5.13")
    before = state(made)
    with pytest.raises(ConflictError) as caught:
        reorder_topics(made.base, PIN, ["b", "a"], made.access)
    assert "python/sglang/srt/queue.py#1" in caught.value.where
    with pytest.raises(ConflictError):
        drop_topic(made.base, PIN, "a", made.access)
    assert state(made) == before
    assert drop_topic(made.base, PIN, "b", made.access).after == ("a",)


def test_rename_changes_no_byte_of_a_patch(field: Field) -> None:
    folder = field.base / "patches" / PIN
    before = (folder / "downstream.patch").read_bytes()
    rename_topic(field.base, "downstream", "everything")
    assert (folder / "everything.patch").read_bytes() == before
    assert not (folder / "downstream.patch").exists()
    assert list(read_topics(field.base)) == ["everything"]
    assert refresh_pin(field.base, PIN, field.access, check=True).changed == ()
