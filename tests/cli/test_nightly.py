"""nightly publishes one commit and one tag, or leaves the repository as it was; killed anywhere, it ends the same."""

import json
import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import patchkit.nightly.machine
import patchkit.nightly.report
import patchkit.process
import patchkit.repository
import patchkit.store
from patchkit.cli import main
from patchkit.errors import CommandError, ConfigError, ConflictError, SmokeError
from patchkit.nightly.machine import Told
from patchkit.nightly.report import Surroundings, what_is_open
from patchkit.nightly.state import Author, Night
from patchkit.render import render_text
from patchkit.repository import Repository, find_repository, hold_lock
from patchkit.results.nightly import Nightly
from patchkit.results.rebase import RebasedHunk
from patchkit.upstream.access import Access
from patchkit.verbs.nightly import RealSteps, Wish, run_nightly
from tests.cli.conftest import git
from tests.small_store import PIN, write_store

DAY = date(2026, 8, 10)
WISH = Wish(day=DAY, when=1_786_300_000, author=("A U Thor", "author@example.com"))
TAG = "nightly-dev-20260810a"


class FakeSteps(RealSteps):
    """The real resolve and bump; a rebase that writes a pin, and a verify, build and smoke that only note the call."""

    newest_release = "v0.5.16"
    failing: dict[str, Callable[[], Told]]
    calls: list[str]

    def __init__(self, root: Path, newest: str = "v0.5.16") -> None:
        repository = find_repository(root)
        assert repository is not None
        super().__init__(repository, root, Access(root / "no-cache"))
        object.__setattr__(self, "newest_release", newest)
        object.__setattr__(self, "failing", {})
        object.__setattr__(self, "calls", [])

    def newest(self, upstream: str = "") -> str:
        return self.newest_release

    def _told(self, name: str) -> Told:
        self.calls.append(name)
        return self.failing[name]() if name in self.failing else Told(f"{name} is fine", document="{}")

    def rebase(self, root: Path, night: Night) -> Told:
        folder = root / "patches" / night.pin_to
        assert not folder.exists(), "the scratch repository is as after the last step that is done"
        shutil.copytree(root / "patches" / night.pin_from, folder)
        (root / "patches/latest").write_text(f"{night.pin_to}\n")
        (root / "patches/.rebase-state").write_text("left by a rebase that was killed")
        told = self._told("rebase")
        (root / "patches/.rebase-state").unlink()
        return told

    def verify(self, root: Path, night: Night) -> Told:
        assert (root / "patches" / night.pin_to / "series").is_file()
        return self._told("verify")

    def build(self, root: Path, night: Night) -> Told:
        assert (root / "version.txt").read_text() == f"{night.tag}\n"
        assert git(root, "rev-parse", "HEAD") == night.commit, "the image is labelled with the commit to publish"
        return self._told("build")

    def smoke(self, root: Path, night: Night) -> Told:
        junit = b'<testsuites><testsuite name="smoke"><testcase name="t"/></testsuite></testsuites>'
        told = self._told("smoke")
        return Told(told.note, told.exit_code, files={"smoke.xml": junit})


def nightly(root: Path, steps: FakeSteps | None = None, **changed: Any) -> Nightly:
    surroundings = changed.pop("surroundings", Surroundings())
    steps = steps or FakeSteps(root)
    return run_nightly(root, steps.access, replace(WISH, **changed), surroundings, steps=steps)


def everything(root: Path) -> dict[str, bytes]:
    """Every file but the report and the lock, .git included: unchanged means unchanged."""
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {name: path.read_bytes() for path in files if not (name := str(path.relative_to(root))).startswith("out/")}


