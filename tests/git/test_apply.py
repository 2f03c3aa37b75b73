"""apply on real trees: every byte and mode, in every layout, and back again."""

import contextlib
import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from patchkit.checkout import journal
from patchkit.checkout.directory import find_checkout
from patchkit.errors import CommandError, ConfigError, ConflictError, PatchError, PatchkitError
from patchkit.patch.composing import Work
from patchkit.patch.hunks import TopicPatch, Verdict
from patchkit.patch.patchtext import blob_id, read_patch
from patchkit.results.apply import Applied
from patchkit.verbs.apply import Wish, apply_patch, apply_work, stated_release
from tests.git.upstream_tree import FIRST, PRISTINE, SECOND, Fixture, git, make_patch, referee, snapshot, write_tree

ALPHA = "python/sglang/srt/alpha.py"
GONE = "python/sglang/srt/gone.py"
HALF = {path: content for path, content in FIRST.items() if content is not None}
DONE = {path: content for path, content in SECOND.items() if content is not None}
NEW = "python/sglang/srt/deep/er/new.py"


def put(folder: Path, work: Work, *topics: str, reverse: bool = False, dry_run: bool = False) -> Applied:
    return apply_work(folder, work, Wish(reverse=reverse, topics=topics, dry_run=dry_run), identify=stated_release)


def one_patch(raw: bytes, name: str = "x.patch") -> Work:
    return Work(name, (TopicPatch("x", read_patch(raw, name=name)),), (name,))


