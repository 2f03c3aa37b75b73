"""What git apply does and patchkit must not: partly applied patches, unsafe paths, trees below a repository."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from patchkit.errors import ConflictError, PatchError, PatchkitError
from patchkit.patch.composing import Work
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.patchtext import blob_id, read_patch
from patchkit.results.apply import Applied
from patchkit.verbs.apply import Wish, apply_work, patch_work, stated_release
from tests.git.fuzz import Tree, diff_trees, read_tree, run_git, write_tree
from tests.git.upstream_tree import git, referee, snapshot

TEXT = b"".join(b"line %d\n" % number for number in range(1, 21))
HEAD = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n"
BODY = b"@@ -4,5 +4,5 @@\n line 4\n line 5\n-line 6\n+line X\n line 7\n line 8\n"
SECOND = b"@@ -14,5 +14,5 @@\n line 14\n line 15\n-line 16\n+line Y\n line 17\n line 18\n"
GOOD = HEAD + BODY
OTHER = GOOD.replace(b"/f", b"/g")
BINARY = (
    b"diff --git a/x.bin b/x.bin\nnew file mode 100644\n"
    b"index 0000000000000000000000000000000000000000..f76dd238ade08917e6712764a16a22005a50573d\n"
    b"GIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n"
)


def put(folder: Path, raw: bytes, *, reverse: bool = False, dry_run: bool = False) -> Applied:
    patch_file = folder.parent / "x.patch"
    patch_file.write_bytes(raw)
    wish = Wish(reverse=reverse, dry_run=dry_run)
    return apply_work(folder, patch_work(patch_file), wish, identify=stated_release)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    for name in ("f", "g"):
        (folder / name).write_bytes(TEXT)
    return folder


def refused(folder: Path, raw: bytes) -> PatchkitError:
    """Apply, and return the refusal; nothing may have changed in or beside the tree, and a dry run must agree."""
    before = snapshot(folder.parent)
    with pytest.raises(PatchkitError) as planned:
        put(folder, raw, dry_run=True)
    with pytest.raises(PatchkitError) as caught:
        put(folder, raw)
    assert (type(planned.value), str(planned.value)) == (type(caught.value), str(caught.value))
    after = snapshot(folder.parent)
    after.pop("x.patch")
    before.pop("x.patch", None)
    assert after == before
    return caught.value


# -- where it runs --------------------------------------------------------------------------------------------


def test_below_a_repository_git_does_nothing_and_says_so_to_nobody(tree: Path) -> None:
    git("init", "-q", cwd=tree.parent)
    done = subprocess.run(["git", "apply", "--check", "-"], cwd=tree, input=GOOD, check=False, capture_output=True)
    applied = subprocess.run(["git", "apply", "-"], cwd=tree, input=GOOD, check=False, capture_output=True)
    assert (done.returncode, applied.returncode, (tree / "f").read_bytes()) == (0, 0, TEXT)
    put(tree, GOOD)
    assert b"line X" in (tree / "f").read_bytes()


def test_the_user_s_git_settings_change_what_git_writes_but_not_what_we_write(
    tree: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sealed / "gitconfig"
    config.write_text("[core]\n\tautocrlf = true\n[apply]\n\twhitespace = fix\n\tignorewhitespace = change\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    gits = tree.parent / "gits"
    shutil.copytree(tree, gits)
    subprocess.run(
        ["git", "apply", "-"], cwd=gits, input=GOOD, check=False, env={**os.environ, "GIT_DIR": "/nonexistent"}
    )
    put(tree, GOOD)
    assert (tree / "f").read_bytes() == TEXT.replace(b"line 6", b"line X")
    assert (gits / "f").read_bytes() != (tree / "f").read_bytes()
    mismatch = GOOD.replace(b" line 5\n", b" line  5\n")
    assert isinstance(refused(tree, mismatch), ConflictError)


def test_the_tree_s_own_attributes_change_what_git_writes_but_not_what_we_write(tree: Path) -> None:
    git("init", "-q", cwd=tree)
    (tree / ".gitattributes").write_text("* text eol=crlf\n")
    gits = tree.parent / "gits"
    shutil.copytree(tree, gits)
    subprocess.run(["git", "apply", "-"], cwd=gits, input=GOOD, check=True)
    put(tree, GOOD)
    assert (tree / "f").read_bytes() == TEXT.replace(b"line 6", b"line X")
    assert (gits / "f").read_bytes() != (tree / "f").read_bytes()


def test_git_s_reverse_check_is_no_proof_and_ids_are(tree: Path) -> None:
    damaged = GOOD + BINARY[:-8]
    gits = tree.parent / "gits"
    shutil.copytree(tree, gits)
    assert referee(gits, damaged) == referee(gits, damaged, "-R", "--check") == 0
    assert not (gits / "x.bin").exists()
    refused(tree, damaged)


# -- damaged patches that git applies in part, exit 0 -----------------------------------------------------------

SKIPPED_IN_PART = [
    pytest.param(GOOD + BINARY[:-8], "PK117", id="binary-truncated-after-text"),
    pytest.param(GOOD + BINARY.replace(b"IcmZPo", b"Icm!Po"), "PK117", id="binary-corrupt-after-text"),
    pytest.param(GOOD + BINARY[: BINARY.index(b"literal 1")], "PK117", id="binary-no-data-after-text"),
    pytest.param(GOOD + SECOND.replace(b"@@ -14,5 +14,5 @@", b"@@ -14,5"), "PK103", id="second-hunk-header-damaged"),
    pytest.param(GOOD + OTHER.replace(b"diff", b" diff").replace(b"\n", b"\n "), "PK102", id="second-section-indented"),
    pytest.param(GOOD.replace(b"+4,5", b"+4,4").replace(b"-4,5", b"-4,4"), "PK102", id="count-both-too-small"),
    pytest.param(GOOD + b"+more\n" + OTHER, "PK102", id="extra-added-lines-between-files"),
    pytest.param(GOOD + b"diff --git a/g b/g\n", "PK110", id="truncated-second-after-git-line"),
    pytest.param(b"diff --cc g\nindex 1,2..3\n" + GOOD, "PK107", id="combined-then-good"),
    pytest.param(b"*** a/g\n--- b/g\n***************\n*** 1 ****\n" + GOOD, "PK108", id="context-then-unified"),
    pytest.param(GOOD.replace(b"-4,5", b"-99999999999999999999,5"), "PK103", id="number-huge"),
    pytest.param(GOOD.replace(b"+4,5", b"+18446744073709551620,5"), "PK103", id="number-wrap64"),
    pytest.param(
        GOOD + OTHER.replace(b"+++ b/g", b"+++ b/h").replace(b"b/g\n---", b"b/h\n---"), "PK110", id="names-differ"
    ),
    pytest.param(GOOD + b"random words\n" + OTHER, "PK104", id="text-between-sections"),
    pytest.param(GOOD + b"<<<<<<< HEAD\n" + OTHER, "PK115", id="conflict-marker-between-sections"),
]


@pytest.mark.parametrize(("raw", "rule"), SKIPPED_IN_PART)
def test_a_damaged_patch_is_refused_whole(tree: Path, raw: bytes, rule: str) -> None:
    error = refused(tree, raw)
    assert isinstance(error, PatchError)
    assert error.rule == rule
    assert error.where.startswith(str(tree.parent / "x.patch") + ":")
    assert error.hint or error.found


def test_a_count_too_small_that_drops_an_added_line_is_refused(tree: Path) -> None:
    raw = HEAD + b"@@ -20 +20,2 @@\n line 20\n+line 21\n+line 22\n"
    gits = tree.parent / "gits"
    shutil.copytree(tree, gits)
    assert referee(gits, raw) == 0
    assert (gits / "f").read_bytes() == TEXT + b"line 21\n"  # git drops line 22 without a word
    assert isinstance(error := refused(tree, raw), PatchError)
    assert error.rule == "PK102"


CREATE = b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+one\n"


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        pytest.param(CREATE + CREATE.replace(b"one", b"two"), "PK113", id="file-twice-create"),
        pytest.param(GOOD + GOOD.replace(b"line X", b"line Z"), "PK113", id="file-twice-modify"),
        pytest.param(HEAD + SECOND + BODY, "PK114", id="hunks-out-of-order"),
        pytest.param(HEAD + BODY + BODY.replace(b"-4,5 +4,5", b"-7,5 +7,5"), "PK114", id="overlapping-hunks"),
        pytest.param(b"--- /dev/null\n+++ /dev/null\n" + BODY, "PK110", id="devnull-both"),
        pytest.param(b"diff --git a/f b/g\ncopy from ../f\ncopy to n\n", "PK111", id="copy-from-outside"),
        pytest.param(
            b"diff --git a/n b/n\njunk\nnew file mode 100644\n" + CREATE[43:], "PK110", id="junk-that-aborts-git"
        ),
        pytest.param(GOOD.replace(b"+line X", b"+<<<<<<< HEAD"), "PK115", id="added-conflict-marker"),
        pytest.param(GOOD.replace(b"+line X", b"+a = 1  # \xe2\x80\xae"), "PK118", id="added-direction-control"),
    ],
)
def test_refused_although_git_takes_it_or_crashes(tree: Path, raw: bytes, rule: str) -> None:
    assert isinstance(error := refused(tree, raw), PatchError)
    assert error.rule == rule


def test_a_line_of_equal_signs_is_legitimate_text(tree: Path) -> None:
    put(tree, GOOD.replace(b"+line X", b"+======="))
    assert b"\n=======\n" in (tree / "f").read_bytes()


# -- unsafe names and modes -------------------------------------------------------------------------------------


def creation(name: bytes, mode: bytes = b"100644") -> bytes:
    return b"diff --git a/%s b/%s\nnew file mode %s\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n" % (
        name,
        name,
        mode,
        name,
    )


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        (b"../evil", "PK111"),
        (b"d/../../evil", "PK111"),
        (b"./f", "PK111"),
        (b"d//f", "PK111"),
        (b"/etc/evil", "PK111"),
        (b"C:/evil", "PK111"),
        (b"..\\evil", "PK111"),
        (b".git/config", "PK112"),
        (b".GIT/config", "PK112"),
        (b"d/.git/hooks/x", "PK112"),
        (b"git~1/config", "PK112"),
        (b".git /config", "PK112"),
        (b".git./config", "PK112"),
        (b".git::$INDEX_ALLOCATION/config", "PK112"),
        (b".g\xe2\x80\x8cit/config", "PK112"),
        (b".gitmodules", "PK112"),
        (b".patchkit/record", "PK112"),
        (b"evil\xe2\x80\xaeyp.txt", "PK118"),
    ],
    ids=repr,
)
def test_unsafe_name_is_refused(tree: Path, name: bytes, rule: str) -> None:
    for raw in (creation(name), GOOD + creation(name)):
        assert isinstance(error := refused(tree, raw), PatchError)
        assert error.rule == rule


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(GOOD.replace(b"/f", b"/../f"), id="modify"),
        pytest.param(
            b"diff --git a/../f b/../f\ndeleted file mode 100644\n--- a/../f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            id="delete",
        ),
        pytest.param(b"diff --git a/f b/../f\nsimilarity index 100%\nrename from f\nrename to ../f\n", id="rename out"),
        pytest.param(b"diff --git a/../f b/f\nsimilarity index 100%\nrename from ../f\nrename to f\n", id="rename in"),
        pytest.param(b"diff --git a/f b/h\nsimilarity index 100%\nrename from f\nrename to ../h\n", id="rename line"),
        pytest.param(b"diff --git a/f b/../h\nsimilarity index 100%\ncopy from f\ncopy to ../h\n", id="copy out"),
        pytest.param(b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n".replace(b"/f", b"/../f"), id="mode"),
    ],
)
def test_no_kind_of_change_leads_out_of_the_tree(tree: Path, raw: bytes) -> None:
    (tree.parent / "f").write_bytes(TEXT)
    for patch in (raw, OTHER + raw):
        assert isinstance(error := refused(tree, patch), PatchError)
        assert error.rule == "PK111"


def test_a_submodule_is_refused_where_git_changes_nothing_and_ends_with_0(tree: Path) -> None:
    raw = b"diff --git a/sub b/sub\nindex %s..%s 160000\n--- a/sub\n+++ b/sub\n" % (b"1" * 40, b"2" * 40)
    raw += b"@@ -1 +1 @@\n-Subproject commit %s\n+Subproject commit %s\n" % (b"1" * 40, b"2" * 40)
    (tree / "sub").mkdir()
    assert isinstance(error := refused(tree, raw), PatchError)
    assert error.rule == "PK116"


def test_a_link_that_the_patch_itself_makes_or_moves_is_refused(tree: Path) -> None:
    make = creation(b"l", b"120000").replace(b"+x\n", b"+..\n\\ No newline at end of file\n")
    assert isinstance(error := refused(tree, make + creation(b"l/evil")), PatchError)
    assert error.rule == "PK116"
    (tree / "l").symlink_to("..")
    move = b"diff --git a/l b/m\nsimilarity index 100%\nrename from l\nrename to m\n"
    assert "symbolic link" in str(refused(tree, move + creation(b"m/evil")))
    assert "beyond a symbolic link" in str(refused(tree, creation(b"l/evil")))


@pytest.mark.parametrize("quoted", [b'"a/..\\057evil"', b'"a/f\\000g"'], ids=["octal dots", "octal NUL"])
def test_unsafe_quoted_name_is_refused(tree: Path, quoted: bytes) -> None:
    raw = b"diff --git %s %s\nold mode 100644\nnew mode 100755\n" % (quoted, quoted.replace(b"a/", b"b/"))
    assert isinstance(error := refused(tree, raw), PatchError)
    assert error.rule in ("PK111", "PK119")


@pytest.mark.parametrize("mode", [b"120000", b"160000", b"100666", b"100777", b"104755", b"040000", b"999999", b"-1"])
def test_mode_of_no_plain_file_is_refused(tree: Path, mode: bytes) -> None:
    assert isinstance(error := refused(tree, creation(b"n", mode)), PatchError)
    assert error.rule == "PK116"


def test_a_mode_change_to_setuid_is_refused(tree: Path) -> None:
    error = refused(tree, b"diff --git a/f b/f\nold mode 100644\nnew mode 104755\n")
    assert isinstance(error, PatchError)
    assert error.rule == "PK116"


def test_a_file_that_exists_or_is_missing_is_told_apart(tree: Path) -> None:
    assert "the file exists already" in refused(tree, creation(b"f")).found
    assert "no such file" in refused(tree, GOOD.replace(b"/f", b"/h")).found


def test_only_line_endings_or_white_space_differ_is_said(tree: Path) -> None:
    (tree / "f").write_bytes(TEXT.replace(b"\n", b"\r\n"))
    assert "only the line endings of lines 4 to 8 differ" in refused(tree, GOOD).found
    (tree / "f").write_bytes(TEXT.replace(b"line 5", b"line\t5"))
    assert "only the white space of lines 4 to 8 differ" in refused(tree, GOOD).found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            {"f": (TEXT, False)}, {"f/f": (TEXT, False)}, "f/f: a file is in the way", id="into its own folder"
        ),
        pytest.param({"f/f": (TEXT, False)}, {"f": (TEXT, False)}, "f is a folder; only files", id="out of its folder"),
    ],
)
def test_a_file_that_becomes_a_folder_is_refused_though_git_takes_it(
    old: Tree, new: Tree, told: str, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "repository").mkdir()
    write_tree(tmp_path / "tree", old)
    raw = diff_trees(old, new, ["--full-index", "-M"], tmp_path / "repository")
    shutil.rmtree(tmp_path / "repository")
    assert told in str(refused(tmp_path / "tree", raw))


def test_a_last_line_without_line_feed_must_be_the_last_where_git_joins_two(tree: Path) -> None:
    raw = HEAD + b"@@ -1,2 +1,3 @@\n+new\n one\n two\n\\ No newline at end of file\n"
    (tree / "f").write_bytes(b"one\ntwo\nthree\n")
    gits = tree.parent / "gits"
    shutil.copytree(tree, gits)
    assert referee(gits, raw) == 0
    assert (gits / "f").read_bytes() == b"new\none\ntwothree\n"
    assert "no final line feed after line 2" in refused(tree, raw).found


# -- reverse ----------------------------------------------------------------------------------------------------


def test_create_then_modify_comes_out_whole(tree: Path) -> None:
    before = snapshot(tree)
    modify = b"diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1 +1,2 @@\n one\n+two\n"
    topics = tuple(TopicPatch(name, read_patch(raw)) for name, raw in (("a", CREATE), ("b", modify)))
    work = Work("s", topics, ("a.patch", "b.patch"))
    apply_work(tree, work, Wish(), identify=stated_release)
    assert (tree / "n").read_bytes() == b"one\ntwo\n"
    apply_work(tree, work, Wish(reverse=True), identify=stated_release)
    assert snapshot(tree) == before


def test_modify_then_delete_comes_out_whole(tree: Path) -> None:
    before = snapshot(tree)
    after = TEXT.replace(b"line 6", b"line X")
    delete = b"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,20 +0,0 @@\n"
    delete += b"".join(b"-" + line for line in after.splitlines(keepends=True))
    topics = tuple(TopicPatch(name, read_patch(raw)) for name, raw in (("a", GOOD), ("b", delete)))
    work = Work("s", topics, ("a.patch", "b.patch"))
    apply_work(tree, work, Wish(), identify=stated_release)
    assert not (tree / "f").exists()
    apply_work(tree, work, Wish(reverse=True), identify=stated_release)
    assert snapshot(tree) == before


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o2775, 0o4755], ids=oct)
def test_every_permission_bit_stays_and_comes_back(tree: Path, mode: int) -> None:
    (tree / "f").chmod(mode)
    before = snapshot(tree)
    put(tree, GOOD)
    assert (tree / "f").stat().st_mode & 0o7777 == mode
    put(tree, GOOD, reverse=True)
    assert snapshot(tree) == before


def test_a_second_apply_without_context_changes_nothing(tree: Path) -> None:
    (tree / "f").write_bytes(b"a\na\na\n")
    raw = HEAD + b"@@ -1 +1 @@\n-a\n+b\n"
    error = refused(tree, raw)  # git takes the first of the three, and at every further call the next
    assert "must be at" in error.found or "equally well" in error.found or "has nothing" in error.found
    (tree / "f").write_bytes(b"b\na\n")
    insert = HEAD + b"@@ -1,0 +2 @@ b\n+c\n"
    gits = tree.parent / "gits"
    shutil.copytree(tree, gits)
    assert [referee(gits, insert, "--unidiff-zero") for _ in range(2)] == [0, 0]
    assert (gits / "f").read_bytes() == b"b\nc\nc\na\n"
    refused(tree, insert)


def test_uneven_context_that_gnu_patch_refuses_is_taken(tree: Path) -> None:
    context = b"".join(b" line %d\n" % number for number in range(4, 10))
    raw = HEAD + b"@@ -2,10 +2,10 @@\n" + context + b"-line 10\n+line X\n line 11\n line 12\n line 13\n"
    result = put(tree, raw)
    assert dict(result.offsets) == {"f#1": 2}
    assert (tree / "f").read_bytes() == TEXT.replace(b"line 10\n", b"line X\n")


def test_copies_and_renames_come_out_whole(tree: Path, tmp_path: Path) -> None:
    old: Tree = {"f": (TEXT, False), "g": (TEXT, False)}
    new: Tree = {"moved": (TEXT, False), "g": (TEXT + b"x\n", False), "copy": (TEXT + b"y\n", False)}
    (tmp_path / "repository").mkdir()
    raw = diff_trees(old, new, ["-C", "-C", "--full-index"], tmp_path / "repository")
    assert b"copy from" in raw
    assert b"rename from" in raw
    before = snapshot(tree)
    put(tree, raw)
    put(tree, raw, reverse=True)
    assert snapshot(tree) == before


# -- bytes ------------------------------------------------------------------------------------------------------

LONG = b"x" * 1_000_000
ENDS = [
    (b"a\nb", b"a\nc"),
    (b"a\nb", b"a\nb\n"),
    (b"a\nb\n", b"a\nb"),
    (b"a", b"b"),
    (b"a", b""),
    (b"", b"a"),
    (b"a\n", b"a\nb"),
    (b"a\nb", b"a"),
]
CONTENTS = {
    "crlf": (TEXT.replace(b"\n", b"\r\n"), TEXT.replace(b"line 6", b"line X").replace(b"\n", b"\r\n")),
    "crlf to lf": (TEXT.replace(b"\n", b"\r\n"), TEXT),
    "lone cr": (b"a\rb\nc\n", b"a\rB\nc\r\n"),
    "form feed and separators": (
        b"a\x0c\x1c\x1d\x1e\nb\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\n",
        b"a\x0c\nb\xc2\x85\xe2\x80\xa9\n",
    ),
    "escape": (b"\x1b[31mred\x1b[0m\nx\n", b"\x1b[32mgreen\x1b[0m\nx\n"),
    "latin-1 and utf-8": (b"\xe4\n\xc3\xa4\nx\n", b"\xf6\n\xc3\xb6\nx\n"),
    "byte order mark": (b"\xef\xbb\xbfa\nb\n", b"a\nb\n"),
    "utf-16 as text": ("a\nb\n".encode("utf-16"), "a\nc\n".encode("utf-16")),
    "nul as text": (b"a\0b\nc\n", b"a\0b\nd\n"),
    "long line": (LONG + b"\nb\n", LONG + b"y\nb\n"),
    "patch-like text": (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-- \n\\ x\n", b"--- a/y\n+++ b/x\n@@ -1 +2 @@\n-- \n\\ y\n"),
    **{f"no final line feed {number}": pair for number, pair in enumerate(ENDS, start=1)},
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repository")


def there_and_back(folder: Path, old: Tree, new: Tree, raw: bytes) -> None:
    """patchkit and git give the same bytes, and patchkit takes them out again."""
    ours, gits = folder / "ours", folder / "gits"
    for side in (ours, gits):
        side.mkdir()
        write_tree(side, old)
    before = snapshot(ours)
    assert run_git(["apply", "-"], gits, raw).returncode == 0
    put(ours, raw)
    shutil.move(ours / ".patchkit", folder / "kept")
    assert read_tree(ours) == read_tree(gits) == new
    shutil.move(folder / "kept", ours / ".patchkit")
    put(ours, raw, reverse=True)
    assert snapshot(ours) == before


@pytest.mark.parametrize("name", CONTENTS)
def test_content_is_kept_byte_for_byte(name: str, tmp_path: Path, repository: Path) -> None:
    old, new = CONTENTS[name]
    raw = diff_trees({"f": (old, False)}, {"f": (new, False)}, ["--text", "--full-index"], repository)
    there_and_back(tmp_path, {"f": (old, False)}, {"f": (new, False)}, raw)


NAMES = [
    "with space", "tab\tin", 'quo"te', "back\\slash", "new\nline", "\udce4latin", "caf\u00e9", "cafe\u0301",
    "-dash", "x b/x", "dev/null", "a b c/d e", "/".join(["d"] * 200) + "/f", "b/b/b", " lead", "trail ",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_name_is_kept_byte_for_byte(name: str, tmp_path: Path, repository: Path) -> None:
    old: Tree = {name: (TEXT, False)}
    new: Tree = {name: (TEXT.replace(b"line 6", b"line X"), True)}
    there_and_back(tmp_path, old, new, diff_trees(old, new, ["--full-index"], repository))


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        pytest.param(
            {"f": (TEXT, False), "g": (b"g\n", False)},
            {"g": (TEXT, False), "f": (b"g\n", False)},
            ["-B", "-M"],
            id="swap",
        ),
        pytest.param(
            {"f": (TEXT, False), "g": (b"g\n" * 9, False)},
            {"g": (TEXT, False), "h": (b"g\n" * 9, False)},
            ["-B", "-M"],
            id="chain",
        ),
        pytest.param({"f": (TEXT, False)}, {"d/e/f": (TEXT, False)}, ["-M"], id="into a folder"),
        pytest.param({"f": (TEXT, False)}, {"f": (TEXT, True)}, [], id="mode only"),
        pytest.param({"f": (TEXT, False)}, {"f": (TEXT, False), "e": (b"", False)}, [], id="new empty file"),
        pytest.param({"f": (TEXT, False), "e": (b"", False)}, {"f": (TEXT, False)}, [], id="deleted empty file"),
        pytest.param({"f": (TEXT, False), "d/e/g": (b"x\n", False)}, {"f": (TEXT, False)}, [], id="emptied folders"),
        pytest.param({"f": (b"\0\1\2" * 99, False)}, {"f": (b"\0\1\3" * 99, False)}, ["--binary"], id="binary"),
        pytest.param(
            {"f": (bytes(range(256)) * 40, False)},
            {"f": (bytes(range(256)) * 40 + b"x", False)},
            ["--binary"],
            id="delta",
        ),
        pytest.param({"f": (b"x\n", False)}, {"f": (b"x\n", False), "b": (b"\0", True)}, ["--binary"], id="new binary"),
        pytest.param(
            {"f": (b"x\n", False), "b": (b"\0", True)}, {"f": (b"x\n", False)}, ["--binary"], id="deleted binary"
        ),
    ],
)
def test_change_of_each_kind(old: Tree, new: Tree, options: list[str], tmp_path: Path, repository: Path) -> None:
    raw = diff_trees(old, new, ["--full-index", *options], repository)
    there_and_back(tmp_path, old, new, raw)


@pytest.mark.parametrize("context", [1, 2, 3, 5, 10])
def test_any_length_of_context(context: int, tmp_path: Path, repository: Path) -> None:
    old: Tree = {"f": (TEXT, False)}
    new: Tree = {"f": (TEXT.replace(b"line 6", b"line X").replace(b"line 15\n", b""), False)}
    there_and_back(tmp_path, old, new, diff_trees(old, new, [f"-U{context}", "--full-index"], repository))


def test_thousand_files_and_two_thousand_hunks(tmp_path: Path, repository: Path) -> None:
    old: Tree = {f"d{number % 7}/f{number}": (TEXT, False) for number in range(1000)}
    edited = TEXT.replace(b"line 3\n", b"line X\n").replace(b"line 17\n", b"line Y\n")
    new: Tree = dict.fromkeys(old, (edited, False))
    raw = diff_trees(old, new, ["--full-index", "-U2"], repository)
    assert raw.count(b"\n@@ ") == 2000
    folder = tmp_path / "tree"
    folder.mkdir()
    write_tree(folder, old)
    put(folder, raw)
    assert (folder / "d3/f3").read_bytes() == edited


def test_a_promise_of_ids_is_kept(tree: Path) -> None:
    after = TEXT.replace(b"line 6", b"line X")
    index = b"index %s..%s 100644\n" % (blob_id(TEXT).encode(), blob_id(after).encode())
    put(tree, GOOD.replace(b"--- a/f", index + b"--- a/f"))
    assert (tree / "f").read_bytes() == after
