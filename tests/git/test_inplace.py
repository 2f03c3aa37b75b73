"""A store in place: no file moves, and what is written goes where the project would have it."""

from pathlib import Path

import pytest

from patchkit.engines.series_image import write_context
from patchkit.errors import ConfigError
from patchkit.store import latest_pin, read_series, write_new_pin
from patchkit.verbs.adopt import adopt_folder
from patchkit.verbs.apply import Wish, apply_series
from patchkit.verbs.edit import edit_pin
from patchkit.verbs.rebase import Wish as RebaseWish
from patchkit.verbs.rebase import abort_rebase, begin_rebase
from patchkit.verbs.refresh import refresh_pin
from patchkit.verbs.split import split_topic
from patchkit.verbs.topic import drop_topic
from patchkit.verbs.verify import verify_pins
from tests.git import patchfolders as make
from tests.git.patchfolders import COUNTED, GUARDED, QUEUE, V15, Field, git
from tests.git.releases import keep_release


@pytest.fixture
def field(tmp_path: Path) -> Field:
    made = make.sound(tmp_path)
    guard = made.diff({**V15, "srt/queue.py": COUNTED}, {**V15, "srt/queue.py": GUARDED})
    made.write("docker/patch/v0.5.15/queue_guard.diff", guard)
    return made


def theirs(made: Field) -> dict[str, bytes]:
    folder = made.base / "docker"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def adopt(made: Field) -> None:
    result = adopt_folder([made.base / "docker/patch"], made.base, made.access, in_place=True)
    assert all(each.written for each in result.sets)


def test_no_file_of_the_project_changes(field: Field) -> None:
    before = theirs(field)
    adopt(field)
    assert theirs(field) == before
    link = field.base / "patches/v0.5.15/downstream.patch"
    assert link.is_symlink()
    assert link.resolve() == field.base / "docker/patch/v0.5.15/sglang.patch"
    assert latest_pin(field.base) == "v0.5.15"
    assert verify_pins(field.base, ["v0.5.15"], field.access).subjects[0].errors == 0


def test_edit_is_written_where_the_project_has_the_patch(field: Field) -> None:
    adopt(field)
    before = theirs(field)
    folder = Path(edit_pin(field.base, "v0.5.15", field.access).folder)
    assert refresh_pin(field.base, "v0.5.15", field.access).changed == ()
    target = folder / "python/sglang/srt/queue.py"
    target.write_text(target.read_text().replace("else None", "else 0"))
    git(folder, "commit", "-q", "-a", "--amend", "--no-edit")
    refresh_pin(field.base, "v0.5.15", field.access)
    after = theirs(field)
    assert {name for name in after if after[name] != before.get(name)} == {"patch/v0.5.15/queue_guard.diff"}
    assert (field.base / "patches/v0.5.15/queue-guard.patch").is_symlink()
    assert b"else 0" in after["patch/v0.5.15/queue_guard.diff"]


def test_new_pin_looks_like_its_neighbours(field: Field) -> None:
    adopt(field)
    write_new_pin(
        field.base, "v0.5.16", {"queue-guard.patch": b"g", "downstream.patch": b"d", "new.patch": b"n", "series": b""}
    )
    folder = field.base / "docker/patch/v0.5.16"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "sglang.patch": b"d", "queue_guard.diff": b"g", "sglang-new.patch": b"n",
    }  # fmt: skip
    assert (field.base / "patches/v0.5.16/queue-guard.patch").read_bytes() == b"g"
    assert not (field.base / "patches/v0.5.16/series").is_symlink()


def test_pin_that_cannot_be_written_leaves_nothing(field: Field) -> None:
    adopt(field)
    (field.base / "docker/patch/v0.5.16").mkdir()
    (field.base / "docker/patch/v0.5.16/sglang.patch").write_bytes(b"other")
    with pytest.raises(ConfigError, match="with other content"):
        write_new_pin(field.base, "v0.5.16", {"queue-guard.patch": b"g", "downstream.patch": b"d"})
    assert not (field.base / "patches/v0.5.16").exists()
    assert not (field.base / "docker/patch/v0.5.16/queue_guard.diff").exists()


