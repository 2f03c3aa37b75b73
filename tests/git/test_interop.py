"""quilt, git am, git apply, gbp pq, stg and GNU patch take what we write; we take what they write."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.patch.patchtext import blob_id
from patchkit.process import run
from patchkit.store import read_manifest, read_series, read_series_names
from patchkit.upstream.bring import bring_version
from patchkit.verbs.adopt import adopt_folder
from patchkit.verbs.edit import edit_pin
from patchkit.verbs.refresh import refresh_pin
from tests.git import patchfolders as make
from tests.git.patchfolders import COUNTED, GUARDED, LIMITS, V13, Field, git

pytestmark = pytest.mark.slow
PIN = "v0.5.13"
DEP3 = "Description: count pushes\n Ünder load, too.\nForwarded: no\n\nSigned-off-by: Ada <ada@example.com>"


@pytest.fixture
def field(tmp_path: Path) -> Field:
    """A store in canonical form: a mail with DEP-3, a bare diff, a new file, a file that is deleted."""
    made = make.field(tmp_path)
    made.write("p/1-count.patch", make.mail("count pushes", DEP3, made.diff(V13, {**V13, "srt/queue.py": COUNTED})))
    made.write("p/2-guard.patch", made.diff({"srt/queue.py": COUNTED}, {"srt/queue.py": GUARDED}))
    after = {path: text for path, text in V13.items() if path != "version.py"}
    made.write("p/3-files.patch", made.diff(V13, {**after, "srt/new.py": "x = 1", "srt/limits.py": LIMITS + "B = 1\n"}))
    assert adopt_folder([made.base / "p"], made.base, made.access, version="0.5.13").sets[0].composes
    refresh_pin(made.base, PIN, made.access, canonical_text=True)
    return made


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def tree(made: Field, folder: Path, *, repository: bool = False) -> Path:
    """The pin's files, unpatched."""
    folder.mkdir()
    bring_version("0.5.13", made.access).write_to(folder)
    if repository:
        git(folder, "init", "-q", "-b", "main", ".")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "v0.5.13")
    return folder


def patches(made: Field) -> list[Path]:
    return [made.base / "patches" / PIN / name for name in read_series_names(made.base, PIN)]


def assert_patched(made: Field, folder: Path) -> None:
    files = read_manifest(made.base, PIN).files
    assert len(files) == 4
    for file in files:
        path = folder / file.path
        assert (blob_id(path.read_bytes()) if path.exists() else None) == file.postimage


def do(folder: Path, *command: str, **env: str) -> str:
    need(command[0])
    return run(list(command), cwd=folder, timeout_s=60, env={**make.AUTHOR, **env}).stdout.decode()


# -- they take what we write ------------------------------------------------------------------------------


def by_git_am(made: Field, folder: Path) -> None:
    git(folder, "am", "-q", *map(str, patches(made)))
    assert git(folder, "log", "--format=%s", "-3").splitlines() == ["files", "guard", "count pushes"]
    assert "Ünder load, too." in git(folder, "log", "-1", "--format=%b", "main~2")


def by_git_apply(made: Field, folder: Path) -> None:
    git(folder, "apply", "--index", str(made.base / "patches" / PIN / "sglang.patch"))


def by_quilt(made: Field, folder: Path) -> None:
    do(folder, "quilt", "push", "-a", "--fuzz=0", QUILT_PATCHES=str(made.base / "patches" / PIN))
    do(folder, "quilt", "pop", "-a", QUILT_PATCHES=str(made.base / "patches" / PIN))
    do(folder, "quilt", "push", "-a", "--fuzz=0", QUILT_PATCHES=str(made.base / "patches" / PIN))


def by_patch(made: Field, folder: Path) -> None:
    for path in patches(made):
        do(folder, "patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i", str(path))


def by_stg(made: Field, folder: Path) -> None:
    do(folder, "stg", "init")
    do(folder, "stg", "import", "--series", str(made.base / "patches" / PIN / "series"))


def by_gbp(made: Field, folder: Path) -> None:
    need("gbp")
    debian_package(made, folder)
    do(folder, "gbp", "pq", "import")


