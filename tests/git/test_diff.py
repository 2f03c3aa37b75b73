"""diff tells for each hunk of two versions of a series what became of it, and why it went."""

import json
from pathlib import Path

from patchkit.render.diff import markdown, text
from patchkit.render.json import text as json_text
from patchkit.verbs.diff import diff_series
from patchkit.verbs.rebase import Wish, begin_rebase, continue_rebase, skip_topic
from tests.git.test_rebase import NEXT, SETTLING, Store, add_upstream, settle, store
from tests.git.test_rebase_broken import BOTH, FIRST, NEW, add_topic
from tests.small_store import ABORT, PIN, UPSTREAM

__all__ = ["store"]


def changes(root: Path, old: str = PIN, new: str = NEXT) -> list[tuple[str, str]]:
    return [(hunk.change, hunk.new or hunk.old) for hunk in diff_series(root, old, new).hunks]


def test_pin_is_unchanged_against_itself(store: Store) -> None:
    assert [change for change, _ in changes(store[0], PIN, PIN)] == ["unchanged", "unchanged"]


def test_settled_hunk_is_edited_and_a_carried_one_is_not(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    settle(root)
    continue_rebase(root, access, SETTLING)
    assert [change for change, _ in changes(root)] == ["edited", "unchanged"]


def test_hunk_that_upstream_has_is_dropped_with_the_evidence(store: Store) -> None:
    root, access = store
    add_upstream(access, NEXT[1:], {ABORT: UPSTREAM[ABORT].replace("done", "gone")})
    assert begin_rebase(root, access, Wish(NEXT)).state == "written"
    assert changes(root) == [("unchanged", "python/sglang/srt/late.py#1"), ("dropped", f"{ABORT}#1")]
    result = diff_series(root, PIN, NEXT)
    reason = result.hunks[1].reason
    assert reason
    assert f"  x abort-guards: {ABORT}#1" in text(result)
    assert reason in text(result)
    assert f"| abort-guards | `{ABORT}#1` | dropped | {reason} |" in markdown(result)
    assert json.loads(json_text(result))["hunks"][1]["reason"] == reason


def test_skipped_topic_is_gone_by_hand(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    skip_topic(root, access)
    assert changes(root) == [("unchanged", "python/sglang/srt/late.py#1"), ("dropped", f"{ABORT}#1")]
    assert diff_series(root, PIN, NEXT).hunks[1].reason == "the topic was left out by hand"


def test_topic_that_upstream_made_needless_is_dropped_with_the_release(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    skip_topic(root, access)
    (root / "patches" / NEXT / "rebase.json").unlink()
    assert ("gone", f"{ABORT}#1") in changes(root)
    topics = root / "patches/topics.toml"
    topics.write_text(topics.read_text().replace("[abort-guards]", '[abort-guards]\nfixed_in = "0.5.13"'))
    assert diff_series(root, PIN, NEXT).hunks[1].reason == "upstream has no such fault since 0.5.13"


def test_file_that_upstream_brings_too_is_edited_to_the_difference(store: Store) -> None:
    root, access = store
    head = f"diff --git a/{NEW} b/{NEW}\nnew file mode 100644\n--- /dev/null\n+++ b/{NEW}\n@@ -0,0 +1,4 @@\n"
    add_topic(root, head + "".join(f"+{line}\n" for line in BOTH.splitlines()))
    add_upstream(access, NEXT[1:], {NEW: FIRST})
    begin_rebase(root, access, Wish(NEXT))
    (root / "patches/.rebase/work" / NEW).write_text(BOTH)
    continue_rebase(root, access, SETTLING)
    (hunk,) = diff_series(root, PIN, NEXT).hunks
    assert (hunk.change, hunk.old, hunk.new) == ("edited", f"{NEW}#1", f"{NEW}#1")
    assert hunk.reason == "upstream brings this file too: what is left is the difference"


def test_two_patch_files_need_no_store(store: Store) -> None:
    old = store[0] / "patches" / PIN / "abort-guards.patch"
    new = store[0] / "other.patch"
    new.write_bytes(old.read_bytes().replace(b"req.gone", b"req.lost"))
    assert [hunk.change for hunk in diff_series(None, str(old), str(new)).hunks] == ["edited"]