def test_split_leaves_its_pieces_in_the_project(field: Field) -> None:
    adopt(field)
    split_topic(field.base, "v0.5.15", "downstream", field.access)
    names = {path.name for path in (field.base / "docker/patch/v0.5.15").iterdir()}
    assert names == {"sglang-limits.patch", "sglang-queue.patch", "queue_guard.diff"}
    assert len(read_series(field.base, "v0.5.15").topics) == 3


def test_folder_outside_of_the_project_is_refused(field: Field, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--in-place takes one folder"):
        adopt_folder([field.base / "docker/patch"], tmp_path / "elsewhere", field.access, in_place=True)


# -- the other verbs on a store in place ----------------------------------------------------------------------


def upstream_checkout(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = folder / "python/sglang" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.py")}


def test_apply_and_reverse_read_the_linked_patches(field: Field, tmp_path: Path) -> None:
    adopt(field)
    checkout = upstream_checkout(tmp_path / "checkout", V15)
    pristine = content(checkout)
    apply_series(checkout, field.base, "v0.5.15", Wish())
    assert "if self.items else None" in (checkout / "python/sglang/srt/queue.py").read_text()
    apply_series(checkout, field.base, "v0.5.15", Wish(reverse=True))
    assert content(checkout) == pristine


def test_rebase_writes_the_new_pin_into_the_project(field: Field) -> None:
    adopt(field)
    keep_release(field.access, "0.5.16", {**V15, "srt/limits.py": "FIRST = 0\n" + V15["srt/limits.py"]})
    before = theirs(field)
    assert begin_rebase(field.base, field.access, RebaseWish("v0.5.16")).exit_code == 0
    after = theirs(field)
    assert {name: after[name] for name in before} == before
    assert sorted(after.keys() - before) == ["patch/v0.5.16/queue_guard.diff", "patch/v0.5.16/sglang.patch"]
    assert (field.base / "patches/v0.5.16/downstream.patch").is_symlink()
    assert latest_pin(field.base) == "v0.5.16"
    verified = verify_pins(field.base, ["v0.5.16"], field.access)
    assert verified.subjects[1].errors == 0, verified
    series = read_series(field.base, "v0.5.16")
    assert [topic.topic for topic in series.topics] == ["downstream", "queue-guard"]


def test_aborted_rebase_leaves_the_project_as_it_was(field: Field) -> None:
    adopt(field)
    overlap = {**V15, "srt/queue.py": QUEUE.replace("return self.items.pop()", "return self.items.popleft()")}
    keep_release(field.access, "0.5.16", overlap)
    before = theirs(field)
    assert begin_rebase(field.base, field.access, RebaseWish("v0.5.16")).exit_code == 3
    abort_rebase(field.base)
    assert theirs(field) == before
    assert latest_pin(field.base) == "v0.5.15"


def test_build_context_has_contents_and_no_link(field: Field, tmp_path: Path) -> None:
    adopt(field)
    context = tmp_path / "context"
    context.mkdir()
    write_context(field.base, "v0.5.15", context)
    assert not [path for path in context.rglob("*") if path.is_symlink()]
    assert b"if self.items else None" in (context / "sglang.patch").read_bytes()


def test_dropped_topic_leaves_the_project_too(field: Field) -> None:
    adopt(field)
    drop_topic(field.base, "v0.5.15", "queue-guard", field.access)
    assert not (field.base / "docker/patch/v0.5.15/queue_guard.diff").exists()
    assert not (field.base / "patches/v0.5.15/queue-guard.patch").is_symlink()
    assert verify_pins(field.base, ["v0.5.15"], field.access).subjects[1].errors == 0