def debian_package(made: Field, folder: Path) -> None:
    """Make the tree a Debian package whose patches are ours."""
    (folder / "debian/patches").mkdir(parents=True)
    (folder / "debian/changelog").write_text(
        "sglang (0.5.13-1) unstable; urgency=low\n\n  * x\n\n -- A <a@example.com>  Mon, 05 Jan 2026 10:00:00 +0100\n"
    )
    (folder / "debian/control").write_text("Source: sglang\nMaintainer: A <a@example.com>\n")
    (folder / "debian/source").mkdir()
    (folder / "debian/source/format").write_text("3.0 (quilt)\n")
    for path in [*patches(made), made.base / "patches" / PIN / "series"]:
        shutil.copy(path, folder / "debian/patches")
    git(folder, "add", "-f", "debian")
    git(folder, "commit", "-q", "-m", "debian")


@pytest.mark.parametrize("take", [by_git_am, by_git_apply, by_quilt, by_patch, by_stg, by_gbp])
def test_tool_takes_what_we_write(field: Field, tmp_path: Path, take: Callable[[Field, Path], None]) -> None:
    folder = tree(field, tmp_path / "tree", repository=take not in (by_quilt, by_patch))
    take(field, folder)
    assert_patched(field, folder)


# -- we take what they write ------------------------------------------------------------------------------


def adopt_again(made: Field, folder: Path, tmp_path: Path) -> list[str]:
    """Import a folder into a store of its own; every file must end as in ours. Return the topics."""
    root = tmp_path / "again"
    root.mkdir()
    result = adopt_folder([folder], root, made.access, version="0.5.13")
    assert [(each.pin, each.composes) for each in result.sets] == [(PIN, True)]
    ours, theirs = (
        {file.path: file.postimage for file in read_manifest(base, PIN).files} for base in (made.base, root)
    )
    assert theirs == ours
    before = {path.name: path.read_bytes() for path in (root / "patches" / PIN).iterdir()}
    edit_pin(root, PIN, made.access)
    assert refresh_pin(root, PIN, made.access).changed == ()
    assert {path.name: path.read_bytes() for path in (root / "patches" / PIN).iterdir()} == before
    return [topic.topic for topic in result.sets[0].topics]


def test_git_format_patch_is_taken(field: Field, tmp_path: Path) -> None:
    folder = tree(field, tmp_path / "tree", repository=True)
    by_git_am(field, folder)
    git(folder, "format-patch", "-q", "-o", str(tmp_path / "out"), "main~3")
    assert adopt_again(field, tmp_path / "out", tmp_path) == ["count-pushes", "guard", "files"]


def test_quilt_refresh_is_taken(field: Field, tmp_path: Path) -> None:
    folder = tree(field, tmp_path / "tree")
    shutil.copytree(field.base / "patches" / PIN, folder / "patches")
    (folder / "patches/sglang.patch").unlink()
    for _ in patches(field):
        do(folder, "quilt", "push", "--fuzz=0")
        do(folder, "quilt", "refresh", "-p", "ab", "--no-timestamps")
    assert adopt_again(field, folder / "patches", tmp_path) == ["count", "guard", "files"]


def test_gbp_pq_export_is_taken(field: Field, tmp_path: Path) -> None:
    folder = tree(field, tmp_path / "tree", repository=True)
    by_gbp(field, folder)
    do(folder, "gbp", "pq", "export")
    topics = adopt_again(field, folder / "debian/patches", tmp_path)
    assert len(topics) == 3


def test_stg_export_is_taken(field: Field, tmp_path: Path) -> None:
    folder = tree(field, tmp_path / "tree", repository=True)
    by_stg(field, folder)
    do(folder, "stg", "export", "-d", str(tmp_path / "out"))
    assert len(adopt_again(field, tmp_path / "out", tmp_path)) == 3


def test_plain_diff_is_taken(field: Field, tmp_path: Path) -> None:
    before, after = tree(field, tmp_path / "a"), tree(field, tmp_path / "b")
    by_patch(field, after)
    need("diff")
    done = run(["diff", "-urN", "a", "b"], cwd=tmp_path, timeout_s=60, allowed=(1,))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/all.patch").write_bytes(done.stdout)
    assert before.is_dir()
    assert adopt_again(field, tmp_path / "out", tmp_path) == ["all"]
    assert read_series(field.base, PIN).topics
