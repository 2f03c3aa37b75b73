"""Patches written between releases: the pin is a commit of a clone, or a directory as it stood."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from patchkit.adopt.arrange import LATEST
from patchkit.errors import CommandError, ConfigError
from patchkit.model import DirectorySource, GitSource
from patchkit.results.adopt import Adopt, TroubleKind
from patchkit.store import pin_names, read_pin
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_pin
from patchkit.verbs.adopt import adopt_folder
from patchkit.verbs.edit import edit_pin
from patchkit.verbs.refresh import refresh_pin
from patchkit.verbs.verify import verify_pins
from tests.git.patchfolders import COUNTED, LIMITS, QUEUE, V14, V15, Field, field, git

# Between V14 and V15: TIMEOUT is 6 in both of the commits, RETRIES changes in the second.
MIDDLE = {**V14, "srt/limits.py": LIMITS.replace("5", "6").replace("2", "3")}
LATER = {**MIDDLE, "srt/queue.py": QUEUE.replace("import time", "import time as clock")}


@pytest.fixture
def made(tmp_path: Path) -> Field:
    """A project with a patch written between v0.5.14 and v0.5.15, and a clone beside it that has such a commit."""
    made = field(tmp_path)
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "-q", "-b", "main")
    commit(clone, V14, "v0.5.14", tag="v0.5.14")
    commit(clone, MIDDLE, "middle")
    commit(clone, LATER, "later")
    commit(clone, V15, "v0.5.15", tag="v0.5.15")
    patched = {**MIDDLE, "srt/queue.py": COUNTED, "srt/limits.py": MIDDLE["srt/limits.py"] + "BURST = 1\n"}
    made.write("docker/patch/latest/sglang.patch", made.diff(MIDDLE, patched))
    return made


def commit(clone: Path, files: Mapping[str, str], message: str, *, tag: str = "") -> None:
    write(clone, files)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", message)
    if tag:
        git(clone, "tag", tag)


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        target = folder / "python/sglang" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def adopt(made: Field, base: Path | None, *, version: str | None = None) -> Adopt:
    return adopt_folder([made.base / "docker/patch"], made.base, made.access, base=base, version=version)


def middle(clone: Path) -> str:
    return git(clone, "rev-parse", "HEAD~2").strip()


def test_without_a_clone_the_report_says_what_is_missing_and_how_to_get_it(made: Field) -> None:
    result = adopt(made, None)
    assert result.exit_code == 0
    mixed = next(trouble for trouble in result.troubles if trouble.kind is TroubleKind.MIXED)
    assert mixed.found.startswith("v0.5.13 has 1 of 2 preimage blobs")
    assert mixed.hint.endswith("patchkit import --upstream CLONE")


def test_series_that_does_not_apply_to_the_nearest_release_says_how_to_begin_again(made: Field, tmp_path: Path) -> None:
    after = {**LATER, "srt/queue.py": LATER["srt/queue.py"].replace("as clock", "as watch"), "version.py": "mine\n"}
    made.write("docker/patch/latest/sglang.patch", made.diff(LATER, after))
    result = adopt(made, None)
    assert not result.sets[0].composes
    assert result.next_step.startswith(f"rm -r patches/{result.sets[0].pin} && patchkit import --upstream CLONE ")
    shutil.rmtree(made.base / "patches" / result.sets[0].pin)
    again = adopt(made, tmp_path / "clone")
    assert (again.sets[0].composes, again.next_step) == (True, "patchkit verify --all")
    assert (made.base / "patches" / LATEST).read_text().strip() == again.sets[0].pin


def test_partial_takes_what_has_a_place_and_keeps_the_rest(made: Field) -> None:
    after = {
        **LATER,
        "srt/queue.py": LATER["srt/queue.py"]
        .replace("as clock", "as watch")
        .replace("queue.pop()", "queue.pop().close()"),
        "version.py": "two\n# mine\n",
    }
    made.write("docker/patch/latest/sglang.patch", b"Description: mine\n\n" + made.diff(LATER, after))
    result = adopt_folder([made.base / "docker/patch"], made.base, made.access, partial=True)
    (each,) = result.sets
    folder = made.base / "patches" / each.pin
    assert (each.composes, each.left_out, result.next_step) == (True, ("downstream.rej",), "patchkit verify --all")
    assert "NO_PLACE" in {trouble.kind.name for trouble in result.troubles}, "what is left out is still told"
    text = (folder / "downstream.patch").read_text()
    assert text.startswith("Description: mine\n\n")
    assert "queue.pop().close()" in text
    left = (folder / "downstream.rej").read_text()
    assert "+import time as watch" in left
    assert "close()" not in left
    verified = verify_pins(made.base, [each.pin], made.access)
    assert [
        finding.rule for subject in verified.subjects for finding in subject.findings if finding.severity == "error"
    ] == []
    assert (
        adopt_folder([made.base / "docker/patch"], made.base, made.access, partial=True)
        .sets[0]
        .reason.startswith("already")
    )


def test_partial_leaves_a_set_that_applies_as_it_is(made: Field, tmp_path: Path) -> None:
    source = made.base / "docker/patch/latest/sglang.patch"
    result = adopt_folder([source.parent], made.base, made.access, base=tmp_path / "clone", partial=True)
    assert result.sets[0].left_out == ()
    assert (made.base / "patches" / result.sets[0].pin / "downstream.patch").read_bytes() == source.read_bytes()


def test_commit_of_a_clone_becomes_the_pin(made: Field, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    result = adopt(made, clone)
    version = f"0.5.14+g{middle(clone)[:10]}"
    assert [(each.pin, each.same, each.blobs, each.composes) for each in result.sets] == [(f"v{version}", 2, 2, True)]
    assert result.troubles == ()
    pin = read_pin(made.base, f"v{version}")
    assert (pin.commit, pin.source, pin.base_images) == (middle(clone), GitSource(str(clone)), ())
    assert verify_pins(made.base, pin_names(made.base), made.access).exit_code == 0


def test_remote_of_the_clone_is_what_the_pin_names(made: Field, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(clone, "remote", "add", "origin", "https://sglang.invalid/sglang.git")
    adopt(made, clone)
    (name,) = pin_names(made.base)
    pin = read_pin(made.base, name)
    assert pin.source == GitSource("https://sglang.invalid/sglang.git")
    shutil.rmtree(clone)
    assert bring_pin(pin, made.access).version == pin.version  # by its id, out of the cache


def test_pin_that_is_not_in_the_cache_is_fetched_by_its_id(made: Field, tmp_path: Path) -> None:
    adopt(made, tmp_path / "clone")
    (name,) = pin_names(made.base)
    pin = read_pin(made.base, name)
    assert bring_pin(pin, Access(tmp_path / "other", offline=True)).tree == pin.tree
    shutil.rmtree(tmp_path / "clone")
    with pytest.raises(CommandError, match="is not in the cache"):
        bring_pin(pin, Access(tmp_path / "third", offline=True))


def test_release_in_the_clone_keeps_its_name(made: Field, tmp_path: Path) -> None:
    after = {**V15, "srt/limits.py": V15["srt/limits.py"] + "BURST = 1\n"}
    made.write("docker/patch/latest/sglang.patch", made.diff(V15, after))
    adopt(made, tmp_path / "clone")
    assert pin_names(made.base) == ["v0.5.15"]
    assert read_pin(made.base, "v0.5.15").commit == git(tmp_path / "clone", "rev-parse", "v0.5.15").strip()


def test_commit_off_the_first_parents_is_found_by_its_tag(made: Field, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(clone, "switch", "-q", "-c", "release", "HEAD~2")
    other = {**MIDDLE, "srt/limits.py": "LIMIT = 99\n"}
    commit(clone, other, "picked", tag="v0.5.14.post1")
    git(clone, "switch", "-q", "main")
    made.write("docker/patch/latest/sglang.patch", made.diff(other, {**other, "srt/limits.py": "LIMIT = 100\n"}))
    assert adopt(made, clone).sets[0].pin == "v0.5.14.post1"


def test_commit_can_be_named_where_ids_say_nothing(made: Field, tmp_path: Path) -> None:
    text = (made.base / "docker/patch/latest/sglang.patch").read_text()
    bare = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("index "))
    made.write("docker/patch/latest/sglang.patch", bare)
    clone = tmp_path / "clone"
    result = adopt(made, clone, version=middle(clone)[:12])
    assert (result.sets[0].pin, result.sets[0].composes) == (f"v0.5.14+g{middle(clone)[:10]}", True)


def test_clone_without_tags_or_version_file_says_what_it_needs(made: Field, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(clone, "tag", "-d", "v0.5.14", "v0.5.15")
    with pytest.raises(ConfigError, match="nothing tells which release") as caught:
        adopt(made, clone)
    assert caught.value.hint == f"git -C {clone} fetch --tags"
    assert adopt(made, clone, version="0.5.14").sets[0].pin == f"v0.5.14+g{middle(clone)[:10]}"


def test_directory_becomes_the_pin_and_may_change_afterwards(made: Field, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write(tree, MIDDLE)
    result = adopt(made, tree)
    (name,) = pin_names(made.base)
    assert name.startswith("v0.5.14+d")
    assert result.sets[0].composes
    pin = read_pin(made.base, name)
    assert pin.source == DirectorySource(str(tree))
    write(tree, V15)
    assert bring_pin(pin, made.access).tree == pin.tree
    assert verify_pins(made.base, pin_names(made.base), made.access).exit_code == 0
    with pytest.raises(ConfigError, match="is not the tree of its pin"):
        bring_pin(pin, Access(tmp_path / "other", offline=True))
    shutil.rmtree(tree)
    with pytest.raises(CommandError, match="the directory that it was is not here"):
        bring_pin(pin, Access(tmp_path / "other", offline=True))


def test_edit_and_refresh_of_a_pin_between_releases_change_no_byte(made: Field, tmp_path: Path) -> None:
    adopt(made, tmp_path / "clone")
    (name,) = pin_names(made.base)
    before = {path: path.read_bytes() for path in (made.base / "patches").rglob("*") if path.is_file()}
    edit_pin(made.base, name, made.access)
    refresh_pin(made.base, name, made.access)
    assert {path: path.read_bytes() for path in (made.base / "patches").rglob("*") if path.is_file()} == before
    assert (made.base / "patches" / LATEST).read_text() == f"{name}\n"
