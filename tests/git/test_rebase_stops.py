"""A rebase that is killed, doubted, helped by a program, or led through releases ends where it must."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from patchkit.errors import CommandError, ConfigError, ConflictError
from patchkit.rebasing.ledger import read_accepted, read_ledger
from patchkit.rebasing.state import find_state
from patchkit.render.rebase import markdown
from patchkit.render.rebase import text as as_text
from patchkit.results.rebase import Rebase, RebasedHunk
from patchkit.upstream.access import Access
from patchkit.verbs import rebase as verb
from patchkit.verbs.ledger import show_ledger
from patchkit.verbs.rebase import Wish, begin_rebase, continue_rebase
from tests.git.test_rebase import NEXT, SETTLING, Store, add_upstream, settle, store, tree_of
from tests.small_store import ABORT, PIN, UPSTREAM

__all__ = ["store"]

LATE = "python/sglang/srt/late.py"
KILLED = 99
FINISHED = {ABORT: UPSTREAM[ABORT].replace("done", "finished")}
SETTLED = {
    ABORT: UPSTREAM[ABORT].replace("req.done", "req.finished = req.gone"),
    LATE: "LIMIT_S = 600 if True else 30\n",
}


def hunks(result: Rebase) -> list[RebasedHunk]:
    return [hunk for topic in result.topics for hunk in topic.hunks]


# -- killed -------------------------------------------------------------------------------------------------


@pytest.fixture
def twice(store: Store) -> Store:
    """A store both of whose topics meet a conflict at the next release."""
    root, access = store
    add_upstream(access, NEXT[1:], {**FINISHED, LATE: "LIMIT_S = 30\n"})
    return root, access


def drive(root: Path, access: Access) -> None:
    """Do what a person does, from wherever the rebase stands, until the pin is there."""
    while True:
        state = find_state(root)
        if state is None:
            if (root / "patches" / NEXT).is_dir():
                return
            begin_rebase(root, access, Wish(NEXT))
            continue
        if state.stopped:
            work = root / "patches/.rebase/work"
            for path, text in SETTLED.items():
                if (work / path).is_file():
                    (work / path).write_text(text)
        continue_rebase(root, access, SETTLING)


def dying_at(step: int, act: Callable[[], object]) -> int:
    """Run in a forked child that ends, without any clean-up, in place of its n-th change of the disk."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    done = [0]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **keywords: object) -> object:
            if done[0] == step:
                os._exit(KILLED)
            done[0] += 1
            return real(*arguments, **keywords)

        return call

    for name in ("replace", "rename", "unlink", "mkdir", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
    Path.write_bytes = counted(Path.write_bytes)  # type: ignore[method-assign, assignment]
    try:
        act()
    finally:
        os._exit(0)


def results_of(root: Path) -> dict[str, bytes]:
    found = tree_of(root / "patches")
    return {path: data for path, data in found.items() if not path.startswith(".rebase/")}


def steps(stride: int) -> Iterator[int]:
    yield from range(0, 400, stride)


@pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_anywhere_and_continued_on_a_clone_gives_the_same_bytes(
    twice: Store, tmp_path: Path, stride: int
) -> None:
    root, access = twice
    whole = tmp_path / "whole"
    shutil.copytree(root, whole)
    drive(whole, access)
    wanted = results_of(whole)
    assert f"{NEXT}/sglang.patch" in wanted
    killed = 0
    for step in steps(stride):
        first, clone = tmp_path / f"first-{step}", tmp_path / f"clone-{step}"
        shutil.copytree(root, first)
        status = dying_at(step, lambda first=first: drive(first, access))  # type: ignore[misc]
        shutil.copytree(first / "patches", clone / "patches")  # what is committed: no lock, no cache
        shutil.copy(first / "version.txt", clone)
        drive(clone, access)
        assert results_of(clone) == wanted, f"killed at change {step}"
        if status != KILLED:
            break
        killed += 1
    print(f"killed at {killed} changes of the disk")
    assert killed > (1 if stride > 1 else 30)


# -- by hand ------------------------------------------------------------------------------------------------


def test_a_hunk_left_out_is_told_as_left_out(store: Store) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT))
    (root / "patches/.rebase/work" / ABORT).write_text(FINISHED[ABORT])
    result = continue_rebase(root, access, SETTLING)
    assert [(hunk.action, hunk.stage) for hunk in hunks(result)] == [("dropped", "by hand"), ("carried", "unchanged")]
    assert hunks(result)[0].evidence[0].startswith("left out; ")
    assert next((topic.topic, topic.state) for topic in result.topics) == ("abort-guards", "dropped")
    assert "### Left out by hand" in markdown(result)