def test_nightly_publishes_one_commit_and_one_tag(store: Path) -> None:
    head = git(store, "rev-parse", "HEAD")
    result = nightly(store)
    assert (result.outcome, result.exit_code, result.tag) == ("published", 0, TAG)
    assert git(store, "rev-parse", f"{TAG}^{{commit}}", f"nightly/{TAG}").split() == [result.commit] * 2
    assert git(store, "rev-parse", f"{TAG}^") == head
    assert git(store, "cat-file", "-t", TAG) == "tag"
    assert git(store, "diff", "--name-status", head, result.commit).split("\n") == [
        "M\tpatches/latest", "A\tpatches/v0.5.16/series", "A\tpatches/v0.5.16/timeouts.patch", "M\tversion.txt",
    ]  # fmt: skip
    assert git(store, "show", "-s", "--format=%B", result.commit) == (
        f"patches/v0.5.16: carry timeouts\n\nCarried from v0.5.13.\n\nNightly: {TAG}\nPin: v0.5.16\nTopic: timeouts\n"
        "Upstream: sgl-project/sglang#28652\nVerified-by: patchkit verify v0.5.16"
    )
    git(store, "fsck", "--strict")


def test_checkout_stays_as_it_was(store: Path) -> None:
    (store / "notes").write_text("not committed")
    nightly(store)
    assert git(store, "status", "--porcelain", "--branch") == "## main\n?? notes"
    assert (store / "version.txt").read_text() == "nightly-dev-20260809a\n"


def test_report_folder_is_complete(store: Path) -> None:
    result = nightly(store)
    folder = store / "out" / TAG
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore", "build.json", "bump.json", "junit.xml", "pr-body.md", "pr-title.txt", "rebase.json",
        "report.json", "smoke.xml", "state.json", "summary.md", "verify.json",
    ]  # fmt: skip
    assert json.loads((folder / "report.json").read_text())["commit"] == result.commit
    assert (folder / "pr-title.txt").read_text() == f"sglang v0.5.16: carry the series from v0.5.13 ({TAG})\n"
    cases = [case.get("name") for case in ET.parse(folder / "junit.xml").iter("testcase")]
    assert cases == ["resolve", "rebase", "verify", "bump", "build", "smoke", "publish", "t"]


def test_nothing_new_and_nothing_changed(store: Path) -> None:
    git(store, "merge", "-q", nightly(store).branch)
    before = everything(store)
    result = nightly(store, FakeSteps(store))
    assert (result.outcome, result.exit_code) == ("nothing", 0)
    assert render_text(result) == f"nothing to do: nothing new upstream, nothing changed since {TAG} on v0.5.16"
    assert everything(store) == before


def test_nightly_that_waits_to_be_merged_is_not_made_again(store: Path) -> None:
    nightly(store)
    assert nightly(store).reason == f"{TAG} carries v0.5.16 already and waits to be merged"


def test_nothing_to_do_needs_no_tag(store: Path) -> None:
    git(store, "merge", "-q", nightly(store, day=date(2026, 8, 11)).branch)
    assert nightly(store, day=date(2026, 8, 10)).outcome == "nothing"


def test_older_pin_that_was_asked_for_is_not_made_again(store: Path) -> None:
    git(store, "merge", "-q", nightly(store).branch)
    git(store, "merge", "-q", nightly(store, onto="v0.5.13").branch)
    assert nightly(store, onto="v0.5.13").outcome == "nothing"
    assert nightly(store).outcome == "nothing", "the newer nightly of an older pin does not hide the one of v0.5.16"


def test_changed_series_is_released_again(store: Path) -> None:
    git(store, "merge", "-q", nightly(store).branch)
    (store / "patches/v0.5.16/timeouts.patch").write_text("Description: other\n")
    git(store, "commit", "-qam", "patches: other")
    steps = FakeSteps(store)
    result = nightly(store, steps)
    assert (result.outcome, result.tag) == ("published", "nightly-dev-20260810b")
    assert steps.calls == ["verify", "build", "smoke"]


