"""import finds each trouble that is there, invents none, keeps every byte, and names the pin by blob ids."""

from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import ConfigError
from patchkit.results.adopt import Adopt, TroubleKind
from patchkit.store import read_pin, read_series, read_series_names, read_topics
from patchkit.verbs.adopt import adopt_branch, adopt_folder
from patchkit.verbs.verify import verify_pins
from tests.git import patchfolders as make
from tests.git.patchfolders import COUNTED, GUARDED, LIMITS, QUEUE, V13, V14, V15, Field, git
from tests.git.releases import cache

Build = Callable[[Path], Field]


def adopt(made: Field, where: str = "docker/patch", *, dry_run: bool = False, version: str | None = None) -> Adopt:
    return adopt_folder([made.base / where], made.base, made.access, version=version, dry_run=dry_run)


def kinds(result: Adopt) -> set[TroubleKind]:
    return {trouble.kind for trouble in result.troubles}


def test_sound_folder_has_no_trouble_and_keeps_its_bytes(tmp_path: Path) -> None:
    made = make.sound(tmp_path)
    result = adopt(made)
    assert result.troubles == ()
    assert [each.pin for each in result.sets] == ["v0.5.14", "v0.5.15"]
    for version in ("v0.5.14", "v0.5.15"):
        source = made.base / "docker/patch" / version / "sglang.patch"
        assert (made.base / "patches" / version / "downstream.patch").read_bytes() == source.read_bytes()
        assert read_pin(made.base, version).commit == ""
        assert (made.base / "patches" / version / "manifest.json").is_file()
    assert list(read_topics(made.base)) == ["downstream"]
    assert (made.base / "patches/latest").read_text() == "v0.5.15\n"


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    made = make.sound(tmp_path)
    result = adopt(made, dry_run=True)
    assert not (made.base / "patches").exists()
    assert (result.written, result.exit_code) == ((), 0)


def test_second_import_of_other_patches_for_a_pin_says_so(tmp_path: Path) -> None:
    made = make.sound(tmp_path)
    adopt(made)
    patch = made.base / "docker/patch/v0.5.15/sglang.patch"
    patch.write_bytes(b"A word.\n" + patch.read_bytes())
    result = adopt(made, "docker/patch/v0.5.15")
    assert result.sets[0].reason == "patches/v0.5.15 exists already, and has other patches"
    assert (result.exit_code, result.next_step) == (2, "patchkit status")


def test_second_import_takes_nothing_twice(tmp_path: Path) -> None:
    made = make.sound(tmp_path)
    adopt(made)
    before = {path: path.read_bytes() for path in (made.base / "patches").rglob("*") if path.is_file()}
    result = adopt(made)
    assert [each.reason for each in result.sets] == ["already adopted, as it is"] * 2
    assert (result.exit_code, result.next_step) == (0, "patchkit status")
    assert before == {path: path.read_bytes() for path in (made.base / "patches").rglob("*") if path.is_file()}


# -- one trouble at a time --------------------------------------------------------------------------------


def wrong_label(folder: Path) -> Field:
    made = make.sound(folder)
    (made.base / "docker/patch/v0.5.14").rename(made.base / "docker/patch/v0.5.13")
    made.write("docker/README.md", "")
    return made


def never_applied(folder: Path) -> Field:
    made = make.sound(folder)
    extra = {**V15, "srt/queue.py": GUARDED}
    made.write("docker/patch/v0.5.15/sglang-guard.patch", made.diff({**V15, "srt/queue.py": COUNTED}, extra))
    return made


def foreign(folder: Path) -> Field:
    made = make.sound(folder)
    text = made.diff({"../megatron/a.py": "x = 1\n"}, {"../megatron/a.py": "x = 2\n"})
    made.write("docker/patch/v0.5.15/megatron.patch", text)
    return made


def outside(folder: Path) -> Field:
    made = make.sound(folder)
    kernel = {"../sgl-kernel/setup.py": "a = 1\n"}, {"../sgl-kernel/setup.py": "a = 2\n"}
    after = {**V15, "srt/queue.py": COUNTED, **kernel[1]}
    made.write("docker/patch/v0.5.15/sglang.patch", made.diff({**V15, **kernel[0]}, after))
    return made