def test_files_of_a_former_stop_do_not_come_back(twice: Store) -> None:
    """A kill between the new state and the clean-up leaves the former topic's files."""
    root, access = twice
    begin_rebase(root, access, Wish(NEXT))
    (root / "patches/.rebase/work" / ABORT).write_text(SETTLED[ABORT])
    stale = root / "patches/.rebase/work/python/sglang/srt/stale.py"
    result = continue_rebase(root, access, SETTLING)
    assert result.state == "stopped"
    assert not (root / "patches/.rebase/work" / ABORT).exists()
    assert not stale.exists()


def test_last_line_is_the_next_step(store: Store) -> None:
    root, access = store
    stopped = as_text(begin_rebase(root, access, Wish(NEXT))).split("\n")
    assert stopped[-1] == "next: patchkit rebase --continue"
    settle(root)
    assert as_text(continue_rebase(root, access, SETTLING)).split("\n")[-1] == f"next: patchkit verify {NEXT}"


# -- doubts -------------------------------------------------------------------------------------------------


@pytest.fixture
def doubted(store: Store) -> Store:
    """A store one of whose hunks is merged token by token, which is always suspect."""
    root, access = store
    add_upstream(access, NEXT[1:], {ABORT: UPSTREAM[ABORT].replace("req.done = True", "req.done = bool(1)")})
    return root, access


def test_accepted_doubt_is_not_asked_again_at_the_same_blobs(doubted: Store) -> None:
    root, access = doubted
    first = begin_rebase(root, access, Wish(NEXT))
    assert first.state == "stopped"
    assert [hunk.suspect for hunk in hunks(first)] == [True]
    result = continue_rebase(root, access, SETTLING)
    assert result.state == "written"
    assert hunks(result)[0].accepted.startswith("read and accepted by ")
    (name,) = read_accepted(root)
    shutil.rmtree(root / "patches" / NEXT)
    (root / "patches/latest").write_text(f"{PIN}\n")
    again = begin_rebase(root, access, Wish(NEXT))
    assert again.state == "written"
    assert name in hunks(again)[0].accepted
    assert "### Suspect, but read and accepted" in markdown(again)
    text = UPSTREAM[ABORT].replace("req.done = True", "req.done = bool(1)")
    add_upstream(access, "0.5.14", {ABORT: text + "\n\nMORE = 1\n"})
    assert begin_rebase(root, access, Wish("v0.5.14", source=PIN)).state == "stopped"


def test_dropped_acceptance_is_asked_again(doubted: Store) -> None:
    root, access = doubted
    begin_rebase(root, access, Wish(NEXT))
    continue_rebase(root, access, SETTLING)
    (name,) = read_accepted(root)
    (listed,) = show_ledger(root).resolutions
    assert (listed.name, listed.kind) == (name, "accepted")
    show_ledger(root, drop=name)
    shutil.rmtree(root / "patches" / NEXT)
    (root / "patches/latest").write_text(f"{PIN}\n")
    assert begin_rebase(root, access, Wish(NEXT)).state == "stopped"


def test_edited_doubt_is_by_hand_and_not_accepted(doubted: Store) -> None:
    root, access = doubted
    begin_rebase(root, access, Wish(NEXT))
    (root / "patches/.rebase/work" / ABORT).write_text("def abort(req):\n    req.gone = bool(2)\n    return req\n")
    result = continue_rebase(root, access, SETTLING)
    assert hunks(result)[0].stage == "by hand"
    assert read_accepted(root) == {}


# -- through ------------------------------------------------------------------------------------------------