def test_dry_run_writes_nothing(store: Path) -> None:
    before = everything(store)
    result = nightly(store, dry_run=True)
    assert render_text(result).splitlines()[0] == (
        f"would publish {TAG}, v0.5.13 -> v0.5.16, on nightly/{TAG}: upstream has v0.5.16, the newest pin is v0.5.13"
    )
    assert everything(store) == before
    assert not (store / "out").exists()


def _raise(error: BaseException) -> Callable[[], Told]:
    def fail() -> Told:
        raise error

    return fail


@pytest.mark.parametrize(
    ("step", "failing", "code"),
    [
        pytest.param("rebase", _raise(ConflictError("1 of 84 hunks has no place")), 3, id="rebase"),
        pytest.param("verify", lambda: Told("2 findings", 4, "patchkit verify v0.5.16"), 4, id="verify"),
        pytest.param("verify", _raise(ConfigError("a guard cannot be read", hint="patchkit doctor")), 2, id="settings"),
        pytest.param("build", _raise(CommandError("podman build ended with status 1")), 6, id="build"),
        pytest.param("smoke", lambda: Told("3 of 4 tests", 5), 5, id="smoke"),
        pytest.param("smoke", _raise(SmokeError("no smoke test was collected")), 5, id="smoke dies"),
    ],
)
def test_failure_leaves_the_repository_and_a_report(
    store: Path, step: str, failing: Callable[[], Told], code: int
) -> None:
    before = everything(store)
    steps = FakeSteps(store)
    steps.failing[step] = failing
    result = nightly(store, steps)
    assert (result.outcome, result.exit_code) == ("failed", code)
    assert everything(store) == before
    assert git(store, "status", "--porcelain") == ""
    report = json.loads((store / "out" / TAG / "report.json").read_text())
    assert report["exit_code"] == code
    assert report["steps"][-1] == {**report["steps"][-1], "name": step, "ok": False}
    by_hand = {2: "patchkit nightly", 3: "patchkit nightly", 4: "patchkit verify v0.5.16"}  # resumed, it fails again
    assert result.next_step == by_hand.get(code, "patchkit nightly --resume")


@pytest.mark.parametrize(
    ("hunks", "note", "command"),
    [
        pytest.param(
            [RebasedHunk("a.py", 1, "unresolved")],
            "a person must settle 1 hunk", "patchkit rebase --onto v0.5.16", id="conflict",
        ),
        pytest.param(
            [RebasedHunk("a.py", 1, "unresolved"), RebasedHunk("a.py", 2, "carried", suspect=True)],
            "a person must settle 1 hunk, and read 1 suspect hunk", "patchkit rebase --onto v0.5.16", id="both",
        ),
        pytest.param(
            [RebasedHunk("a.py", 1, "carried"), RebasedHunk("a.py", 2, "carried", suspect=True)],
            "a person must read 1 suspect hunk", "patchkit nightly --accept-suspects", id="suspects alone",
        ),
    ],
)  # fmt: skip
def test_night_that_stops_at_a_topic_says_which_command_goes_on(
    hunks: list[RebasedHunk], note: str, command: str
) -> None:
    said, hint = what_is_open(hunks, "v0.5.16")
    assert (said, hint.partition("  # ")[0]) == (note, command)


def test_failed_step_is_tried_again_on_resume(store: Path) -> None:
    steps = FakeSteps(store)
    steps.failing["build"] = _raise(CommandError("no space left"))
    nightly(store, steps)
    steps.failing.clear()
    result = nightly(store, steps, resume=True)
    assert result.outcome == "published"
    assert steps.calls == ["rebase", "verify", "build", "build", "smoke"]


