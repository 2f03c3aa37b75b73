"""An edit goes out and comes back: nothing changes where nothing was done, else that alone which was done."""

import re
import shutil
from datetime import date
from pathlib import Path

import pytest

from patchkit.errors import ConfigError
from patchkit.model import Met
from patchkit.render import render_text
from patchkit.results.refresh import Refresh, TopicState
from patchkit.results.status import Status
from patchkit.store import read_series_names, read_topics
from patchkit.verbs.adopt import adopt_folder
from patchkit.verbs.edit import begin_topic, close_edit, edit_pin
from patchkit.verbs.refresh import refresh_pin
from patchkit.verbs.status import tell_status
from patchkit.verbs.verify import verify_pins
from tests.git import patchfolders as make
from tests.git.patchfolders import COUNTED, GUARDED, LIMITS, V13, Field, git
from tests.git.releases import cache

PIN = "v0.5.13"
KERNEL = "../sgl-kernel/setup.py"
DEP3 = "Description: count\n Why.\nForwarded: no\n\nSigned-off-by: Ada <ada@example.com>"


@pytest.fixture
def field(tmp_path: Path) -> Field:
    """A store with three topics: two on one file, one with a file of the kernels; odd bytes on purpose."""
    made = make.field(tmp_path)
    before = {**V13, KERNEL: "a = 1\n"}
    made.write(
        "p/0001-count.patch", make.mail("count: what is pushed", DEP3, made.diff(V13, {**V13, "srt/queue.py": COUNTED}))
    )
    made.write("p/0002-guard.patch", made.diff({"srt/queue.py": COUNTED}, {"srt/queue.py": GUARDED}))
    limits = made.diff(before, {**before, "srt/limits.py": LIMITS + "B = 1\n", KERNEL: "a = 2\n"})
    short = b"\n".join(line[:15] + b".." + line[48:57] + b" 100644" if line.startswith(b"index ") else line
                       for line in limits.split(b"\n"))  # fmt: skip
    made.write("p/0003-limits.patch", short)
    assert adopt_folder([made.base / "p"], made.base, made.access).sets[0].composes
    return made


def files(made: Field) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (made.base / "patches" / PIN).iterdir()}


def refresh(made: Field, *, check: bool = False) -> Refresh:
    return refresh_pin(made.base, PIN, made.access, check=check)


def states(result: Refresh) -> dict[str, TopicState]:
    return {change.topic: change.state for change in result.topics}


def worktree(made: Field) -> Path:
    return Path(edit_pin(made.base, PIN, made.access).folder)


def amend(folder: Path, path: str, old: str, new: str, *arguments: str) -> None:
    target = folder / "python/sglang" / path
    text = target.read_text()
    assert old in text
    target.write_text(text.replace(old, new))
    git(folder, "commit", "-q", "-a", *(arguments or ("--amend", "--no-edit")))


def test_edit_without_an_edit_changes_no_byte(field: Field) -> None:
    before = files(field)
    folder = worktree(field)
    assert (folder / "python/sglang/srt/queue.py").read_text() == GUARDED
    result = refresh(field)
    assert result.changed == ()
    assert set(states(result).values()) == {TopicState.UNCHANGED}
    assert files(field) == before


def test_bake_file_is_written_with_the_rest(field: Field) -> None:
    pin = field.base / "patches" / PIN / "pin.toml"
    pin.write_text(re.sub("(?m)^base_images.*$", 'base_images = ["lmsysorg/sglang:v0.5.13"]', pin.read_text()))
    assert "lmsysorg" in pin.read_text()
    (field.base / "version.txt").write_text("nightly-dev-20260105a\n")
    (field.base / "patches/latest").write_text(f"{PIN}\n")
    bake = field.base / "docker/docker-bake.json"
    bake.parent.mkdir()
    bake.write_text("stale")

    assert refresh(field, check=True).changed == ("docker/docker-bake.json",)
    assert bake.read_text() == "stale"
    assert refresh(field).changed == ("docker/docker-bake.json",)
    assert refresh(field).changed == ()


def test_who_commits_in_the_store_commits_in_the_edit(field: Field) -> None:
    git(field.base, "init", "-q", "-b", "main", ".")
    git(field.base, "config", "user.name", "Ada Only Here")
    git(field.base, "config", "user.email", "here@example.com")
    folder = worktree(field)
    assert git(folder, "config", "user.name").strip() == "Ada Only Here"
    assert git(folder, "config", "user.email").strip() == "here@example.com"


def test_commits_say_what_the_patches_say(field: Field) -> None:
    folder = worktree(field)
    shown = git(folder, "log", "--reverse", "--format=%an|%ae|%aD|%s", "refs/patchkit/base..topics").splitlines()
    assert shown[0] == "Ada|ada@example.com|Mon, 5 Jan 2026 10:00:00 +0100|count: what is pushed"
    assert git(folder, "log", "-1", "--format=%b", "topics~2").startswith(DEP3)
    assert shown[1].endswith("|guard")