def test_through_steps_through_the_releases_between(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    root, access = store
    add_upstream(access, "0.5.13", {LATE: "# late\nLIMIT_S = None\n"})
    add_upstream(access, "0.5.14", {LATE: "# very\n# late\nLIMIT_S = None\n"})
    monkeypatch.setattr(verb, "listed_versions", lambda *_: ["0.5.15", "0.5.14", "0.5.13", "0.5.12.post1", "0.5.12"])
    result = begin_rebase(root, access, Wish("v0.5.14", through=True))
    assert result.state == "written"
    report = (root / "patches/v0.5.14/rebase.json").read_text()
    assert '"onto": "v0.5.13"' in report
    assert not (root / "patches/v0.5.13").exists()


def test_through_tells_what_was_decided_at_a_release_between(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    root, access = store
    has_it = {ABORT: UPSTREAM[ABORT].replace("done", "gone")}
    add_upstream(access, "0.5.13", {**has_it, LATE: "LIMIT_S = 30\n"})
    add_upstream(access, "0.5.14", {**has_it, LATE: "LIMIT_S = 30\n# later\n"})
    monkeypatch.setattr(verb, "listed_versions", lambda *_: ["0.5.14", "0.5.13", "0.5.12.post1"])
    stopped = begin_rebase(root, access, Wish("v0.5.14", through=True))
    assert (stopped.state, stopped.legs) == ("stopped", (PIN, "v0.5.13", "v0.5.14"))
    assert [(topic.topic, topic.state) for topic in stopped.topics] == [
        ("abort-guards", "dropped"),
        ("timeouts", "stopped"),
    ]
    (root / "patches/.rebase/work" / LATE).write_text(SETTLED[LATE])
    result = continue_rebase(root, access, SETTLING)
    assert result.state == "written"
    assert [(hunk.action, hunk.stage, hunk.at) for hunk in hunks(result)] == [
        ("dropped", "upstreamed", "v0.5.13"),
        ("carried", "by hand", "v0.5.13"),
        ("carried", "neighbours", "v0.5.14"),
    ]
    assert f"in v0.5.13, not in {PIN}" in markdown(result)
    assert "at v0.5.13" in as_text(result)


def test_through_steps_down_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    root, access = store
    for version in ("0.5.10", "0.5.11"):
        add_upstream(access, version, {})
    monkeypatch.setattr(verb, "listed_versions", lambda *_: ["0.5.12.post1", "0.5.11", "0.5.10", "0.5.9"])
    assert begin_rebase(root, access, Wish("v0.5.10", through=True)).legs == (PIN, "v0.5.11", "v0.5.10")


# -- resolver -----------------------------------------------------------------------------------------------


def resolver(folder: Path, body: str) -> str:
    script = folder / "resolver.py"
    script.write_text(f"import json, sys, time\nasked = json.load(sys.stdin)\n{body}\n")
    return f"{sys.executable} {script}"


def test_proposal_is_named_doubted_and_never_in_the_ledger(store: Store, tmp_path: Path) -> None:
    root, access = store
    command = resolver(
        tmp_path, "assert asked['ours'] and asked['base'] and asked['theirs']\nprint('    req.gone = 1')"
    )
    stopped = begin_rebase(root, access, Wish(NEXT, resolver=command))
    assert (stopped.state, hunks(stopped)[0].stage) == ("stopped", "resolver")
    assert sys.executable in " ".join(hunks(stopped)[0].evidence)
    result = continue_rebase(root, access, SETTLING)
    assert result.state == "written"
    assert b"+    req.gone = 1\n" in (root / "patches" / NEXT / "abort-guards.patch").read_bytes()
    assert sys.executable in markdown(result)
    assert sys.executable in (root / "patches" / NEXT / "rebase.json").read_text()
    assert read_ledger(root) == []


def test_proposal_that_does_not_compile_is_not_carried_as_right(store: Store, tmp_path: Path) -> None:
    root, access = store
    command = resolver(tmp_path, "print('    def (')")
    assert begin_rebase(root, access, Wish(NEXT, resolver=command)).exit_code == 3


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("print('    def (')", id="does not compile"),
        pytest.param("pass", id="drops the code"),
        pytest.param("sys.stdout.write(asked['theirs'])", id="drops what upstream did"),
    ],
)
def test_no_option_accepts_a_proposal_unread(store: Store, tmp_path: Path, body: str) -> None:
    root, access = store
    before = results_of(root)
    result = begin_rebase(root, access, Wish(NEXT, accept_suspects=True, resolver=resolver(tmp_path, body)))
    assert (result.state, result.exit_code) == ("stopped", 3)
    assert results_of(root) == before


def test_proposal_that_does_not_compile_is_refused_at_continue(store: Store, tmp_path: Path) -> None:
    root, access = store
    begin_rebase(root, access, Wish(NEXT, resolver=resolver(tmp_path, "print('    def (')")))
    with pytest.raises(ConflictError, match="no longer Python"):
        continue_rebase(root, access, SETTLING)


def test_status_1_is_no_proposal(store: Store, tmp_path: Path) -> None:
    root, access = store
    result = begin_rebase(root, access, Wish(NEXT, resolver=resolver(tmp_path, "sys.exit(1)")))
    assert [hunk.action for hunk in hunks(result)] == ["unresolved"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("sys.exit(2)", "ended with status 2", id="a status that is no answer"),
        pytest.param("time.sleep(60)", "was killed after 3 s", id="past its deadline"),
        pytest.param("print('x = 1\\n' * 200_000)", "proposed more than 1000000 bytes", id="huge"),
        pytest.param(r"sys.stdout.buffer.write(b'\xff\xfe')", "is not UTF-8", id="not UTF-8"),
    ],
)
def test_failing_resolver_is_told_and_changes_nothing(store: Store, tmp_path: Path, body: str, said: str) -> None:
    root, access = store
    before = results_of(root)
    with pytest.raises(CommandError, match=said) as caught:
        begin_rebase(root, replace(access, deadline_s=3), Wish(NEXT, resolver=resolver(tmp_path, body)))
    assert "--abort" in caught.value.hint
    assert results_of(root) == before
    with pytest.raises(ConfigError, match="under way already"):
        begin_rebase(root, access, Wish(NEXT))