def test_failed_resolve_leaves_a_report(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = FakeSteps(store)
    monkeypatch.setattr(FakeSteps, "newest", lambda *_: _raise(CommandError("the index does not answer"))())
    result = nightly(store, steps)
    assert (result.outcome, result.exit_code) == ("failed", 6)
    assert (store / "out/nightly-20260810/pr-body.md").read_text().count("the index does not answer") == 3


def test_new_try_sets_the_old_report_aside(store: Path) -> None:
    steps = FakeSteps(store)
    steps.failing["smoke"] = _raise(SmokeError("no"))
    nightly(store, steps)
    assert nightly(store).outcome == "published"
    assert (store / f"out/{TAG}.1/report.json").is_file()


def test_night_that_is_killed_in_its_first_step_is_resumed(store: Path) -> None:
    steps = FakeSteps(store)
    steps.failing["rebase"] = _raise(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        nightly(store, steps)
    steps.failing.clear()
    assert nightly(store, steps, resume=True).outcome == "published"


def test_resume_is_refused_when_the_repository_moved_on(store: Path) -> None:
    steps = FakeSteps(store)
    steps.failing["smoke"] = _raise(SmokeError("no"))
    nightly(store, steps)
    git(store, "commit", "-q", "--allow-empty", "-m", "more")
    with pytest.raises(ConfigError, match="moved on"):
        nightly(store, steps, resume=True)


def test_nothing_to_resume_is_said(store: Path) -> None:
    with pytest.raises(ConfigError, match="no night to resume"):
        nightly(store, resume=True)


def test_second_nightly_is_refused(store: Path) -> None:
    with hold_lock(store, "nightly"), pytest.raises(CommandError, match="another nightly is at work"):
        nightly(store)


def test_tag_that_was_published_meanwhile_is_refused(store: Path) -> None:
    steps = FakeSteps(store)

    def publish() -> Told:
        git(store, "tag", TAG)
        return Told("fine")

    steps.failing["smoke"] = publish
    result = nightly(store, steps)
    assert result.exit_code == 2
    assert result.failure["what"] == f"{TAG} was published meanwhile"
    assert git(store, "branch", "--list", "nightly/*") == ""


def test_push_is_done_when_asked_for(store: Path, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    result = nightly(store, push=str(remote))
    assert git(remote, "rev-parse", f"{TAG}^{{commit}}", f"nightly/{TAG}").split() == [result.commit] * 2


def test_outputs_summary_and_hook(store: Path, tmp_path: Path) -> None:
    output, summary, told = tmp_path / "output", tmp_path / "summary", tmp_path / "told"
    output.write_text("earlier=1\n")
    hook = f'cat > {told}.json; printf "%s %s" "$PATCHKIT_OUTCOME" "$PATCHKIT_TAG" > {told}'
    result = nightly(store, surroundings=Surroundings(output, summary, hook))
    assert output.read_text().splitlines() == [
        "earlier=1", "outcome=published", f"tag={TAG}", "pin=v0.5.16", "from=v0.5.13", f"branch=nightly/{TAG}",
        f"commit={result.commit}", f"title=sglang v0.5.16: carry the series from v0.5.13 ({TAG})",
        f"folder={result.folder}", "exit-code=0",
    ]  # fmt: skip
    assert summary.read_text().startswith("# sglang v0.5.16: carry the series")
    assert told.read_text() == f"published {TAG}"
    assert json.loads((tmp_path / "told.json").read_text())["schema"] == "patchkit/nightly/1"


def test_hook_that_fails_is_noted_and_changes_nothing(store: Path) -> None:
    result = nightly(store, surroundings=Surroundings(hook="echo no route >&2; exit 3"))
    assert (result.outcome, result.exit_code) == ("published", 0)
    assert result.notes == ("the hook failed: sh -c echo no route >&2; exit 3 ended with status 3: no route",)


def test_command_line_tells_github_and_prints_one_document(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nightly(store)
    git(store, "merge", "-q", f"nightly/{TAG}")
    monkeypatch.setenv("GITHUB_OUTPUT", str(store.parent / "output"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(store.parent / "summary"))
    monkeypatch.setattr(RealSteps, "newest", lambda *_: "v0.5.16")
    done = CliRunner().invoke(main, ["nightly", "--root", str(store), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["outcome"] == "nothing"
    assert "outcome=nothing\n" in (store.parent / "output").read_text()
    assert (store.parent / "summary").read_text().startswith("nothing to do: ")


def test_nightly_outside_of_git_is_refused(store: Path) -> None:
    shutil.rmtree(store / ".git")
    done = CliRunner().invoke(main, ["nightly", "--root", str(store)])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: nightly needs a git repository")


def test_shallow_clone_is_enough(store: Path, tmp_path: Path) -> None:
    git(store, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{store}", "shallow")
    result = nightly(tmp_path / "shallow")
    assert result.outcome == "published", result.failure
    assert git(tmp_path / "shallow", "rev-parse", TAG + "^{commit}") == result.commit


def test_linked_worktree_is_a_repository_too(store: Path, tmp_path: Path) -> None:
    git(store, "worktree", "add", "-q", str(tmp_path / "linked"))
    result = nightly(tmp_path / "linked")
    assert result.outcome == "published", result.failure
    assert git(store, "rev-parse", TAG + "^{commit}") == result.commit


def test_store_in_a_subfolder(store: Path) -> None:
    (store / "fork").mkdir()
    git(store, "mv", "patches", "version.txt", "fork/")
    git(store, "commit", "-q", "-m", "move")
    result = nightly(store / "fork")
    assert result.outcome == "published", result.failure
    assert git(store, "show", f"{TAG}:fork/version.txt") == TAG
    git(store, "merge", "-q", result.branch)
    assert nightly(store / "fork").outcome == "nothing"


def test_hooks_and_settings_of_the_repository_take_no_part(store: Path) -> None:
    for hook in ("reference-transaction", "pre-commit", "post-checkout"):
        (store / ".git/hooks" / hook).write_text("#!/bin/sh\nexit 1\n")
        (store / ".git/hooks" / hook).chmod(0o755)
    git(store, "config", "core.autocrlf", "true")
    git(store, "config", "commit.gpgsign", "true")
    result = nightly(store)
    assert result.outcome == "published", result.failure


def test_uncommitted_patches_are_noted(store: Path) -> None:
    (store / "patches/v0.5.13/timeouts.patch").write_text("Description: in the making\n")
    result = nightly(store)
    assert result.notes == ("not committed, so not part of it: patches/v0.5.13/timeouts.patch",)


@dataclass
class Killer:
    """Ends the process as SIGKILL does, at one of the outside actions: a git command, or a file that is written."""

    number: int = 0  # of the action, from 1; 0: none
    after: bool = False  # right after it, not before
    seen: int = 0

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        for module in (patchkit.nightly.machine, patchkit.nightly.report):
            patch.setattr(module, "replace_file", self.around(patchkit.store.replace_file))
        patch.setattr(patchkit.repository, "run", self.around(patchkit.process.run))

    def around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            self.seen += 1
            mine = self.seen == self.number
            if mine and not self.after:
                os._exit(KILLED)
            done = real(*arguments, **keywords)
            if mine:
                os._exit(KILLED)
            return done

        return call


KILLED = 137
POINTS = 20


def nightly_until_killed(root: Path, killer: Killer) -> int:
    """Run a night in a child, which nothing cleans up after; return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                killer.watch(patch)
                nightly(root)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(
    "point",
    [pytest.param(n, id=f"at {n} of {POINTS}", marks=() if n % 6 == 1 else pytest.mark.slow) for n in range(POINTS)],
)
def test_killed_and_resumed_it_ends_in_the_same_commit_and_tag(store: Path, tmp_path: Path, point: int) -> None:
    whole = shutil.copytree(store, tmp_path / "whole")
    counting = Killer()
    with pytest.MonkeyPatch.context() as patch:
        counting.watch(patch)
        expected = nightly(whole)
    killer = Killer(1 + point * counting.seen // POINTS, after=point % 2 == 0)
    assert nightly_until_killed(store, killer) == KILLED
    nightly(store, resume=bool(list(store.glob("out/*/state.json"))))
    assert git(store, "rev-parse", f"nightly/{TAG}") == expected.commit
    assert git(store, "rev-parse", TAG) == git(whole, "rev-parse", TAG)
    assert json.loads((store / f"out/{TAG}/report.json").read_text())["outcome"] == "published"
    assert git(store, "status", "--porcelain") == ""


# -- what a night says beside its steps -----------------------------------------------------------------------


def test_failed_night_says_how_to_remove_its_image(store: Path) -> None:
    steps = FakeSteps(store)
    steps.failing["build"] = lambda: Told("built", leftover="podman rmi patchkit/sglang:x")
    steps.failing["smoke"] = lambda: Told("one test", exit_code=5)
    result = nightly(store, steps)
    assert result.notes == ("its image stays for --resume; to remove it: podman rmi patchkit/sglang:x",)
    del steps.failing["smoke"]
    assert nightly(store, steps, resume=True).notes == (), "a published night keeps its image"


def test_topic_that_should_have_ended_is_noted_in_the_pull_request(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "to be dropped? timeouts: until >=0.5.16: met (this is 0.5.16)"
    steps = FakeSteps(store)
    steps.failing["verify"] = lambda: Told("every rule holds", notes=(note,))
    result = nightly(store, steps)
    assert result.notes == (note,)
    assert f"  note:  {note}" in render_text(result)
    assert f"## Notes\n\n- {note}" in (store / "out" / TAG / "pr-body.md").read_text()


def test_until_of_a_topic_is_judged_at_the_pin(tmp_path: Path) -> None:
    write_store(tmp_path / "root", tmp_path / "cache")
    topics = tmp_path / "root/patches/topics.toml"
    topics.write_text(topics.read_text().replace("[abort-guards]\n", '[abort-guards]\nuntil = ">=0.1.0"\n'))
    repository = Repository(tmp_path / "root", tmp_path / "root/.git")
    steps = RealSteps(repository, tmp_path / "root", Access(tmp_path / "cache", offline=True))
    night = Night(day="2026-08-10", head="", author=Author("a", "b", 0), pin_from=PIN, pin_to=PIN)
    told = steps.verify(tmp_path / "root", night)
    assert [note.partition(": met")[0] for note in told.notes] == ["to be dropped? abort-guards: until >=0.1.0"]


@pytest.mark.parametrize(
    ("pin_from", "command"),
    [
        pytest.param(PIN, f"patchkit verify {PIN}", id="the pin is in the checkout"),
        pytest.param("v0.5.9", f"patchkit --root out/x/work verify {PIN}", id="the pin was carried"),
    ],
)
def test_hint_of_a_failed_step_names_the_repository_that_has_the_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pin_from: str, command: str
) -> None:
    root = tmp_path / "out/x/work"
    write_store(root, tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    steps = RealSteps(Repository(root, root / ".git"), root, Access(tmp_path / "cache", offline=True))
    told = steps.verify(root, Night("2026-08-10", "", Author("a", "b", 0), pin_from=pin_from, pin_to=PIN))
    assert told.hint == command


# -- releases from a git repository ---------------------------------------------------------------------------


def test_newest_release_is_the_newest_tag_of_a_git_repository(store: Path, tmp_path: Path) -> None:
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q", "-b", "main", ".")
    git(upstream, "commit", "-q", "--allow-empty", "-m", "one")
    for tag in ("v0.5.9", "v0.5.13", "v0.5.14rc1", "v0.5.13.post1", "gateway-v9.0.0", "v1"):
        git(upstream, "tag", tag)
    steps = RealSteps(FakeSteps(store).repository, store, Access(tmp_path / "cache", offline=True))
    assert steps.newest(str(upstream)) == "v0.5.13.post1"
    for tag in git(upstream, "tag").split():
        git(upstream, "tag", "-d", tag)
    with pytest.raises(ConfigError, match="no tag of a release"):
        steps.newest(str(upstream))
