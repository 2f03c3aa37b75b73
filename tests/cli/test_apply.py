"""`apply` on the command line: what it prints, and what it ends with."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patchkit.cli import main
from patchkit.patch.patchtext import blob_id
from patchkit.verbs.apply import series_work

ROOT = Path(__file__).parents[2]
PATH = "python/sglang/srt/a.py"
BEFORE = b"".join(b"line %d\n" % number for number in range(1, 11))
AFTER = BEFORE.replace(b"line 5\n", b"line 5\nline X\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    place = tmp_path / "tree" / PATH
    place.parent.mkdir(parents=True)
    place.write_bytes(BEFORE)
    return tmp_path / "tree"


@pytest.fixture
def patch_file(tmp_path: Path) -> Path:
    ids = (blob_id(BEFORE).encode(), blob_id(AFTER).encode())
    raw = b"diff --git a/%s b/%s\nindex %s..%s 100644\n--- a/%s\n+++ b/%s\n" % (
        PATH.encode(), PATH.encode(), *ids, PATH.encode(), PATH.encode(),
    )  # fmt: skip
    raw += b"@@ -3,6 +3,7 @@\n line 3\n line 4\n line 5\n+line X\n line 6\n line 7\n line 8\n"
    (tmp_path / "x.patch").write_bytes(raw)
    return tmp_path / "x.patch"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_apply_again_and_back(tree: Path, patch_file: Path) -> None:
    command = ("apply", tree, "--patch", patch_file)
    planned = run(*command, "--dry-run")
    assert (planned.exit_code, planned.stdout) == (0, "would be applied: x.patch, 1 hunk\n")
    assert (tree / PATH).read_bytes() == BEFORE
    first = run(*command)
    assert (first.exit_code, first.stdout) == (
        0,
        "applied: x.patch, 1 hunk\n  1 file changed, each proven by its blob id; before: pristine\n",
    )
    again = run(*command)
    assert (again.exit_code, again.stdout) == (0, "already applied: x.patch\n")
    back = run(*command, "--reverse")
    assert back.exit_code == 0
    assert back.stdout.startswith("taken out: x.patch")
    assert (tree / PATH).read_bytes() == BEFORE


def test_json_is_one_document(tree: Path, patch_file: Path) -> None:
    document = json.loads(run("apply", tree, "--patch", patch_file, "--json").stdout)
    assert (document["schema"], document["exit_code"], document["verdict"]) == ("patchkit/apply/1", 0, "pristine")
    assert document["files"] == [{"path": PATH, "before": blob_id(BEFORE), "after": blob_id(AFTER)}]


def test_conflict_is_3_with_hunk_line_and_reason(tree: Path, patch_file: Path) -> None:
    (tree / PATH).write_bytes(BEFORE.replace(b"line 5", b"line five"))
    result = run("apply", tree, "--patch", patch_file)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr == (
        "error: this patch does not apply: 1 of 1 hunk has no place\n"
        f"  where: {PATH}#1 ({patch_file}:5)\n"
        f'  found: line 5 is "line five", the patch expects "line 5"\n'
        "  kept:  checkout unchanged\n"
    )


def test_malformed_patch_is_2_with_file_line_and_mend(tree: Path, patch_file: Path) -> None:
    patch_file.write_bytes(patch_file.read_bytes().replace(b"-3,6 +3,7", b"-3,6 +3,8"))
    result = run("apply", tree, "--patch", patch_file)
    assert result.exit_code == 2
    assert result.stderr == (
        "error: the hunk does not fit its counts\n"
        f"  where: {patch_file}:5\n"
        "  found: header says 6 old and 8 new lines; 6 and 7 found\n"
        "  hint:  a cut-off file, or else: @@ -3,6 +3,7 @@\n"
        "  rule:  patchkit explain PK102\n"
    )
    assert (tree / PATH).read_bytes() == BEFORE


def test_patch_and_pin_exclude_each_other(tree: Path, patch_file: Path) -> None:
    result = run("apply", tree, "--patch", patch_file, "--pin", "v0.5.12.post1")
    assert result.exit_code == 2
    assert "--patch takes a file instead of a series" in result.stderr


def test_the_shipped_series_on_a_tree_without_sglang_is_told_so(tree: Path) -> None:
    result = run("--root", ROOT, "--offline", "apply", tree, "--pin", "v0.5.12.post1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "not one of the files that v0.5.12.post1 changes is here" in result.stderr
    assert "hint:  name a checkout of sglang, a site-packages folder or the sglang package itself" in result.stderr


def test_the_shipped_series_on_another_release_names_each_missing_file(tree: Path) -> None:
    sections = [section for topic in series_work(ROOT, "v0.5.12.post1").topics for section in topic.patch.files]
    (tree / sections[0].path).parent.mkdir(parents=True)
    (tree / sections[0].path).write_bytes(BEFORE)
    result = run("--root", ROOT, "--offline", "apply", tree, "--pin", "v0.5.12.post1")
    assert result.exit_code == 3
    for section in sections:
        assert section.path in result.stderr
    assert "no such file" in result.stderr


def test_several_hunks_without_a_place_are_told_once_each(tree: Path, patch_file: Path) -> None:
    raw = patch_file.read_bytes()
    patch_file.write_bytes(raw + raw.replace(b"a.py", b"b.py"))
    (tree / PATH).write_bytes(BEFORE.replace(b"line 5", b"line five"))
    result = run("apply", tree, "--patch", patch_file)
    assert result.exit_code == 3
    assert result.stderr.count(f"{PATH}#1") == 1
    assert result.stderr.count("b.py (") == 1
    assert f'{PATH}#1 ({patch_file}:5): line 5 is "line five"' in result.stderr


def test_mode_of_a_file_that_is_not_there_is_told_without_counting_hunks(tree: Path, patch_file: Path) -> None:
    patch_file.write_bytes(b"diff --git a/b.py b/b.py\nold mode 100644\nnew mode 100755\n")
    result = run("apply", tree, "--patch", patch_file)
    assert result.exit_code == 3
    assert result.stderr.startswith("error: this patch does not apply: 1 file is not as it expects\n")
    assert "found: no such file" in result.stderr


def test_check_is_answered_with_the_option_that_there_is(tree: Path) -> None:
    result = run("apply", tree, "--check")
    assert result.exit_code == 2
    assert "--dry-run" in result.stderr
    assert "--check" not in run("apply", "--help").stdout


def test_patch_saved_with_crlf_is_told_how_to_mend_it(tree: Path, patch_file: Path) -> None:
    patch_file.write_bytes(patch_file.read_bytes().replace(b"\n", b"\r\n"))
    result = run("apply", tree, "--patch", patch_file)
    assert result.exit_code == 3
    assert f"hint:  the patch was saved with CRLF line endings: sed -i 's/\\r$//' {patch_file}" in result.stderr


def test_refusal_as_json_has_the_rule(tree: Path, patch_file: Path) -> None:
    patch_file.write_bytes(patch_file.read_bytes().replace(b"-3,6 +3,7", b"-3,6 +3,8"))
    document = json.loads(run("--json", "apply", tree, "--patch", patch_file).stdout)
    assert (document["rule"], document["where"]) == ("PK102", f"{patch_file}:5")


def test_checkout_with_crlf_is_told_how_to_mend_it(tree: Path, patch_file: Path) -> None:
    (tree / PATH).write_bytes(BEFORE.replace(b"\n", b"\r\n"))
    result = run("apply", tree, "--patch", patch_file)
    assert result.exit_code == 3
    assert "only the line endings of lines 3 to 8 differ" in result.stderr
    assert (
        "hint:  the checkout has CRLF line endings: check it out again with git's core.autocrlf=false" in result.stderr
    )


def test_patch_from_stdin(tree: Path, patch_file: Path) -> None:
    def piped(raw: bytes, *options: str) -> Result:
        return CliRunner().invoke(main, ["apply", str(tree), "--patch", "-", *options], input=raw)

    raw = patch_file.read_bytes()
    assert piped(raw).stdout.startswith("applied: stdin, 1 hunk\n")
    assert (tree / PATH).read_bytes() == AFTER
    again = raw.replace(b"line X", b"line Y").replace(b"line 5", b"line 8").replace(b"@@ -3,6", b"@@ -7,6")
    assert "stdin:1" in piped(again[:40]).stderr
    assert piped(raw, "--reverse").stdout.startswith("taken out: stdin")
    assert (tree / PATH).read_bytes() == BEFORE


def test_two_patches_from_stdin_are_two_patches(tree: Path, patch_file: Path) -> None:
    def piped(raw: bytes, *options: str) -> Result:
        return CliRunner().invoke(main, ["apply", str(tree), "--patch", "-", *options], input=raw)

    first = patch_file.read_bytes()
    last = b"line 10\n"
    ids = (blob_id(AFTER).encode(), blob_id(AFTER.replace(last, b"line Z\n")).encode())
    head = b"diff --git a/%s b/%s\nindex %s..%s 100644\n--- a/%s\n+++ b/%s\n" % (
        PATH.encode(), PATH.encode(), *ids, PATH.encode(), PATH.encode(),
    )  # fmt: skip
    second = head + b"@@ -8,4 +8,4 @@\n line 7\n line 8\n line 9\n-line 10\n+line Z\n"
    assert piped(first).exit_code == piped(second).exit_code == 0
    assert (tree / PATH).read_bytes() == AFTER.replace(last, b"line Z\n")
    assert "was applied on top of" in piped(first, "--reverse").stderr
    assert piped(second, "--reverse").exit_code == piped(first, "--reverse").exit_code == 0
    assert (tree / PATH).read_bytes() == BEFORE


@pytest.mark.parametrize("lines", [1, 2, 3, 4], ids=["git line", "index", "---", "+++"])
def test_patch_cut_off_in_a_head_is_told_so(lines: int, tree: Path, patch_file: Path) -> None:
    whole = patch_file.read_bytes()
    cut = whole.replace(b"a.py", b"b.py").splitlines(keepends=True)[:lines]
    patch_file.write_bytes(whole + b"".join(cut))
    result = run("apply", tree, "--patch", patch_file)
    assert result.exit_code == 2
    assert "cut off" in result.stderr or "changes nothing" in result.stderr
