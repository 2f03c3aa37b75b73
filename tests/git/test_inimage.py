"""The file that patches and proves an installed sglang, on real trees and real imports; no engine."""

import contextlib
import hashlib
import json
import os
import py_compile
import random
import shutil
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from patchkit import inimage
from patchkit.errors import ConflictError, PatchError, VerifyError
from patchkit.patch.patchtext import read_patch
from patchkit.patch.place import apply_sections, files_after
from patchkit.process import Completed, run
from patchkit.rules.text import refuse_faults
from tests.git.fuzz import damaged

PACKAGE = {
    "__init__.py": "",
    "version.py": '__version__ = "0.5.12.post1"\n',
    "srt/abort.py": "def abort(req):\n    req.done = True\n    return req\n",
    "srt/disagg/prefill.py": "".join(f"line_{n} = {n}\n" for n in range(1, 40)),
    "srt/gone.py": "x = 1\n",
    "srt/table.json": '{"a": 1}\n',
}
PATCHED = {
    **{path: text for path, text in PACKAGE.items() if path != "srt/gone.py"},
    "srt/abort.py": "def abort(req):\n    req.late = True\n    return req\n",  # as long as before
    "srt/disagg/prefill.py": PACKAGE["srt/disagg/prefill.py"]
    .replace("line_3 = 3\n", "line_3 = 33\n")
    .replace("line_30", "l"),
    "srt/disagg/deadline.py": "timeout_s = 300\n",
    "srt/table.json": '{"a": 2}',
}
TOUCHED = sorted(path for path in {*PACKAGE, *PATCHED} if PACKAGE.get(path) != PATCHED.get(path))


class Installed:
    """A site-packages folder with sglang in it, and the files of its series beside."""

    def __init__(self, root: Path) -> None:
        self.site = root / "site"
        self.series = root / "series"
        self.record = root / "etc" / "manifest.json"

    def file(self, path: str) -> Path:
        return self.site / "sglang" / path

    def main(self, command: str, *more: str) -> int:
        arguments = [command, "--root", str(self.site), "--record", str(self.record), *more]
        if command == "apply":
            arguments += [
                "--patch",
                str(self.series / "sglang.patch"),
                "--manifest",
                str(self.series / "manifest.json"),
            ]
        return inimage.main(arguments)

    def texts(self) -> dict[str, bytes]:
        base = self.site / "sglang"
        return {
            path.relative_to(base).as_posix(): path.read_bytes()
            for path in base.rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }


def write_tree(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def write_manifest(series: Path, patch: bytes, before: dict[str, str], after: dict[str, str]) -> None:
    def blob(files: dict[str, str], path: str) -> str | None:
        return inimage.blob_id(files[path].encode()) if path in files else None

    (series / "sglang.patch").write_bytes(patch)
    document = {
        "schema": "patchkit/manifest/1",
        "pin": {"version": "0.5.12.post1", "commit": "5" * 40, "tree": "6" * 40},
        "series": {"sha256": hashlib.sha256(patch).hexdigest(), "topics": [{"name": "timeouts", "sha256": "0" * 64}]},
        "files": [
            {
                "path": f"python/sglang/{path}",
                "mode": "100644",
                "preimage": blob(before, path),
                "postimage": blob(after, path),
                "hunks": [],
            }
            for path in TOUCHED
        ],
    }
    (series / "manifest.json").write_text(json.dumps(document))


@pytest.fixture(scope="session")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One installed tree with its series; tests copy it. git writes the patch, as the store does."""
    root = tmp_path_factory.mktemp("installed")
    work = root / "work"
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str) -> bytes:
        return run(["git", *arguments], cwd=work, timeout_s=30, env=env).stdout

    write_tree(work / "python" / "sglang", PACKAGE)
    git("init", "-q")
    git("add", "-A")
    before = git("write-tree").decode().strip()
    shutil.rmtree(work / "python")
    write_tree(work / "python" / "sglang", PATCHED)
    git("add", "-A")
    after = git("write-tree").decode().strip()
    patch = git("diff-tree", "-r", "-p", "--full-index", "--no-renames", before, after)
    shutil.rmtree(work)
    (root / "series").mkdir()
    write_manifest(root / "series", patch, PACKAGE, PATCHED)
    write_tree(root / "site" / "sglang", PACKAGE)
    return root


@pytest.fixture
def installed(master: Path, tmp_path: Path) -> Installed:
    shutil.copytree(master, tmp_path / "i")
    return Installed(tmp_path / "i")


# -- apply ----------------------------------------------------------------------------------------------------


def test_apply_writes_the_whole_series_and_verify_agrees(
    installed: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert installed.main("apply") == 0
    assert capsys.readouterr().out.startswith("applied: v0.5.12.post1, series ")
    assert installed.texts() == {path: text.encode() for path, text in PATCHED.items()}
    assert installed.record.read_bytes() == (installed.series / "manifest.json").read_bytes()
    assert installed.main("verify", "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "unmodified"


def test_a_second_apply_changes_nothing(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    assert installed.main("apply") == 0
    times = {path: installed.file(path).stat().st_mtime_ns for path in PATCHED}
    capsys.readouterr()
    assert installed.main("apply") == 0
    assert capsys.readouterr().out.startswith("already applied")
    assert times == {path: installed.file(path).stat().st_mtime_ns for path in PATCHED}


def test_an_interrupted_apply_is_finished_by_the_next(installed: Installed) -> None:
    installed.file("srt/abort.py").write_text(PATCHED["srt/abort.py"])
    assert installed.main("apply") == 0
    assert installed.texts() == {path: text.encode() for path, text in PATCHED.items()}


def test_dry_run_writes_nothing(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    assert installed.main("apply", "--dry-run") == 0
    assert capsys.readouterr().out.startswith("would apply")
    assert installed.texts() == {path: text.encode() for path, text in PACKAGE.items()}
    assert not installed.record.exists()


def test_file_modes_are_kept_and_new_files_are_readable(installed: Installed) -> None:
    installed.file("srt/abort.py").chmod(0o775)
    old_umask = os.umask(0o077)
    try:
        assert installed.main("apply") == 0
    finally:
        os.umask(old_umask)
    assert stat.S_IMODE(installed.file("srt/abort.py").stat().st_mode) == 0o775
    assert stat.S_IMODE(installed.file("srt/disagg/deadline.py").stat().st_mode) == 0o644
    assert stat.S_IMODE(installed.record.stat().st_mode) == 0o644


def test_hard_links_are_not_written_through(installed: Installed, tmp_path: Path) -> None:
    os.link(installed.file("srt/abort.py"), tmp_path / "cache-copy.py")
    assert installed.main("apply") == 0
    assert (tmp_path / "cache-copy.py").read_text() == PACKAGE["srt/abort.py"]


def test_another_release_is_refused_naming_both(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    installed.file("version.py").write_text('__version__ = "0.5.13"\n')
    installed.file("srt/abort.py").write_text("def abort(req): ...\n")
    before = installed.texts()
    assert installed.main("apply") == 2
    message = capsys.readouterr().err
    assert "the installed sglang is not v0.5.12.post1: 1 of 5 touched files differ; it says it is v0.5.13" in message
    assert inimage.blob_id(b"def abort(req): ...\n")[:12] in message
    assert inimage.blob_id(PACKAGE["srt/abort.py"].encode())[:12] in message
    assert installed.texts() == before
    assert not installed.record.exists()


def test_a_patch_that_is_not_the_manifests_is_refused(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    patch = installed.series / "sglang.patch"
    patch.write_bytes(patch.read_bytes() + b"\n")
    assert installed.main("apply") == 2
    assert "not the one that the manifest was made for" in capsys.readouterr().err


def change_patch(installed: Installed, old: bytes, new: bytes) -> None:
    """Change the patch and make the manifest agree."""
    patch = (installed.series / "sglang.patch").read_bytes()
    assert old in patch
    patch = patch.replace(old, new)
    write_manifest(installed.series, patch, PACKAGE, PATCHED)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(b" line_2 = 2\n", b" line_2 = 5\n", (3, "srt/disagg/prefill.py#1"), id="a hunk fits nowhere"),
        pytest.param(b"+line_3 = 33\n", b"+line_3 = 34\n", (4, "is not what was verified"), id="another result"),
        pytest.param(b"a/python/sglang/srt/gone.py", b"a/python/sglang/../../a.py", (2, "a rename"), id="rename"),
        pytest.param(
            b"python/sglang/srt/gone.py", b"python/sglang/../../etc/a", (2, "not inside python/sglang"), id="escape"
        ),
        pytest.param(b"@@ -1,6 +1,6 @@", b"@@ -1,7 +1,7 @@", (2, "shorter than its header says"), id="counts"),
        pytest.param(b"index ", b"GIT binary patch\nindex ", (2, "binary content"), id="binary"),
    ],
)
def test_a_patch_that_cannot_be_applied_exactly_changes_nothing(
    installed: Installed, capsys: pytest.CaptureFixture[str], old: bytes, new: bytes, told: tuple[int, str]
) -> None:
    code, message = told
    change_patch(installed, old, new)
    assert installed.main("apply") == code
    assert message in capsys.readouterr().err
    assert installed.texts() == {path: text.encode() for path, text in PACKAGE.items()}


def verdict_of_patchkit(raw: bytes) -> int:
    """Return the exit code that the same patch has outside of an image, on the same files."""
    before = {f"python/sglang/{path}": text.encode() for path, text in PACKAGE.items()}
    try:
        patch = read_patch(raw)
        refuse_faults(patch)
    except PatchError as error:
        return error.exit_code
    results = apply_sections(patch.files, before)
    if not all(result.ok for result in results):
        return ConflictError.exit_code
    after = {path: content for path, content in files_after(results, before).items() if content is not None}
    promised = {f"python/sglang/{path}": text.encode() for path, text in PATCHED.items()}
    return 0 if after == promised else VerifyError.exit_code


def disagreement(installed: Installed, raw: bytes) -> str:
    """Apply a damaged patch as an image would; return what is wrong with the outcome, empty if nothing is."""
    write_manifest(installed.series, raw, PACKAGE, PATCHED)
    code = installed.main("apply")
    if code not in (0, 2, 3, 4):
        return f"ends with {code}"
    if code == 0:
        return "" if verdict_of_patchkit(raw) == 0 else f"applied; patchkit says {verdict_of_patchkit(raw)}"
    return "" if installed.texts() == {path: text.encode() for path, text in PACKAGE.items()} else "left half done"


def damaged_patches_that_disagree(master: Path, folder: Path, seeds: Iterable[int]) -> list[str]:
    """Return each seed whose damage makes the file inside the image do what patchkit would not."""
    whole = (master / "series/sglang.patch").read_bytes()
    wrong = []
    for seed in seeds:
        chance = random.Random(seed)
        raw = whole
        for _ in range(chance.randint(1, 2)):
            raw, _ = damaged(chance, raw)
        if not (folder / "i").exists():
            shutil.copytree(master, folder / "i")
        installed = Installed(folder / "i")
        found = disagreement(installed, raw)
        wrong += [f"seed {seed}: {found}"] if found else []
        if found or installed.record.exists():
            shutil.rmtree(folder / "i")
    return wrong


def test_a_damaged_patch_has_a_documented_exit_code_and_patchkit_s_verdict(master: Path, tmp_path: Path) -> None:
    assert damaged_patches_that_disagree(master, tmp_path, range(50)) == []


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_any_number_of_damaged_patches(master: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    first, count = pytestconfig.getoption("--fuzz-seed"), pytestconfig.getoption("--fuzz-cases")
    assert damaged_patches_that_disagree(master, tmp_path, range(first, first + count)) == []


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw[: raw.index(b"@@ ") + 20], id="cut in a hunk header"),
        pytest.param(lambda raw: raw[: raw.index(b" line_1")], id="cut after a hunk header"),
        pytest.param(lambda raw: raw[:-1], id="no final line feed"),
        pytest.param(lambda raw: raw.replace(b"-1,6", b"-" + b"9" * 5000 + b",6"), id="a number of 5,000 digits"),
        pytest.param(lambda raw: raw.replace(b"srt/gone", b"srt/g\xff"), id="a name that is no UTF-8"),
        pytest.param(lambda raw: raw.replace(b"deleted file mode 100644\n", b""), id="deleted without a word"),
        pytest.param(lambda raw: raw.replace(b"--- a", b"\n--- a", 1), id="a blank line in a head"),
        pytest.param(lambda raw: raw.replace(b"diff --git", b"junk\ndiff --git", 2), id="text between sections"),
        pytest.param(lambda raw: raw.replace(b"+l = 30\n", b"+l = 30\n\\ No newline at end of file\n"), id="marker"),
        pytest.param(lambda raw: b"", id="empty"),
        pytest.param(lambda raw: b"\0" * 100, id="zeros"),
    ],
)
def test_a_corrupt_patch_is_refused_without_a_traceback(
    installed: Installed, damage: Callable[[bytes], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    raw = (installed.series / "sglang.patch").read_bytes()
    assert damage(raw) != raw
    write_manifest(installed.series, damage(raw), PACKAGE, PATCHED)
    assert installed.main("apply") == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert installed.texts() == {path: text.encode() for path, text in PACKAGE.items()}


def test_an_offset_is_told(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    change_patch(installed, b"@@ -27,7 +27,7 @@", b"@@ -25,7 +25,7 @@")
    assert installed.main("apply") == 0
    assert "offset +2: python/sglang/srt/disagg/prefill.py#2" in capsys.readouterr().out


def test_a_text_that_stands_twice_has_no_place() -> None:
    hunk = inimage.Hunk(1, 1, (b"a\n",), (b"b\n",), 1)
    content, placed = inimage.apply_hunks(b"a\nx\na\n", [hunk])
    assert placed[0].problem == "fits 2 places"
    assert content == b"a\nx\na\n"


def test_a_hunk_without_context_at_its_end_must_stand_at_the_end_of_the_file() -> None:
    patch = inimage.read_patch(
        b"diff --git a/python/sglang/a b/python/sglang/a\nindex %s..%s 100644\n" % (b"1" * 40, b"2" * 40)
        + b"--- a/python/sglang/a\n+++ b/python/sglang/a\n@@ -2 +2 @@\n-b\n+B\n"
    )
    hunks = patch["python/sglang/a"]
    assert inimage.apply_hunks(b"a\nb\nc\n", hunks)[1][0].problem == "fits nowhere"
    assert inimage.apply_hunks(b"a\nb\n", hunks)[0] == b"a\nB\n"


def test_a_write_that_fails_puts_everything_back(
    installed: Installed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = os.replace, []

    def replace(old: Path, new: Path) -> None:
        calls.append(new)
        if len(calls) == 3:
            raise OSError(28, "No space left on device", str(new))
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    assert installed.main("apply") == 6
    assert "nothing was changed" in capsys.readouterr().err
    assert installed.texts() == {path: text.encode() for path, text in PACKAGE.items()}


def test_a_link_out_of_the_package_is_refused(installed: Installed, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(PACKAGE["srt/abort.py"])
    installed.file("srt/abort.py").unlink()
    installed.file("srt/abort.py").symlink_to(outside)
    assert installed.main("apply") == 2
    assert outside.read_text() == PACKAGE["srt/abort.py"]


# -- byte code and imports ------------------------------------------------------------------------------------


def python(installed: Installed, *arguments: str, allowed: tuple[int, ...] = (0,), **env: str) -> Completed:
    """Run this Python with the installed sglang on its path."""
    return run(
        [sys.executable, *arguments],
        cwd=installed.series,
        timeout_s=60,
        env={"PYTHONPATH": str(installed.site), "PYTHONDONTWRITEBYTECODE": "", **env},
        allowed=allowed,
    )


def test_old_byte_code_of_the_same_size_and_time_does_not_run(installed: Installed) -> None:
    source = installed.file("srt/abort.py")
    os.utime(source, (1_000_000_000, 1_000_000_000))
    py_compile.compile(str(source), doraise=True)
    assert installed.main("apply") == 0
    os.utime(source, (1_000_000_000, 1_000_000_000))
    code = "import types, sglang.srt.abort as a; r = types.SimpleNamespace(); a.abort(r); print(vars(r))"
    assert python(installed, "-c", code).stdout == b"{'late': True}\n"


@pytest.mark.parametrize("mode", list(py_compile.PycInvalidationMode))
def test_verify_finds_stale_byte_code_that_would_run(
    installed: Installed, mode: py_compile.PycInvalidationMode, capsys: pytest.CaptureFixture[str]
) -> None:
    source = installed.file("srt/abort.py")
    assert installed.main("apply") == 0
    source.write_text(PACKAGE["srt/abort.py"])
    os.utime(source, (1_000_000_000, 1_000_000_000))
    py_compile.compile(str(source), doraise=True, invalidation_mode=mode)
    source.write_text(PATCHED["srt/abort.py"])
    os.utime(source, (1_000_000_000, 1_000_000_000))
    checked = mode is py_compile.PycInvalidationMode.CHECKED_HASH  # Python sees that one itself
    assert installed.main("verify") == (0 if checked else 4)
    assert ("stale byte code" in capsys.readouterr().err) is not checked


def test_verify_names_the_one_changed_byte(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    assert installed.main("apply") == 0
    installed.file("srt/abort.py").write_text(PATCHED["srt/abort.py"].replace("late", "lato"))
    capsys.readouterr()
    assert installed.main("verify", "--json") == 4
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["code"] == 4
    assert "1 finding in 5 files" in told.err
    assert f"{installed.file('srt/abort.py')} is " in told.err


def test_a_second_copy_on_the_path_is_told(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert installed.main("apply") == 0
    write_tree(tmp_path / "other" / "sglang", PACKAGE)
    monkeypatch.syspath_prepend(tmp_path / "other")
    capsys.readouterr()
    assert installed.main("verify") == 0
    assert f"not used, not patched: {tmp_path / 'other' / 'sglang'}" in capsys.readouterr().out


def test_spawned_workers_import_what_was_verified(installed: Installed, tmp_path: Path) -> None:
    assert installed.main("apply") == 0
    (tmp_path / "server.py").write_text(
        "import multiprocessing, types\n"
        "def work(_):\n"
        "    from sglang.srt.abort import abort\n"
        "    return sorted(vars(abort(types.SimpleNamespace())))\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [0]))\n"
    )
    assert python(installed, str(tmp_path / "server.py")).stdout == b"[['late']]\n"


def test_verify_without_a_record_is_a_configuration_error(installed: Installed) -> None:
    assert installed.main("verify") == 2


def test_a_module_that_wins_over_the_source_is_found(installed: Installed) -> None:
    assert installed.main("apply") == 0
    suffix = __import__("importlib.machinery").machinery.EXTENSION_SUFFIXES[0]
    installed.file(f"srt/abort{suffix}").write_bytes(b"")
    assert installed.main("verify") == 4


@pytest.mark.parametrize("layout", ["site-packages", "editable finder", "editable path"])
def test_the_import_path_decides(installed: Installed, tmp_path: Path, layout: str) -> None:
    """As a script, alone: found through .pth files and finders, sglang itself never executed."""
    alone = tmp_path / "opt"
    shutil.copytree(installed.series, alone)
    script = shutil.copy(inimage.__file__, alone / "inimage.py")
    installed.file("__init__.py").write_text("raise SystemExit('sglang was executed')\n")
    site = tmp_path / "lib"
    site.mkdir()
    if layout == "editable path":
        (site / "sglang.pth").write_text(f"{installed.site}\n")
    elif layout == "editable finder":
        (site / "finder.py").write_text(
            "import sys, importlib.util as u\n"
            "class F:\n"
            "    @classmethod\n"
            "    def find_spec(cls, name, path=None, target=None):\n"
            "        if name == 'sglang':\n"
            f"            return u.spec_from_file_location(name, {str(installed.file('__init__.py'))!r})\n"
            "sys.meta_path.append(F)\n"
        )
        (site / "sglang.pth").write_text("import finder\n")
    else:
        shutil.move(str(installed.site / "sglang"), str(site / "sglang"))
        installed.site = site
    start = f"import site, sys, runpy; site.addsitedir({str(site)!r}); del sys.argv[0]; "
    prefix = ["-c", start + "runpy.run_path(sys.argv[0], run_name='__main__')"]
    record = str(installed.record)
    command = [*prefix, str(script), "apply", "--record", record]
    run([sys.executable, *command], cwd=tmp_path, timeout_s=60)
    assert installed.file("srt/abort.py").read_text() == PATCHED["srt/abort.py"]
    run([sys.executable, *prefix, str(script), "verify", "--record", record], cwd=tmp_path, timeout_s=60)


def test_no_sglang_is_told(installed: Installed, tmp_path: Path) -> None:
    ended = run([sys.executable, "-S", inimage.__file__, "identify"], cwd=tmp_path, timeout_s=60, allowed=(2,))
    assert b"error: this Python cannot import sglang" in ended.stderr


def test_identify_lists_every_file(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    assert installed.main("identify", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["stated_version"] == "0.5.12.post1"
    assert report["blobs"] == {f"python/sglang/{p}": inimage.blob_id(t.encode()) for p, t in PACKAGE.items()}


def test_it_is_written_for_python_3_9() -> None:
    import ast

    text = Path(inimage.__file__).read_text()
    ast.parse(text, feature_version=(3, 9))
    assert "import patchkit" not in text
    assert "from patchkit" not in text


def test_a_patch_cut_off_anywhere_ends_in_a_refusal_and_never_in_a_crash() -> None:
    whole = (
        b"diff --git a/python/sglang/a.py b/python/sglang/a.py\n--- a/python/sglang/a.py\n+++ b/python/sglang/a.py\n"
        b"@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+three\n\\ No newline at end of file\n"
    )
    for length in range(len(whole)):
        with contextlib.suppress(inimage.RefusalError):
            inimage.read_patch(whole[:length])
    with pytest.raises(inimage.RefusalError, match="cannot be applied"):
        inimage.read_patch(whole[: whole.index(b"+three")])
