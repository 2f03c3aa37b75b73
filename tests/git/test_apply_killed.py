"""A killed apply or reverse: the next command ends or undoes it, and no mixed tree is left."""

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from patchkit.checkout import journal
from patchkit.errors import PatchkitError
from patchkit.patch.composing import Work
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.patchtext import read_patch
from patchkit.verbs.apply import Wish, apply_work, stated_release
from tests.git.upstream_tree import Fixture, snapshot

Snapshot = dict[str, tuple[str, int, bytes]]
KILLED = 99


def put(folder: Path, work: Work, *, reverse: bool = False) -> str:
    return apply_work(folder, work, Wish(reverse=reverse), identify=stated_release).recovered


def in_child(act: Callable[[], object], *, kill_after_s: float | None = None) -> int:
    """Run in a forked child and return its exit status; it may be killed meanwhile."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except PatchkitError:
            os._exit(1)
        os._exit(0)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def dying_at(step: int, act: Callable[[], object]) -> Callable[[], object]:
    """Return `act` that ends the process, without any clean-up, in place of its n-th change of the disk."""
    done = [0]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **keywords: object) -> object:
            if done[0] == step:
                os._exit(KILLED)
            done[0] += 1
            return real(*arguments, **keywords)

        return call

    def run() -> object:
        for name in ("replace", "unlink", "mkdir", "rmdir", "link"):
            setattr(os, name, counted(getattr(os, name)))
        for name in ("_write", "_write_new"):
            setattr(journal, name, counted(getattr(journal, name)))
        return act()

    return run


def without_state(found: Snapshot) -> Snapshot:
    return {path: value for path, value in found.items() if ".patchkit" not in path}


@pytest.mark.parametrize("next_is_reverse", [False, True], ids=["then-apply", "then-reverse"])
@pytest.mark.parametrize("reverse", [False, True], ids=["apply", "reverse"])
def test_killed_at_every_step(wheel_tree: Path, upstream: Fixture, reverse: bool, next_is_reverse: bool) -> None:
    work = upstream.work()
    pristine = snapshot(wheel_tree)
    put(wheel_tree, work)
    applied = without_state(snapshot(wheel_tree))
    steps = 0
    recovered = set()
    while True:
        put(wheel_tree, work, reverse=not reverse)
        status = in_child(dying_at(steps, partial(put, wheel_tree, work, reverse=reverse)))
        recovered.add(put(wheel_tree, work, reverse=next_is_reverse))
        left = snapshot(wheel_tree)
        assert (left if next_is_reverse else without_state(left)) == (pristine if next_is_reverse else applied), steps
        if status != KILLED:
            break
        steps += 1
    assert steps > 20
    assert any("was finished" in told for told in recovered)
    assert any("had not changed anything" in told for told in recovered)


@pytest.mark.parametrize("reverse", [False, True], ids=["apply", "reverse"])
def test_ctrl_c_at_every_step_leaves_one_or_the_other_and_no_journal(
    wheel_tree: Path, upstream: Fixture, monkeypatch: pytest.MonkeyPatch, reverse: bool
) -> None:
    work = upstream.work()
    pristine = without_state(snapshot(wheel_tree))
    put(wheel_tree, work)
    applied = without_state(snapshot(wheel_tree))
    ends = set()
    for step in range(200):
        put(wheel_tree, work, reverse=not reverse)
        with monkeypatch.context() as patched:
            interrupt_at(patched, step)
            try:
                put(wheel_tree, work, reverse=reverse)
                break
            except KeyboardInterrupt:
                pass
        left = without_state(snapshot(wheel_tree))
        assert left in (pristine, applied), step
        ends.add(left == applied)
        assert not (wheel_tree / "python/.patchkit/journal.json").exists(), step
    assert step > 20
    assert ends == {False, True}


def interrupt_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Raise KeyboardInterrupt, once, in place of the n-th change of the disk."""
    done = [0]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **keywords: object) -> object:
            done[0] += 1
            if done[0] == step + 1:
                raise KeyboardInterrupt
            return real(*arguments, **keywords)

        return call

    for name in ("replace", "unlink", "mkdir", "rmdir", "link"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    for name in ("_write", "_write_new"):
        monkeypatch.setattr(journal, name, counted(getattr(journal, name)))


def big_tree(folder: Path) -> Work:
    """Write a tree of 34 files and return the patch on it, of the size of a real one."""
    pieces = []
    for number in range(34):
        path = f"python/sglang/srt/part_{number % 5}/file_{number}.py"
        lines = [f"value_{number}_{line} = {line}\n" for line in range(300)]
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("".join(lines))
        pieces.append(f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n")
        for hunk in range(5):
            at = 20 + hunk * 50
            pieces.append(
                f"@@ -{at},3 +{at + hunk},4 @@\n {lines[at - 1]}+fresh_{hunk} = 1\n {lines[at]} {lines[at + 1]}"
            )
    raw = "".join(pieces).encode()
    return Work("x.patch", (TopicPatch("x", read_patch(raw)),), ("x.patch",))


@pytest.mark.slow
def test_random_kills_leave_no_mixed_tree(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kills = int(pytestconfig.getoption("--apply-kills"))
    chance = random.Random(int(pytestconfig.getoption("--fuzz-seed")))
    work = big_tree(tmp_path)
    pristine = snapshot(tmp_path)
    started = time.perf_counter()
    put(tmp_path, work)
    took_s = time.perf_counter() - started
    applied = without_state(snapshot(tmp_path))
    told = []
    for _ in range(kills):
        reverse = chance.random() < 0.5
        put(tmp_path, work, reverse=not reverse)
        act = partial(put, tmp_path, work, reverse=reverse)
        in_child(act, kill_after_s=chance.uniform(0, took_s * 1.2))
        then_reverse = chance.random() < 0.5
        told.append(put(tmp_path, work, reverse=then_reverse))
        left = snapshot(tmp_path)
        assert (left if then_reverse else without_state(left)) == (pristine if then_reverse else applied)
    assert sum(bool(text) for text in told) > kills // 10, "too few kills met it at work"


def test_two_at_once_do_not_damage(tmp_path: Path) -> None:
    work = big_tree(tmp_path)
    pristine = snapshot(tmp_path)
    first = os.fork()
    if first == 0:
        put(tmp_path, work)
        os._exit(0)
    assert in_child(partial(put, tmp_path, work)) == 0
    assert os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) == 0
    put(tmp_path, work, reverse=True)
    assert snapshot(tmp_path) == pristine