def defined_twice(folder: Path) -> Field:
    made = make.sound(folder)
    twice = QUEUE.replace("\n\ndef drain", "\n    def push(self, item):\n        return None\n\n\ndef drain")
    made.write("docker/patch/v0.5.15/sglang.patch", made.diff(V15, {**V15, "srt/queue.py": twice}))
    return made


def already_upstream(folder: Path) -> Field:
    """One of the two changes is in the release."""
    made = make.sound(folder)
    patch = made.diff({**V15, "srt/limits.py": LIMITS.replace("5", "4")}, {**V15, "srt/queue.py": COUNTED})
    made.write("docker/patch/v0.5.15/sglang.patch", patch)
    return made


def cut_off(folder: Path) -> Field:
    made = make.sound(folder)
    whole = (made.base / "docker/patch/v0.5.15/sglang.patch").read_bytes()
    made.write("docker/patch/v0.5.15/sglang.patch", whole[:-30])
    return made


def copy_of_latest(folder: Path) -> Field:
    made = make.sound(folder)
    made.write("docker/patch/latest/sglang.patch", (made.base / "docker/patch/v0.5.15/sglang.patch").read_bytes())
    return made


def second_set(folder: Path) -> Field:
    made = make.sound(folder)
    made.write("docker/patch/v0.5.15-cu129/sglang.patch", made.diff(V15, {**V15, "srt/queue.py": GUARDED}))
    return made


def label_of_image(folder: Path) -> Field:
    """`latest` alone, and a Dockerfile that puts it on another release than it is written for."""
    made = make.field(folder)
    made.write("docker/patch/latest/sglang.patch", made.diff(V14, {**V14, "srt/limits.py": "B = 1\n"}))
    made.write("docker/Dockerfile", make.DOCKERFILE)
    return made


def label_of_readme(folder: Path) -> Field:
    made = make.sound(folder)
    made.write("docker/README.md", "| folder | sglang |\n|---|---|\n| v0.5.15 | v0.5.13 |\n")
    return made


def not_in_series(folder: Path) -> Field:
    made = never_applied(folder)
    made.write("docker/Dockerfile", "FROM x\n")
    made.write("docker/patch/v0.5.15/series", "# order\nsglang.patch -p1\n")
    return made


def applied_by_a_script(folder: Path) -> Field:
    """The Dockerfile applies a patch of another folder; nobody says that ours are not applied."""
    made = make.sound(folder)
    made.write("docker/Dockerfile", "FROM x\nCOPY other/megatron.patch /\nRUN git apply megatron.patch\n")
    return made


def tolerant(folder: Path) -> Field:
    made = make.sound(folder)
    text = (made.base / "docker/Dockerfile").read_text()
    made.write("docker/Dockerfile", text.replace("git apply sglang.patch", "git apply sglang.patch || true"))
    return made


def offset(folder: Path) -> Field:
    made = make.sound(folder)
    patch = made.base / "docker/patch/v0.5.15/sglang.patch"
    patch.write_bytes(patch.read_bytes().replace(b"@@ -7,6 +7,7 @@", b"@@ -4,6 +4,7 @@"))
    return made


def wrong_place(folder: Path) -> Field:
    """A text that stands twice; the header names one function, the line numbers the other."""
    body = "    if x:\n        y = 1\n        z = 2\n    return y\n"
    source = f"def first(x):\n{body}\n\ndef second(x):\n{body}"
    release = {**V15, "srt/two.py": source}
    made = make.field(folder)
    cache(folder, {"0.5.16": release})
    changed = source.replace("        z = 2\n", "        z = 3\n", 1)
    patch = made.diff(release, {**release, "srt/two.py": changed})
    misled = patch.replace(b"@@ -1,7 +1,7 @@\n def first(x):\n", b"@@ -2,6 +2,6 @@ def second(x):\n")
    assert misled != patch
    made.write("docker/patch/v0.5.16/sglang.patch", misled)
    return made