def as_checkout(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    return upstream.repository, upstream.repository


def as_plain_tree(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    shutil.rmtree(upstream.repository / ".git")
    return upstream.repository, upstream.repository


def as_package(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    return upstream.repository, upstream.repository / "python/sglang"


def as_site_packages(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    shutil.move(upstream.repository / "python", tmp_path / "site-packages")
    return tmp_path / "site-packages", tmp_path / "site-packages"


def as_ignored_below_a_repository(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    outer = tmp_path / "outer"
    outer.mkdir()
    git("init", "-q", cwd=outer)
    (outer / ".gitignore").write_text("*\n")
    shutil.move(upstream.repository / "python", outer / "site-packages")
    return outer / "site-packages", outer / "site-packages"


def as_link(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "link").symlink_to(upstream.repository)
    return upstream.repository, tmp_path / "link"


def as_worktree(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    git("worktree", "add", "-q", "--detach", str(tmp_path / "worktree"), cwd=upstream.repository)
    return tmp_path / "worktree", tmp_path / "worktree"


def as_submodule(upstream: Fixture, tmp_path: Path) -> tuple[Path, Path]:
    outer = tmp_path / "outer"
    outer.mkdir()
    git("init", "-q", cwd=outer)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(upstream.repository), "sub", cwd=outer)
    return outer / "sub", outer / "sub"


LAYOUTS = [
    as_checkout,
    as_plain_tree,
    as_package,
    as_site_packages,
    as_ignored_below_a_repository,
    as_link,
    as_worktree,
    as_submodule,
]
Layout = Callable[[Fixture, Path], tuple[Path, Path]]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__[3:])
def test_applied_then_already_applied_then_back(layout: Layout, upstream: Fixture, tmp_path: Path) -> None:
    tree, named = layout(upstream, tmp_path)
    before = snapshot(tree)
    first = put(named, upstream.work())
    assert (first.verdict, len(first.files)) == (Verdict.PRISTINE, 4)
    package = tree / "python/sglang" if (tree / "python").exists() else tree / "sglang"
    for path, content in {**PRISTINE, **FIRST, **SECOND}.items():
        place = package / path.removeprefix("python/sglang/")
        assert (place.read_bytes() if place.exists() else None) == content, path
    applied = snapshot(tree)
    second = put(named, upstream.work())
    assert (second.verdict, second.files) == (Verdict.APPLIED, ())
    assert snapshot(tree) == applied
    back = put(named, upstream.work(), reverse=True)
    assert len(back.files) == 4
    assert snapshot(tree) == before
    assert put(named, upstream.work(), reverse=True).files == ()


def test_git_agrees_on_every_byte(upstream: Fixture, wheel_tree: Path, tmp_path: Path) -> None:
    gits = tmp_path / "gits"
    shutil.copytree(wheel_tree, gits)
    assert referee(gits, upstream.combined) == 0
    put(wheel_tree, one_patch(upstream.combined))
    shutil.rmtree(wheel_tree / "python/.patchkit")
    assert snapshot(wheel_tree) == snapshot(gits)


def test_a_checkout_stays_clean_but_for_the_patch(upstream: Fixture) -> None:
    put(upstream.repository, upstream.work())
    changed = git("status", "--porcelain", "-uall", cwd=upstream.repository).decode().split("\n")
    assert sorted(line[3:] for line in changed if line) == sorted([ALPHA, "python/sglang/srt/beta.py", GONE, NEW])


def test_dry_run_agrees_and_writes_nothing(upstream: Fixture) -> None:
    before = snapshot(upstream.repository)
    planned = put(upstream.repository, upstream.work(), dry_run=True)
    assert snapshot(upstream.repository) == before
    assert not (upstream.repository / ".git/patchkit").exists()
    done = put(upstream.repository, upstream.work())
    assert planned._replace(dry_run=False) == done


# -- one verdict for the whole series -----------------------------------------------------------------------


def test_what_git_applied_is_known_by_its_ids(upstream: Fixture) -> None:
    before = snapshot(upstream.repository)
    assert referee(upstream.repository, upstream.combined) == 0
    result = put(upstream.repository, upstream.work())
    assert (result.verdict, result.files) == (Verdict.APPLIED, ())
    put(upstream.repository, upstream.work(), reverse=True)
    assert snapshot(upstream.repository) == before


def test_first_topic_is_there_and_the_rest_follows(upstream: Fixture) -> None:
    assert referee(upstream.repository, upstream.topics[0]) == 0
    result = put(upstream.repository, upstream.work())
    assert (result.verdict, result.topics_before, len(result.files)) == (Verdict.PARTLY, ("abort-guards",), 2)
    put(upstream.repository, upstream.work(), reverse=True)
    assert git("status", "--porcelain", cwd=upstream.repository) == b""


def test_one_topic_in_and_out(upstream: Fixture) -> None:
    put(upstream.repository, upstream.work(), "abort-guards")
    assert (upstream.repository / ALPHA).read_bytes() == HALF[ALPHA]
    put(upstream.repository, upstream.work())
    assert (upstream.repository / ALPHA).read_bytes() == DONE[ALPHA]
    put(upstream.repository, upstream.work(), "timeouts", reverse=True)
    assert (upstream.repository / ALPHA).read_bytes() == HALF[ALPHA]
    assert (upstream.repository / GONE).exists()
    put(upstream.repository, upstream.work(), reverse=True)
    assert git("status", "--porcelain", cwd=upstream.repository) == b""


def test_unknown_topic_is_refused(upstream: Fixture) -> None:
    with pytest.raises(ConfigError, match="has no topic nothing"):
        put(upstream.repository, upstream.work(), "nothing")


def test_mixed_checkout_is_refused_file_by_file(upstream: Fixture) -> None:
    (upstream.repository / ALPHA).write_bytes(HALF[ALPHA])
    before = snapshot(upstream.repository)
    with pytest.raises(ConfigError, match="mixed") as caught:
        put(upstream.repository, upstream.work())
    assert f"{ALPHA}: as after topic abort-guards" in caught.value.found
    assert "python/sglang/srt/beta.py: pristine" in caught.value.found
    assert snapshot(upstream.repository) == before


def test_foreign_edit_is_named_with_both_ids(upstream: Fixture) -> None:
    edited = PRISTINE[ALPHA] + b"edit = 1\n"
    (upstream.repository / ALPHA).write_bytes(edited)
    before = snapshot(upstream.repository)
    with pytest.raises(ConfigError) as caught:
        put(upstream.repository, upstream.work())
    assert caught.value.where == ALPHA
    assert blob_id(edited)[:12] in caught.value.found
    assert blob_id(PRISTINE[ALPHA])[:12] in caught.value.found
    assert snapshot(upstream.repository) == before


@pytest.mark.parametrize("reverse", [False, True], ids=["apply", "reverse"])
def test_an_edit_after_apply_is_named_with_both_ids(upstream: Fixture, reverse: bool) -> None:
    put(upstream.repository, upstream.work())
    edited = DONE[ALPHA] + b"edit = 1\n"
    (upstream.repository / ALPHA).write_bytes(edited)
    before = snapshot(upstream.repository)
    with pytest.raises(ConfigError, match="changed since") as caught:
        put(upstream.repository, upstream.work(), reverse=reverse)
    assert caught.value.where == ALPHA
    assert blob_id(edited)[:12] in caught.value.found
    assert blob_id(DONE[ALPHA])[:12] in caught.value.found
    assert snapshot(upstream.repository) == before


def test_another_release_lists_every_failing_hunk_and_says_which_it_is(upstream: Fixture) -> None:
    for path in (ALPHA, "python/sglang/srt/beta.py", GONE):
        content = (PRISTINE[path]).replace(b" 9\n", b" 99\n").replace(b" 30\n", b" 33\n").replace(b" 2\n", b" 22\n")
        (upstream.repository / path).write_bytes(content)
    (upstream.repository / "python/sglang/version.py").write_text('__version__ = "0.5.13"\n')
    git("tag", "v0.0.9", cwd=upstream.repository)
    head = git("rev-parse", "HEAD", cwd=upstream.repository).decode()
    before = snapshot(upstream.repository)
    with pytest.raises(ConflictError) as caught:
        put(upstream.repository, upstream.work())
    assert f"v0.5.13 by its own word, at commit {head[:12]} (v0.0.9)" in caught.value.found
    assert "does not apply to v0.5.13: 4 of 5 hunks have no place" in caught.value.what
    assert [line.split(" ")[0] for line in caught.value.where.split("\n")] == [
        f"{ALPHA}#1",
        "python/sglang/srt/beta.py#1",
        f"{ALPHA}#1",
        f"{GONE}#1",
    ]
    assert 'line 9 is "alpha = 99", the patch expects "alpha = 9"' in caught.value.where
    assert caught.value.hint == "patchkit rebase --from v0.5.12.post1 --onto v0.5.13"
    assert snapshot(upstream.repository) == before


def test_older_revision_is_replaced(upstream: Fixture) -> None:
    before = snapshot(upstream.repository)
    put(upstream.repository, upstream.work())
    topics = upstream.work().topics
    newer = upstream.work()._replace(topics=topics[:1], sources=("abort-guards.patch",))
    result = put(upstream.repository, newer)
    assert result.verdict is Verdict.OLDER
    assert (upstream.repository / ALPHA).read_bytes() == HALF[ALPHA]
    assert (upstream.repository / GONE).exists()
    put(upstream.repository, newer, reverse=True)
    assert snapshot(upstream.repository) == before


def test_another_release_checked_out_after_apply_is_told_as_such(upstream: Fixture) -> None:
    put(upstream.repository, upstream.work())
    git("checkout", "-q", "--force", "HEAD", cwd=upstream.repository)
    for path in (ALPHA, "python/sglang/srt/beta.py", GONE, NEW):
        (upstream.repository / path).parent.mkdir(parents=True, exist_ok=True)
        (upstream.repository / path).write_bytes(b"another release\n")
    with pytest.raises(ConflictError, match="does not apply to this checkout"):
        put(upstream.repository, upstream.work())


def test_put_back_by_hand_then_applied_again(upstream: Fixture) -> None:
    put(upstream.repository, upstream.work())
    git("checkout", "-q", "--", ".", cwd=upstream.repository)
    git("clean", "-fdq", cwd=upstream.repository)
    assert put(upstream.repository, upstream.work()).verdict is Verdict.PRISTINE
    assert (upstream.repository / ALPHA).read_bytes() == DONE[ALPHA]


# -- one patch file -----------------------------------------------------------------------------------------


def patch_of(folder: Path, files: dict[str, bytes | None], *options: str) -> bytes:
    write_tree(folder, files)
    raw = make_patch(folder, *options)
    git("reset", "-q", "--hard", cwd=folder)
    return raw


def test_a_patch_on_other_content_lands_at_an_offset_and_says_so(upstream: Fixture) -> None:
    raw = patch_of(upstream.repository, {ALPHA: HALF[ALPHA]})
    (upstream.repository / ALPHA).write_bytes(b"# licence\n\n" + PRISTINE[ALPHA])
    result = put(upstream.repository, one_patch(raw))
    assert result.offsets == {f"{ALPHA}#1": 2}
    assert (upstream.repository / ALPHA).read_bytes() == b"# licence\n\n" + HALF[ALPHA]
    assert put(upstream.repository, one_patch(raw)).files == ()
    put(upstream.repository, one_patch(raw), reverse=True)
    assert (upstream.repository / ALPHA).read_bytes() == b"# licence\n\n" + PRISTINE[ALPHA]


def test_a_look_alike_without_ids_or_record_is_refused(tmp_path: Path) -> None:
    raw = b"--- a/f.py\n+++ b/f.py\n@@ -3,4 +3,5 @@\n def f():\n     pass\n+    x()\n def f():\n     pass\n"
    (tmp_path / "f.py").write_bytes(b"def f():\n    pass\n" * 6)
    assert referee(tmp_path, raw) == 0
    before = snapshot(tmp_path)
    with pytest.raises(ConfigError, match="nothing tells which"):
        put(tmp_path, one_patch(raw))
    assert snapshot(tmp_path) == before


def test_a_patch_that_is_there_in_part_says_where(upstream: Fixture) -> None:
    raw = patch_of(
        upstream.repository, {ALPHA: HALF[ALPHA], "python/sglang/srt/beta.py": HALF["python/sglang/srt/beta.py"]}
    )
    (upstream.repository / ALPHA).write_bytes(b"# moved down\n" + HALF[ALPHA])
    before = snapshot(upstream.repository)
    with pytest.raises(ConfigError, match="applied in part: 1 of 2 files have it already") as caught:
        put(upstream.repository, one_patch(raw))
    assert caught.value.where == ALPHA
    assert snapshot(upstream.repository) == before


def test_what_upstream_has_already_is_not_taken_out(upstream: Fixture) -> None:
    raw = patch_of(upstream.repository, {ALPHA: HALF[ALPHA]})
    (upstream.repository / ALPHA).write_bytes(b"# moved down\n" + HALF[ALPHA])
    before = snapshot(upstream.repository)
    assert put(upstream.repository, one_patch(raw)).files == ()
    with pytest.raises(ConfigError, match="nothing proves"):
        put(upstream.repository, one_patch(raw), reverse=True)
    assert snapshot(upstream.repository) == before


def test_second_apply_does_not_patch_the_next_look_alike(tmp_path: Path) -> None:
    text = b"def f():\n    pass\n" * 6
    raw = b"--- a/f.py\n+++ b/f.py\n@@ -3,4 +3,5 @@\n def f():\n     pass\n+    x()\n def f():\n     pass\n"
    (tmp_path / "f.py").write_bytes(text)
    put(tmp_path, one_patch(raw))
    once = (tmp_path / "f.py").read_bytes()
    assert referee(tmp_path, raw, "--check") == 0  # git would patch again
    assert put(tmp_path, one_patch(raw)).files == ()
    assert (tmp_path / "f.py").read_bytes() == once


def test_two_patches_come_out_in_their_order_only(upstream: Fixture) -> None:
    before = snapshot(upstream.repository)
    lower = one_patch(upstream.topics[0], "lower.patch")
    upper = one_patch(upstream.topics[1], "upper.patch")
    put(upstream.repository, lower)
    put(upstream.repository, upper)
    assert put(upstream.repository, lower).files == ()
    with pytest.raises(ConfigError, match=r"upper.patch was applied on top of lower.patch"):
        put(upstream.repository, lower, reverse=True)
    put(upstream.repository, upper, reverse=True)
    put(upstream.repository, lower, reverse=True)
    assert snapshot(upstream.repository) == before
    assert not (upstream.repository / ".git/patchkit").exists()


def test_two_patch_files_of_one_name_are_two_patches(upstream: Fixture, tmp_path: Path) -> None:
    before = snapshot(upstream.repository)
    files = []
    for number, raw in enumerate(upstream.topics):
        (tmp_path / str(number)).mkdir()
        files.append(tmp_path / str(number) / "fix.patch")
        files[-1].write_bytes(raw)
        apply_patch(upstream.repository, files[-1], Wish())
    assert (upstream.repository / ALPHA).read_bytes() == DONE[ALPHA]
    elsewhere = tmp_path / "copied.patch"
    shutil.copy(files[1], elsewhere)
    assert apply_patch(upstream.repository, elsewhere, Wish()).files == ()
    for file in (elsewhere, files[0]):
        apply_patch(upstream.repository, file, Wish(reverse=True))
    assert snapshot(upstream.repository) == before


def test_another_series_that_is_applied_here_is_named(upstream: Fixture) -> None:
    put(upstream.repository, upstream.work())
    raw = upstream.topics[0].replace(b"+abort = 1", b"+abort = 2")
    for path in (ALPHA, "python/sglang/srt/beta.py", NEW):
        for content in (PRISTINE.get(path, b""), HALF[path]):
            raw = raw.replace(blob_id(content).encode(), b"a" * 40)
    other = one_patch(raw, "v0.5.13")._replace(exact=True)
    with pytest.raises(ConfigError, match=r"v0.5.12.post1 is applied here; v0.5.13 cannot be applied on top"):
        put(upstream.repository, other)


def test_promised_id_that_does_not_come_out_is_refused(upstream: Fixture) -> None:
    raw = upstream.topics[0].replace(blob_id(HALF[ALPHA]).encode(), b"1" * 40)
    with pytest.raises(ConflictError) as caught:
        put(upstream.repository, one_patch(raw))
    assert "its index line promises 111111111111" in caught.value.found
    assert git("status", "--porcelain", cwd=upstream.repository) == b""


def test_path_outside_of_the_package_is_refused(wheel_tree: Path) -> None:
    raw = (
        b"diff --git a/test/t.py b/test/t.py\nnew file mode 100644\n--- /dev/null\n+++ b/test/t.py\n@@ -0,0 +1 @@\n+x\n"
    )
    shutil.move(wheel_tree / "python", wheel_tree / "site-packages")
    with pytest.raises(ConfigError, match=r"test/t.py lies outside of the sglang package"):
        put(wheel_tree / "site-packages", one_patch(raw))


def test_unreadable_patch_file_is_a_known_failure(wheel_tree: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        apply_patch(wheel_tree, tmp_path / "missing.patch", Wish())
    (tmp_path / "empty.patch").write_bytes(b"")
    with pytest.raises(PatchError, match="no diff"):
        apply_patch(wheel_tree, tmp_path / "empty.patch", Wish())


# -- modes, owners, links -----------------------------------------------------------------------------------


def test_modes_stay_and_come_back(wheel_tree: Path, upstream: Fixture) -> None:
    (wheel_tree / ALPHA).chmod(0o600)
    (wheel_tree / GONE).chmod(0o755)
    (wheel_tree / "python/sglang/srt/beta.py").chmod(0o444)
    before = snapshot(wheel_tree)
    put(wheel_tree, upstream.work())
    assert (wheel_tree / ALPHA).stat().st_mode & 0o7777 == 0o600
    assert (wheel_tree / "python/sglang/srt/beta.py").stat().st_mode & 0o7777 == 0o444
    put(wheel_tree, upstream.work(), reverse=True)
    assert snapshot(wheel_tree) == before


def test_exec_bit_that_the_wheel_lost_is_not_invented(wheel_tree: Path) -> None:
    content = PRISTINE[ALPHA]
    index = b"index %s..%s 100755\n" % (blob_id(content).encode(), blob_id(HALF[ALPHA]).encode())
    body = b"@@ -7,5 +7,6 @@\n alpha = 7\n alpha = 8\n alpha = 9\n+abort = 1\n alpha = 10\n alpha = 11\n"
    path = ALPHA.encode()
    raw = b"diff --git a/%s b/%s\n%s--- a/%s\n+++ b/%s\n%s" % (path, path, index, path, path, body)
    put(wheel_tree, one_patch(raw))
    put(wheel_tree, one_patch(raw), reverse=True)
    assert (wheel_tree / ALPHA).stat().st_mode & 0o777 == 0o644


def test_new_files_are_as_readable_as_their_folder_whatever_the_umask(wheel_tree: Path, upstream: Fixture) -> None:
    previous = os.umask(0o077)
    try:
        put(wheel_tree, upstream.work())
    finally:
        os.umask(previous)
    assert (wheel_tree / NEW).stat().st_mode & 0o777 == 0o644
    assert (wheel_tree / NEW).parent.stat().st_mode & 0o777 == 0o755


def test_executable_bit_follows_the_patch(upstream: Fixture) -> None:
    (upstream.repository / ALPHA).chmod(0o755)
    raw = make_patch(upstream.repository)
    git("reset", "-q", "--hard", cwd=upstream.repository)
    put(upstream.repository, one_patch(raw))
    assert (upstream.repository / ALPHA).stat().st_mode & 0o777 == 0o755
    put(upstream.repository, one_patch(raw), reverse=True)
    assert (upstream.repository / ALPHA).stat().st_mode & 0o777 == 0o644


def test_a_hard_link_is_broken_not_written_through(wheel_tree: Path, upstream: Fixture, tmp_path: Path) -> None:
    os.link(wheel_tree / ALPHA, tmp_path / "cache")
    put(wheel_tree, upstream.work())
    assert (tmp_path / "cache").read_bytes() == PRISTINE[ALPHA]


def test_stale_byte_code_goes(wheel_tree: Path, upstream: Fixture) -> None:
    cached = wheel_tree / "python/sglang/srt/__pycache__/alpha.cpython-311.pyc"
    cached.parent.mkdir()
    cached.write_bytes(b"old")
    other = cached.with_name("alphabet.cpython-311.pyc")
    other.write_bytes(b"other")
    put(wheel_tree, upstream.work())
    assert not cached.exists()
    assert other.exists()


@pytest.mark.parametrize("where", ["file", "folder"])
def test_nothing_is_written_through_a_link(wheel_tree: Path, upstream: Fixture, tmp_path: Path, where: str) -> None:
    outside = tmp_path / "outside"
    if where == "file":
        shutil.move(wheel_tree / ALPHA, outside)
        (wheel_tree / ALPHA).symlink_to(outside)
    else:
        shutil.move(wheel_tree / "python/sglang/srt", outside)
        (wheel_tree / "python/sglang/srt").symlink_to(outside)
    with pytest.raises(ConfigError, match="symbolic link"):
        put(wheel_tree, upstream.work())
    assert (outside if where == "file" else outside / "alpha.py").read_bytes() == PRISTINE[ALPHA]


def test_a_folder_in_the_way_is_told(wheel_tree: Path, upstream: Fixture) -> None:
    (wheel_tree / ALPHA).unlink()
    (wheel_tree / ALPHA).mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        put(wheel_tree, upstream.work())
    (wheel_tree / ALPHA).rmdir()
    (wheel_tree / "python/sglang/srt/deep").write_text("a file\n")
    with pytest.raises(ConfigError, match="a file is in the way"):
        put(wheel_tree, upstream.work())


# -- failures on the way ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "number"),
    [*(("_write", number) for number in range(3)), *(("_write_new", number) for number in range(3))],
)
def test_full_disk_at_any_write_changes_nothing(
    wheel_tree: Path, upstream: Fixture, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    before = snapshot(wheel_tree)
    fail_at(monkeypatch, function, number, errno.ENOSPC)
    with pytest.raises(CommandError, match="cannot be written"):
        put(wheel_tree, upstream.work())
    assert snapshot(wheel_tree) == before


@pytest.mark.parametrize("number", range(4))
def test_a_failing_rename_is_rolled_back(
    wheel_tree: Path, upstream: Fixture, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = snapshot(wheel_tree)
    real, calls = os.replace, [0]

    def fake(source: str, target: str) -> None:
        if not source.endswith("journal.json.new"):
            calls[0] += 1
            if calls[0] == number + 1:
                raise OSError(errno.EPERM, "not permitted", target)
        real(source, target)

    monkeypatch.setattr(os, "replace", fake)
    with pytest.raises(CommandError, match="cannot be written"):
        put(wheel_tree, upstream.work())
    monkeypatch.setattr(os, "replace", real)
    assert snapshot(wheel_tree) == before


def fail_at(monkeypatch: pytest.MonkeyPatch, name: str, number: int, code: int) -> None:
    """Make the n-th call of one of the journal's functions fail as the system would."""
    real = getattr(journal, name)
    calls = [0]

    def fake(*arguments: object) -> None:
        calls[0] += 1
        if calls[0] == number + 1:
            raise OSError(code, os.strerror(code), "somewhere")
        real(*arguments)

    monkeypatch.setattr(journal, name, fake)


@pytest.mark.parametrize("phase", ["prepare", "commit"])
@pytest.mark.parametrize("place", ["../outside", "/outside", "python/link/outside"])
def test_a_journal_that_came_with_the_tree_does_not_lead_out_of_it(
    wheel_tree: Path, upstream: Fixture, tmp_path: Path, phase: str, place: str
) -> None:
    target = tmp_path / "outside"
    target.write_text("mine\n")
    (wheel_tree / "python/link").symlink_to(tmp_path)
    place = str(target) if place.startswith("/") else place
    (wheel_tree / "python/.patchkit").mkdir()
    document = {"phase": phase, "steps": [[place, blob_id(b"mine\n"), "", ""]], "folders": [], "papers": []}
    document |= {"leftovers": [place], "own leftovers": []}
    (wheel_tree / "python/.patchkit/journal.json").write_text(json.dumps(document))
    with pytest.raises(ConfigError, match="leads out of the checkout"):
        put(wheel_tree, upstream.work())
    assert target.read_text() == "mine\n"


def test_a_record_that_came_with_the_tree_does_not_lead_out_of_it(
    wheel_tree: Path, upstream: Fixture, tmp_path: Path
) -> None:
    put(wheel_tree, upstream.work())
    record = wheel_tree / "python/.patchkit/record"
    record.write_bytes(record.read_bytes().replace(b"python/sglang/srt/beta.py", b"../outside"))
    (tmp_path / "outside").write_bytes(HALF["python/sglang/srt/beta.py"])
    with pytest.raises(ConfigError, match="damaged"):
        put(wheel_tree, upstream.work(), reverse=True)
    assert (tmp_path / "outside").read_bytes() == HALF["python/sglang/srt/beta.py"]


@pytest.mark.parametrize("layout", [as_checkout, as_plain_tree, as_site_packages], ids=lambda each: each.__name__[3:])
def test_a_state_folder_that_is_a_link_is_refused(layout: Layout, upstream: Fixture, tmp_path: Path) -> None:
    _, named = layout(upstream, tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/.gitignore").write_text("mine\n")
    state = find_checkout(named).state
    os.symlink(tmp_path / "outside", state)
    before = snapshot(tmp_path)
    with pytest.raises(ConfigError, match="is a symbolic link"):
        put(named, upstream.work())
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["lock", ".gitignore", "journal.json.new", "record", "record.new"])
def test_a_link_within_the_state_folder_is_not_followed(
    wheel_tree: Path, upstream: Fixture, tmp_path: Path, name: str
) -> None:
    (tmp_path / "outside").write_text("mine\n")
    (wheel_tree / "python/.patchkit").mkdir()
    (wheel_tree / "python/.patchkit" / name).symlink_to(tmp_path / "outside")
    with contextlib.suppress(PatchkitError):
        put(wheel_tree, upstream.work())
    assert (tmp_path / "outside").read_text() == "mine\n"


@pytest.mark.parametrize("line", ["gitdir: ../outside\n", "gitdir: /nowhere\n", "", "\udcff\udcfe"], ids=ascii)
def test_a_git_file_that_names_no_repository_is_no_matter(
    line: str, wheel_tree: Path, upstream: Fixture, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (wheel_tree / ".git").write_bytes(os.fsencode(line))
    put(wheel_tree, upstream.work())
    assert list((tmp_path / "outside").iterdir()) == []
    assert (wheel_tree / "python/.patchkit/record").exists()
    put(wheel_tree, upstream.work(), reverse=True)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw.replace(b"\nbeta = 1\n", b"\nbeta = 2\n"), id="another byte"),
        pytest.param(lambda raw: raw[:-3], id="cut off"),
        pytest.param(lambda raw: raw[: raw.index(b"\n") + 1], id="contents gone"),
        pytest.param(lambda raw: raw[:40], id="cut off in its first line"),
        pytest.param(lambda raw: raw.replace(b" 5", b" x"), id="a size that is none"),
    ],
)
def test_a_damaged_record_puts_nothing_back(
    wheel_tree: Path, upstream: Fixture, damage: Callable[[bytes], bytes]
) -> None:
    put(wheel_tree, upstream.work())
    record = wheel_tree / "python/.patchkit/record"
    raw = record.read_bytes()
    record.write_bytes(damage(raw))
    assert record.read_bytes() != raw
    before = snapshot(wheel_tree)
    with pytest.raises(ConfigError, match="damaged"):
        put(wheel_tree, upstream.work(), reverse=True)
    assert snapshot(wheel_tree) == before


def test_an_interrupted_tree_that_was_copied_minds_its_own_files(
    wheel_tree: Path, upstream: Fixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "_end", die)
    monkeypatch.setattr(journal, "recover", lambda _: "")
    with pytest.raises(KeyboardInterrupt):
        put(wheel_tree, upstream.work())
    monkeypatch.undo()
    shutil.copytree(wheel_tree, tmp_path / "copy")
    assert "was finished" in put(tmp_path / "copy", upstream.work()).recovered
    assert (tmp_path / "copy" / ALPHA).read_bytes() == DONE[ALPHA]
    assert (wheel_tree / ALPHA).read_bytes() == PRISTINE[ALPHA]


def test_two_at_once_one_waits_or_is_refused(wheel_tree: Path, upstream: Fixture) -> None:
    site = find_checkout(wheel_tree).site
    with (
        journal.hold(site),
        pytest.raises(CommandError, match="another patchkit command"),
        journal.hold(site, wait_s=0.1),
    ):
        pass
    assert put(wheel_tree, upstream.work()).files


def test_a_hook_s_environment_does_not_matter(
    wheel_tree: Path, upstream: Fixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    put(wheel_tree, upstream.work())
    assert (wheel_tree / ALPHA).read_bytes() == DONE[ALPHA]


def test_without_git_in_path(wheel_tree: Path, upstream: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError):
        subprocess.run(["git"], check=False)
    put(wheel_tree, upstream.work())
    assert (wheel_tree / ALPHA).read_bytes() == DONE[ALPHA]


def test_a_topic_alone_names_those_that_it_needs(tmp_path: Path) -> None:
    contents = [b"one\ntwo\n", b"one\nTWO\n", b"one\nTwo!\n"]
    topics = []
    for name, (before, after) in zip(("base", "top"), pairwise(contents), strict=True):
        ids = f"{blob_id(before)}..{blob_id(after)}".encode()
        head = b"diff --git a/f b/f\nindex %s 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n" % ids
        raw = head + b"-%s\n+%s\n" % (before.splitlines()[1], after.splitlines()[1])
        topics.append(TopicPatch(name, read_patch(raw)))
    (tmp_path / "f").write_bytes(contents[0])
    work = Work("v0.5.16", tuple(topics), ("base.patch", "top.patch"), exact=True)
    with pytest.raises(ConflictError) as caught:
        put(tmp_path, work, "top")
    assert "it needs base before it" in caught.value.found
    assert caught.value.hint == f"patchkit apply {tmp_path} --pin v0.5.16 --topic base --topic top"
