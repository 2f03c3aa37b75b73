"""apply as an ordinary user: what cannot be written is told and left alone."""

import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patchkit.errors import CommandError
from patchkit.patch.composing import Work
from patchkit.verbs.apply import Wish, apply_work, stated_release
from tests.git.upstream_tree import PRISTINE, Fixture, snapshot, write_tree

NOBODY = 65534
DONE, REFUSED = 0, 3


@pytest.fixture
def shared_tree() -> Iterator[Path]:
    """A pristine tree that another user can reach, which pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    write_tree(folder / "tree", dict(PRISTINE))
    yield folder / "tree"
    for base, names, _ in os.walk(folder):
        for name in names:
            os.chmod(os.path.join(base, name), 0o755)
    shutil.rmtree(folder)


def as_ordinary_user(act: Callable[[], object]) -> int:
    """Run in a child that is not root and return DONE or REFUSED."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            act()
            status = DONE
        except CommandError:
            status = REFUSED
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def give_away(folder: Path) -> None:
    """Make the ordinary user the owner of everything."""
    if os.geteuid() == 0:
        for base, folders, files in os.walk(folder):
            for name in [".", *folders, *files]:
                os.chown(os.path.join(base, name), NOBODY, NOBODY)


def put(folder: Path, work: Work, *, reverse: bool = False, dry_run: bool = False) -> int:
    wish = Wish(reverse=reverse, dry_run=dry_run)
    return as_ordinary_user(lambda: apply_work(folder, work, wish, identify=stated_release))


def test_one_folder_that_cannot_be_written_leaves_all_as_it_was(shared_tree: Path, upstream: Fixture) -> None:
    give_away(shared_tree)
    before = snapshot(shared_tree)
    (shared_tree / "python/sglang/srt").chmod(0o555)
    assert put(shared_tree, upstream.work()) == REFUSED
    (shared_tree / "python/sglang/srt").chmod(0o755)
    assert snapshot(shared_tree) == before
    assert put(shared_tree, upstream.work()) == DONE


def test_a_read_only_tree_still_tells_what_is_in_it(shared_tree: Path, upstream: Fixture) -> None:
    give_away(shared_tree)
    assert put(shared_tree, upstream.work()) == DONE
    for base, _, _ in os.walk(shared_tree):
        os.chmod(base, 0o555)
    applied = snapshot(shared_tree)
    assert put(shared_tree, upstream.work()) == DONE
    assert put(shared_tree, upstream.work(), reverse=True, dry_run=True) == DONE
    assert put(shared_tree, upstream.work(), reverse=True) == REFUSED
    assert snapshot(shared_tree) == applied


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_keeps_the_owner_of_what_it_changes(shared_tree: Path, upstream: Fixture) -> None:
    give_away(shared_tree)
    apply_work(shared_tree, upstream.work(), Wish(), identify=stated_release)
    places = [shared_tree / "python/sglang/srt" / name for name in ("alpha.py", "deep", "deep/er/new.py")]
    assert [place.stat().st_uid for place in places] == [NOBODY] * 3


@pytest.mark.parametrize("limit_bytes", [0, 100, 700, 1500])
def test_a_disk_that_is_really_full_changes_nothing(shared_tree: Path, upstream: Fixture, limit_bytes: int) -> None:
    give_away(shared_tree)
    before = snapshot(shared_tree)

    def put_with_little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
        apply_work(shared_tree, upstream.work(), Wish(), identify=stated_release)

    assert as_ordinary_user(put_with_little_room) == REFUSED
    assert snapshot(shared_tree) == before


def test_a_tree_that_is_somebody_else_s_is_told_and_left_alone(shared_tree: Path, upstream: Fixture) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    before = snapshot(shared_tree)
    assert put(shared_tree, upstream.work(), dry_run=True) == DONE
    assert put(shared_tree, upstream.work()) == REFUSED
    assert snapshot(shared_tree) == before