def mixed_base(folder: Path) -> Field:
    made = make.sound(folder)
    before = {**V15, "srt/queue.py": QUEUE + "# theirs\n"}
    made.write(
        "docker/patch/v0.5.15/sglang.patch",
        made.diff(before, {**V15, "srt/queue.py": COUNTED + "# theirs\n", "srt/limits.py": "LIMIT = 1\n"}),
    )
    return made


def no_index(folder: Path) -> Field:
    made = make.sound(folder)
    patch = made.base / "docker/patch/v0.5.15/sglang.patch"
    kept = [line for line in patch.read_bytes().splitlines(keepends=True) if not line.startswith(b"index ")]
    patch.write_bytes(b"".join(kept))
    return made


def backwards(folder: Path) -> Field:
    made = make.sound(folder)
    make.commit_tags(made, "nightly-dev-20260104a", "nightly-dev-20260105a", "nightly-dev-20260103b")
    return made


def rewritten(folder: Path) -> Field:
    made = make.sound(folder)
    patch = made.base / "docker/patch/v0.5.15/sglang.patch"
    patch.write_bytes(patch.read_bytes().replace(b"/python/sglang/", b"/sglang/"))
    return made


@pytest.mark.parametrize(
    ("build", "kind", "where"),
    [
        pytest.param(wrong_label, TroubleKind.WRONG_LABEL, "docker/patch/v0.5.13", id="folder of another version"),
        pytest.param(never_applied, TroubleKind.NEVER_APPLIED, "docker/patch/v0.5.15/sglang-guard.patch", id="loop"),
        pytest.param(not_in_series, TroubleKind.NEVER_APPLIED, "docker/patch/v0.5.15/sglang-guard.patch", id="series"),
        pytest.param(label_of_image, TroubleKind.WRONG_LABEL, "docker/Dockerfile:2", id="image of another version"),
        pytest.param(label_of_readme, TroubleKind.WRONG_LABEL, "docker/README.md:3", id="readme of another version"),
        pytest.param(foreign, TroubleKind.FOREIGN, "docker/patch/v0.5.15/megatron.patch", id="megatron"),
        pytest.param(outside, TroubleKind.OUTSIDE, "docker/patch/v0.5.15/sglang.patch", id="sgl-kernel"),
        pytest.param(defined_twice, TroubleKind.TWICE, "docker/patch/v0.5.15/sglang.patch:9", id="defined twice"),
        pytest.param(cut_off, TroubleKind.UNREADABLE, "docker/patch/v0.5.15/sglang.patch:19", id="cut off"),
        pytest.param(copy_of_latest, TroubleKind.COPY, "docker/patch/latest", id="copy of latest"),
        pytest.param(second_set, TroubleKind.SAME_PIN, "docker/patch/v0.5.15-cu129", id="two sets for a release"),
        pytest.param(tolerant, TroubleKind.TOLERANT, "docker/Dockerfile:5", id="failure ignored"),
        pytest.param(offset, TroubleKind.OFFSET, "docker/patch/v0.5.15/sglang.patch:14", id="offset"),
        pytest.param(wrong_place, TroubleKind.MISPLACED, "v0.5.16/sglang.patch:5", id="wrong place"),
        pytest.param(mixed_base, TroubleKind.MIXED, "docker/patch/v0.5.15", id="base is no release"),
        pytest.param(backwards, TroubleKind.BACKWARDS, "docker/version.txt", id="tag went backwards"),
        pytest.param(rewritten, TroubleKind.REWRITTEN, "docker/patch/v0.5.15/sglang.patch", id="made in site-packages"),
        pytest.param(no_index, TroubleKind.NO_INDEX, "docker/patch/v0.5.15/sglang.patch:1", id="no index lines"),
        pytest.param(already_upstream, TroubleKind.UPSTREAM, "docker/patch/v0.5.15/sglang.patch:5", id="upstream"),
    ],
)
def test_trouble_is_found_and_no_other(tmp_path: Path, build: Build, kind: TroubleKind, where: str) -> None:
    result = adopt(build(tmp_path), dry_run=True)
    consequence = {TroubleKind.MIXED} if build is already_upstream else set()
    assert kinds(result) - consequence == {kind}
    assert where in {trouble.where.partition(" ")[0] for trouble in result.troubles if trouble.kind is kind}


