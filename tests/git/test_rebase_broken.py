"""Whatever a person does to a rebase that waits, nothing is lost, nothing is passed over in silence."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import ConfigError, ConflictError
from patchkit.verbs.rebase import Settling, Wish, abort_rebase, begin_rebase, continue_rebase, rebase_status
from tests.git.test_rebase import NEXT, SETTLING, Store, add_upstream, settle, store, tree_of
from tests.small_store import ABORT, PIN, UPSTREAM

__all__ = ["store"]

NEW = "python/sglang/srt/new.py"
FIRST, BOTH = "def first():\n    return 1\n", "def first():\n    return 1\ndef second():\n    return 2\n"


def state_of(root: Path) -> Path:
    return root / "patches/.rebase"


def work_of(root: Path) -> Path:
    return state_of(root) / "work"


@pytest.fixture
def waiting(store: Store) -> Store:
    """A rebase that waits with one conflict."""
    begin_rebase(*store, Wish(NEXT))
    return store


# -- the files that a person settles ------------------------------------------------------------------------


def lose_the_folder(root: Path) -> None:
    shutil.rmtree(work_of(root))


def lose_a_file(root: Path) -> None:
    (work_of(root) / ABORT).unlink()


def leave_the_middle(root: Path) -> None:
    path = work_of(root) / ABORT
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(("<<<<<<<", "|||||||", ">>>>>>>"))))


def write_what_is_no_python(root: Path) -> None:
    (work_of(root) / ABORT).write_text("def abort(req:\n")


def leave_an_editors_copy(root: Path) -> None:
    settle(root)
    (work_of(root) / f"{ABORT}.orig").write_text("x = 1\n")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        pytest.param(lose_the_folder, "1 file of topic abort-guards is no longer in ", id="folder lost"),
        pytest.param(lose_a_file, "1 file of topic abort-guards is no longer in ", id="file lost"),
        pytest.param(leave_the_middle, "1 conflict marker is left in topic abort-guards", id="middle marker"),
        pytest.param(write_what_is_no_python, "1 file is no longer Python in topic abort-guards", id="syntax"),
        pytest.param(leave_an_editors_copy, "neither topic abort-guards's nor upstream's", id="foreign file"),
    ],
)
def test_unsettled_files_are_refused_and_the_rebase_stays(
    waiting: Store, harm: Callable[[Path], None], said: str
) -> None:
    root, access = waiting
    harm(root)
    before = tree_of(root / "patches")
    with pytest.raises(ConflictError, match=said) as caught:
        continue_rebase(root, access, SETTLING)
    assert caught.value.hint
    assert tree_of(root / "patches") == before


def test_file_of_upstream_may_be_edited_too_and_is_told(waiting: Store) -> None:
    root, access = waiting
    settle(root)
    other = next(path for path in UPSTREAM if path.endswith("late.py"))
    (work_of(root) / other).write_text(UPSTREAM[other] + "\n# by hand\n")
    result = continue_rebase(root, access, SETTLING)
    assert result.topics[0].edited == (other,)
    assert "# by hand" in (root / "patches" / NEXT / "abort-guards.patch").read_text()


# -- the state ----------------------------------------------------------------------------------------------


def set_value(**values: object) -> Callable[[Path], None]:
    def harm(root: Path) -> None:
        path = state_of(root) / "state.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return harm


def write_junk(name: str) -> Callable[[Path], None]:
    def harm(root: Path) -> None:
        (state_of(root) / name).write_text("{}")

    return harm


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(write_junk("state.json"), id="state is junk"),
        pytest.param(write_junk("stopped.json"), id="stop is junk"),
        pytest.param(lambda root: (state_of(root) / "stopped.json").unlink(), id="stop is gone"),
        pytest.param(lambda root: shutil.rmtree(state_of(root) / "shown"), id="shown files are gone"),
        pytest.param(set_value(done=99), id="more done than there is"),
        pytest.param(set_value(done="x"), id="done is text"),
        pytest.param(set_value(done=-1), id="done is negative"),
        pytest.param(set_value(leg=5), id="leg is none"),
        pytest.param(set_value(legs=[]), id="no legs"),
        pytest.param(set_value(more=1), id="unknown value"),
    ],
)
def test_edited_state_is_refused_and_abort_ends_it(waiting: Store, harm: Callable[[Path], None]) -> None:
    root, access = waiting
    harm(root)
    with pytest.raises(ConfigError, match="damaged") as told:
        rebase_status(root, access)
    with pytest.raises(ConfigError, match="damaged"):
        continue_rebase(root, access, SETTLING)
    assert "--abort" in told.value.hint
    assert abort_rebase(root).state == "aborted"
    assert not state_of(root).exists()


def test_half_removed_state_is_ended_by_abort(waiting: Store) -> None:
    root, _ = waiting
    (state_of(root) / "state.json").unlink()
    assert abort_rebase(root).state == "aborted"
    assert not state_of(root).exists()
    with pytest.raises(ConfigError, match="no rebase is under way"):
        abort_rebase(root)


def test_series_that_changed_under_a_rebase_is_refused(waiting: Store) -> None:
    root, access = waiting
    settle(root)
    with (root / "patches" / PIN / "timeouts.patch").open("a") as patch:
        patch.write("\n")
    with pytest.raises(ConfigError, match="no longer as it was when the rebase began"):
        continue_rebase(root, access, SETTLING)


# -- where to -----------------------------------------------------------------------------------------------


def test_onto_its_own_pin_is_refused_without_advice_to_remove_it(store: Store) -> None:
    root, access = store
    with pytest.raises(ConfigError, match=f"the series is at {PIN} already") as caught:
        begin_rebase(root, access, Wish(PIN))
    assert "rm" not in caught.value.hint
    assert not state_of(root).exists()


def test_onto_a_pin_that_exists_is_refused(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    settle(root)
    continue_rebase(root, access, SETTLING)
    with pytest.raises(ConfigError, match=f"pin {NEXT} exists already"):
        begin_rebase(root, access, Wish(NEXT, source=PIN))


def test_series_that_does_not_fit_its_own_pin_begins_no_rebase(store: Store) -> None:
    root, access = store
    patch = root / "patches" / PIN / "abort-guards.patch"
    patch.write_text(patch.read_text().replace("-    req.done", "-    req.lost"))
    with pytest.raises(ConflictError, match="does not apply"):
        begin_rebase(root, access, Wish(NEXT))
    assert not state_of(root).exists()


def test_pin_that_comes_in_between_is_kept_and_so_is_the_rebase(waiting: Store) -> None:
    root, access = waiting
    settle(root)
    shutil.copytree(root / "patches" / PIN, root / "patches" / NEXT)
    before = tree_of(root / "patches" / NEXT)
    with pytest.raises(ConfigError, match="is there already, with other content"):
        continue_rebase(root, access, SETTLING)
    assert tree_of(root / "patches" / NEXT) == before
    shutil.rmtree(root / "patches" / NEXT)
    assert continue_rebase(root, access, SETTLING).state == "written"


def test_older_release_is_carried_to_and_latest_stays(store: Store) -> None:
    from patchkit.render.rebase import text

    root, access = store
    add_upstream(access, "0.5.11", {})
    result = begin_rebase(root, access, Wish("v0.5.11"))
    assert result.state == "written"
    assert "(an older release)" in text(result)
    assert (root / "patches/latest").read_text() == f"{PIN}\n"


# -- hunks that have no place -------------------------------------------------------------------------------


def add_topic(root: Path, patch: str) -> None:
    folder = root / "patches" / PIN
    (folder / "adds.patch").write_text(patch)
    (folder / "series").write_text("adds.patch\n")
    with (root / "patches/topics.toml").open("a") as topics:
        topics.write('[adds]\ntitle = "t"\nfault = "f"\nwhy = "w"\n')


@pytest.fixture
def both_add(store: Store) -> Store:
    """A rebase whose topic adds a file that upstream now adds too, with less in it."""
    root, access = store
    head = f"diff --git a/{NEW} b/{NEW}\nnew file mode 100644\n--- /dev/null\n+++ b/{NEW}\n@@ -0,0 +1,4 @@\n"
    add_topic(root, head + "".join(f"+{line}\n" for line in BOTH.splitlines()))
    add_upstream(access, NEXT[1:], {NEW: FIRST})
    assert begin_rebase(root, access, Wish(NEXT)).state == "stopped"
    return root, access


def test_file_that_both_sides_add_is_shown_as_one_and_becomes_the_difference(both_add: Store) -> None:
    root, access = both_add
    marked = (work_of(root) / NEW).read_text()
    assert marked.startswith(FIRST + "<<<<<<< ")
    assert f"work/{NEW}:3" in (state_of(root) / "CONFLICTS.md").read_text()
    (work_of(root) / NEW).write_text(BOTH)
    result = continue_rebase(root, access, SETTLING)
    assert [(hunk.action, hunk.stage) for hunk in result.topics[0].hunks] == [("carried", "by hand")]
    text = (root / "patches" / NEXT / "adds.patch").read_text()
    assert "new file" not in text
    added = [line for line in text.split("\n") if line.startswith("+") and "+++" not in line]
    assert added == ["+def second():", "+    return 2"]


def test_file_that_both_sides_add_left_at_upstreams_is_told_as_left_out(both_add: Store) -> None:
    root, access = both_add
    (work_of(root) / NEW).write_text(FIRST)
    with pytest.raises(ConfigError, match="nothing is left of the series"):
        continue_rebase(root, access, SETTLING)
    topic = rebase_status(root, access).topics[0]
    assert [(hunk.action, hunk.stage) for hunk in topic.hunks] == [("dropped", "by hand")]


@pytest.mark.parametrize("is_deleted", [True, False])
def test_file_that_the_topic_deletes_and_upstream_changed_is_laid_open(store: Store, is_deleted: bool) -> None:
    root, access = store
    lines = UPSTREAM[ABORT].splitlines()
    head = f"diff --git a/{ABORT} b/{ABORT}\ndeleted file mode 100644\n--- a/{ABORT}\n+++ /dev/null\n"
    add_topic(root, head + f"@@ -1,{len(lines)} +0,0 @@\n" + "".join(f"-{line}\n" for line in lines))
    with (root / "patches" / PIN / "series").open("a") as series:
        series.write("timeouts.patch\n")
    assert begin_rebase(root, access, Wish(NEXT)).state == "stopped"
    if is_deleted:
        (work_of(root) / ABORT).unlink()
    result = continue_rebase(root, access, Settling(SETTLING.today))
    action = "carried" if is_deleted else "dropped"
    assert [(hunk.action, hunk.stage) for hunk in result.topics[0].hunks] == [(action, "by hand")]
    assert (root / "patches" / NEXT / "adds.patch").exists() == is_deleted