def test_edit_of_the_last_topic_touches_that_topic_alone(field: Field) -> None:
    before = files(field)
    amend(worktree(field), "srt/limits.py", "B = 1", "B = 2")
    result = refresh(field)
    assert states(result) == {
        "count": TopicState.UNCHANGED, "guard": TopicState.UNCHANGED, "limits": TopicState.EDITED,
    }  # fmt: skip
    after = files(field)
    assert {name for name in before if before[name] != after[name]} == {"limits.patch", "sglang.patch", "manifest.json"}
    assert b"+B = 2" in after["limits.patch"]
    assert b"sgl-kernel" in after["limits.patch"]
    assert verify_pins(field.base, [PIN], field.access).subjects[0].errors == 0
    assert refresh(field).changed == ()


def test_edit_below_only_refreshes_what_is_above(field: Field) -> None:
    folder = Path(edit_pin(field.base, PIN, field.access, topic="count").folder)
    assert (folder / "python/sglang/srt/queue.py").read_text() == COUNTED
    amend(folder, "srt/queue.py", "import time\n", "import os\nimport time\n")
    with pytest.raises(ConfigError, match="in the middle of a rebase"):
        refresh(field)
    git(folder, "-c", "core.editor=true", "rebase", "--continue")
    result = refresh(field)
    assert states(result) == {
        "count": TopicState.EDITED, "guard": TopicState.REFRESHED, "limits": TopicState.UNCHANGED,
    }  # fmt: skip
    text = files(field)["count.patch"]
    assert text.startswith(b"From 0123456789abcdef")  # the message was not touched, so its bytes are the old ones
    assert b"+import os" in text
    assert refresh(field, check=True).exit_code == 0


def test_reworded_topic_keeps_its_diff(field: Field) -> None:
    before = files(field)["limits.patch"]
    folder = worktree(field)
    git(folder, "commit", "-q", "--amend", "-m", "limits: say why\n\nBecause.\n\nPatchkit-Topic: limits")
    assert states(refresh(field))["limits"] is TopicState.REWORDED
    after = files(field)["limits.patch"]
    assert after.endswith(before)
    assert b"Subject: [PATCH] limits: say why\n\nBecause.\n\ndiff --git" in after
    assert b"Patchkit-Topic" not in after


def test_fixup_goes_into_the_topic_that_it_names(field: Field) -> None:
    folder = worktree(field)
    count = git(folder, "rev-parse", "topics~2").strip()
    amend(folder, "srt/queue.py", "import time\n", "import os\nimport time\n", f"--fixup={count}")
    assert states(refresh(field))["count"] is TopicState.EDITED
    assert b"+import os" in files(field)["count.patch"]


def test_new_commit_becomes_a_topic(field: Field) -> None:
    folder = worktree(field)
    amend(folder, "srt/limits.py", "RETRIES = 2", "RETRIES = 3", "-m", "retries: try once more\n\nOne is not enough.")
    assert states(refresh(field))["retries"] is TopicState.NEW
    assert read_series_names(field.base, PIN) == ["count.patch", "guard.patch", "limits.patch", "retries.patch"]
    assert read_topics(field.base)["retries"].why == "One is not enough."


def test_dropped_and_reordered_commits_change_the_series(field: Field) -> None:
    folder = worktree(field)
    limits, guard, count = git(folder, "rev-parse", "topics", "topics~1", "topics~2").split()
    git(folder, "reset", "-q", "--hard", "refs/patchkit/base")
    git(folder, "cherry-pick", "--allow-empty", limits, count)
    assert states(refresh(field))["guard"] is TopicState.GONE
    assert read_series_names(field.base, PIN) == ["limits.patch", "count.patch"]
    assert not (field.base / "patches" / PIN / "guard.patch").exists()
    assert guard


def test_check_writes_nothing_and_says_what_would_be_written(field: Field, tmp_path: Path) -> None:
    before = files(field)
    amend(worktree(field), "srt/limits.py", "B = 1", "B = 2")
    result = refresh_pin(field.base, PIN, field.access, check=True, output=tmp_path / "out")
    assert result.exit_code == 4
    assert files(field) == before
    assert b"+B = 2" in (tmp_path / "out/patches" / PIN / "limits.patch").read_bytes()


def test_uncommitted_work_is_not_lost_and_not_taken(field: Field) -> None:
    before = files(field)
    folder = worktree(field)
    target = folder / "python/sglang/srt/limits.py"
    target.write_text("LIMIT = 99\n")
    with pytest.raises(ConfigError) as caught:
        refresh(field)
    assert "python/sglang/srt/limits.py" in caught.value.found
    assert edit_pin(field.base, PIN, field.access).unfinished == ("python/sglang/srt/limits.py",)
    with pytest.raises(ConfigError):
        close_edit(field.base, PIN)
    again = edit_pin(field.base, PIN, field.access, fresh=True)
    assert (Path(again.aside) / "python/sglang/srt/limits.py").read_text() == "LIMIT = 99\n"
    assert files(field) == before