def test_patch_that_a_script_may_apply_is_no_trouble(tmp_path: Path) -> None:
    assert adopt(applied_by_a_script(tmp_path), dry_run=True).troubles == ()


def test_patch_that_nothing_applies_and_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    made = make.sound(tmp_path)
    made.write("docker/patch/v0.5.15/sglang-old.patch", made.diff({"srt/limits.py": "A\n"}, {"srt/limits.py": "B\n"}))
    result = adopt(made)
    assert [topic.topic for topic in result.sets[1].topics] == ["downstream"]
    assert result.sets[1].composes
    assert [trouble.where for trouble in result.troubles if trouble.kind is TroubleKind.NEVER_APPLIED] == [
        "docker/patch/v0.5.15/sglang-old.patch"
    ]


# -- layouts ----------------------------------------------------------------------------------------------


def test_file_a_version(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    for version, release in (("v0.5.14", V14), ("v0.5.15", V15)):
        made.write(f"fixes/{version}.patch", made.diff(release, {**release, "srt/limits.py": LIMITS + "A = 1\n"}))
    result = adopt(made, "fixes")
    assert [(each.label, each.pin) for each in result.sets] == [("v0.5.14", "v0.5.14"), ("v0.5.15", "v0.5.15")]
    assert kinds(result) == set()


def test_numbered_series_keeps_its_order_and_loses_its_numbers(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    texts = [QUEUE]
    for number in range(1, 12):
        former = texts[-1]
        texts.append(former.replace("    def clear", f"    def step_{number}(self):\n        pass\n\n    def clear"))
        body = made.diff({**V13, "srt/queue.py": former}, {**V13, "srt/queue.py": texts[-1]})
        made.write(f"series/{number:04d}-add-step-{number}.patch", make.mail(f"add step {number}", "Needed.", body))
    result = adopt(made, "series")
    assert result.troubles == ()
    assert read_series_names(made.base, "v0.5.13") == [f"add-step-{number}.patch" for number in range(1, 12)]
    topic = read_topics(made.base)["add-step-3"]
    assert (topic.title, topic.why) == ("add step 3", "Needed.")
    assert read_series(made.base, "v0.5.13").topics[2].patch.raw.startswith(b"From 0123456789abcdef")


def test_order_comes_from_blob_ids_where_names_mislead(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    first = made.diff({"srt/queue.py": QUEUE}, {"srt/queue.py": COUNTED})
    made.write("p/b.patch", first)
    made.write("p/a.patch", made.diff({"srt/queue.py": COUNTED}, {"srt/queue.py": GUARDED}))
    result = adopt(made, "p", version="0.5.13")
    assert [topic.topic for topic in result.sets[0].topics] == ["b", "a"]
    assert (result.sets[0].order, result.sets[0].composes) == ("blob ids", True)


def test_order_comes_from_the_dockerfile(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    made.write("p/a.patch", made.diff({"srt/limits.py": LIMITS}, {"srt/limits.py": "A = 1\n" + LIMITS}))
    made.write("p/b.patch", made.diff({"srt/queue.py": QUEUE}, {"srt/queue.py": COUNTED}))
    made.write("Dockerfile", "FROM x\nCOPY p /p\nRUN for p in /p/b.patch /p/a.patch; do git apply $p; done\n")
    result = adopt(made, "p")
    assert [topic.topic for topic in result.sets[0].topics] == ["b", "a"]
    assert result.sets[0].order == "Dockerfile"


def test_pin_that_is_not_known_ends_with_2_and_says_what_to_do(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    made.write("p/a.patch", made.diff({"srt/limits.py": "A = 1\n"}, {"srt/limits.py": "A = 2\n"}))
    result = adopt(made, "p")
    assert result.exit_code == 2
    assert "--pin" in result.next_step
    assert not (made.base / "patches").exists()


def test_store_of_patchkit_is_not_adopted(tmp_path: Path) -> None:
    made = make.sound(tmp_path)
    adopt(made)
    with pytest.raises(ConfigError, match="under patchkit already"):
        adopt(made, "patches")


def test_folder_without_patches_is_refused(tmp_path: Path) -> None:
    made = make.field(tmp_path)
    made.write("p/readme", "")
    with pytest.raises(ConfigError, match="no patch file"):
        adopt(made, "p")


def test_files_outside_the_package_are_carried_and_told(tmp_path: Path) -> None:
    made = outside(tmp_path)
    result = adopt(made)
    assert [topic.outside for each in result.sets for topic in each.topics] == [0, 1]
    assert b"sgl-kernel/setup.py" in (made.base / "patches/v0.5.15/downstream.patch").read_bytes()
    assert b"sgl-kernel" not in (made.base / "patches/v0.5.15/sglang.patch").read_bytes()
    _store, verified = verify_pins(made.base, ["v0.5.15"], made.access).subjects
    assert verified.errors == 0
    assert "sgl-kernel/setup.py (downstream)" in verified.not_run[0]


# -- branches and mailboxes -------------------------------------------------------------------------------


def branch(folder: Path) -> tuple[Field, Path]:
    """A clone with two commits on top of a release's tag, and a merge on another branch."""
    made = make.field(folder)
    clone = folder / "sglang"
    for path, text in V14.items():
        target = clone / "python/sglang" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    git(clone, "init", "-q", "-b", "mine", ".")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "release")
    git(clone, "tag", "v0.5.14")
    for name, text in (("count pushes", COUNTED), ("guard: an empty queue", GUARDED)):
        (clone / "python/sglang/srt/queue.py").write_text(text)
        git(clone, "commit", "-q", "-a", "-m", f"{name}\n\nNeeded.\n\nSigned-off-by: Ada <ada@example.com>")
    return made, clone


def test_branch_on_a_tag_becomes_a_series_with_its_commit(tmp_path: Path) -> None:
    made, clone = branch(tmp_path)
    result = adopt_branch(clone, "v0.5.14..mine", made.base, made.access)
    assert [(each.pin, each.composes) for each in result.sets] == [("v0.5.14", True)]
    assert result.troubles == ()
    assert read_series_names(made.base, "v0.5.14") == ["count-pushes.patch", "guard-an-empty-queue.patch"]
    assert read_pin(made.base, "v0.5.14").commit == git(clone, "rev-parse", "v0.5.14").strip()
    text = read_series(made.base, "v0.5.14").topics[0].patch.raw
    assert text.startswith(b"From 0000000000000000000000000000000000000000 ")
    assert b"Signed-off-by: Ada" in text


def test_branch_with_a_merge_is_refused(tmp_path: Path) -> None:
    made, clone = branch(tmp_path)
    git(clone, "checkout", "-q", "-b", "side", "v0.5.14")
    git(clone, "commit", "-q", "--allow-empty", "-m", "side")
    git(clone, "merge", "-q", "-m", "merge", "mine")
    with pytest.raises(ConfigError, match="1 merges"):
        adopt_branch(clone, "v0.5.14..side", made.base, made.access)


def test_mailbox_becomes_a_topic_a_mail(tmp_path: Path) -> None:
    made, clone = branch(tmp_path)
    made.write("p/series.mbox.patch", git(clone, "format-patch", "--stdout", "v0.5.14..mine"))
    result = adopt(made, "p", version="0.5.14")
    assert [topic.topic for topic in result.sets[0].topics] == ["count-pushes", "guard-an-empty-queue"]
    assert result.sets[0].composes


# -- split at once ----------------------------------------------------------------------------------------


def test_monolith_is_split_at_once(tmp_path: Path) -> None:
    made = make.sound(tmp_path)
    plan = made.write("plan.txt", "counting srt/queue.py\nlimits srt/limits.py\n")
    adopt_folder([made.base / "docker/patch"], made.base, made.access, split_by=str(plan))
    for version in ("v0.5.14", "v0.5.15"):
        assert read_series_names(made.base, version) == ["counting.patch", "limits.patch"]
    assert "counting" in read_topics(made.base)
    assert all(subject.errors == 0 for subject in verify_pins(made.base, ["v0.5.15"], made.access).subjects)