def test_series_that_changed_beside_the_edit_is_not_overwritten(field: Field) -> None:
    amend(worktree(field), "srt/limits.py", "B = 1", "B = 2")
    patch = field.base / "patches" / PIN / "guard.patch"
    patch.write_bytes(b"Description: changed by hand\n\n" + patch.read_bytes())
    before = files(field)
    with pytest.raises(ConfigError, match="was changed since the edit began"):
        refresh(field)
    assert files(field) == before


def test_untouched_edit_follows_the_series(field: Field) -> None:
    worktree(field)
    patch = field.base / "patches" / PIN / "guard.patch"
    patch.write_bytes(b"Description: changed by hand\n\n" + patch.read_bytes())
    assert edit_pin(field.base, PIN, field.access).created
    assert refresh(field).changed == (f"patches/{PIN}/manifest.json",)


def test_merge_is_refused(field: Field) -> None:
    folder = worktree(field)
    git(folder, "checkout", "-q", "-b", "side", "topics~1")
    amend(folder, "srt/limits.py", "RETRIES = 2", "RETRIES = 3", "-m", "side")
    git(folder, "checkout", "-q", "topics")
    git(folder, "merge", "-q", "-s", "ours", "-m", "merge", "side")
    with pytest.raises(ConfigError, match="holds a merge"):
        refresh(field)


def test_closed_edit_is_gone(field: Field) -> None:
    folder = worktree(field)
    assert close_edit(field.base, PIN).closed
    assert not folder.exists()


def test_canonical_writes_full_ids(field: Field) -> None:
    result = refresh_pin(field.base, PIN, field.access, canonical_text=True)
    assert states(result) == {
        "count": TopicState.REFRESHED, "guard": TopicState.REWORDED, "limits": TopicState.REWORDED,
    }  # fmt: skip
    assert make.digest(LIMITS).encode() in files(field)["limits.patch"]


def test_user_settings_change_no_byte(field: Field, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sealed / "hostile").write_text("[core]\n autocrlf = true\n[diff]\n noprefix = true\n[commit]\n gpgsign = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(sealed / "hostile"))
    before = files(field)
    folder = worktree(field)
    assert b"\r" not in (folder / "python/sglang/srt/queue.py").read_bytes()
    assert refresh(field).changed == ()
    assert files(field) == before


def test_mode_that_a_wheel_has_lost_is_kept(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    patch = made.diff(V13, {**V13, "srt/limits.py": LIMITS + "B = 1\n"}).replace(b" 100644\n", b" 100755\n")
    made.write("p/run.patch", patch)
    adopt_folder([made.base / "p"], made.base, made.access, version="0.5.13")
    folder = worktree(made)
    assert refresh(made).changed == ()
    amend(folder, "srt/limits.py", "B = 1", "B = 2")
    assert refresh(made).changed
    text = files(made)["run.patch"]
    assert b" 100755\n" in text
    assert b"old mode" not in text


def test_status_names_the_edit_that_holds_work(field: Field) -> None:
    def told() -> Status:
        return tell_status(field.base, field.access, today=date(2026, 11, 30))

    folder = worktree(field)
    assert (told().edits, told().next_step) == ((), "patchkit run")
    assert set(told().todos) == {"count", "guard", "limits"}
    amend(folder, "srt/limits.py", "B = 1", "B = 2")
    assert told().edits == (PIN,)
    assert told().next_step.startswith(f"patchkit refresh {PIN}")


def test_status_judges_what_ends_a_topic(field: Field) -> None:
    path = field.base / "patches/topics.toml"
    path.write_text(path.read_text().replace("[guard]\n", '[guard]\nuntil = ">=0.5.15"\n'))
    told = tell_status(field.base, field.access, today=date(2026, 11, 30))
    assert [(verdict.topic, verdict.met) for verdict in told.until] == [("guard", Met.YES)]
    assert "guard: until >=0.5.15: met at v0.5.15" in render_text(told)


def test_new_topic_begins_empty_and_is_taken_when_it_is_filled(field: Field) -> None:
    before = files(field)
    folder = Path(begin_topic(field.base, PIN, "retries", field.access).folder)
    assert refresh(field).changed == ()
    assert files(field) == before
    amend(folder, "srt/limits.py", "RETRIES = 2", "RETRIES = 3")
    assert states(refresh(field))["retries"] is TopicState.NEW
    assert b"+RETRIES = 3" in files(field)["retries.patch"]
    with pytest.raises(ConfigError, match="has a topic retries already"):
        begin_topic(field.base, PIN, "retries", field.access)


def test_edit_outlives_its_cache(field: Field, tmp_path: Path) -> None:
    amend(worktree(field), "srt/limits.py", "B = 1", "B = 2")
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "other").mkdir()
    access = cache(tmp_path / "other", make.RELEASES)
    assert states(refresh_pin(field.base, PIN, access))["limits"] is TopicState.EDITED
    assert b"+B = 2" in files(field)["limits.patch"]
