"""propose writes what upstream can take: the topic alone, in its words; the clone's worktree stays as it is."""

from pathlib import Path

import pytest

from patchkit.errors import ConfigError, ConflictError
from patchkit.patch.patchtext import blob_id
from patchkit.store import replace_file
from patchkit.verbs.adopt import adopt_folder
from patchkit.verbs.propose import propose_topic
from tests.git import patchfolders as make
from tests.git.patchfolders import COUNTED, GUARDED, LIMITS, V13, V14, Field, git
from tests.git.releases import PREFIX, cache

FIELDS = "Description: count pushes\n They were not counted.\nOrigin: vendor\nForwarded: no"
BODY = f"{FIELDS}\n\nSigned-off-by: Ada <ada@example.com>"


@pytest.fixture
def field(tmp_path: Path) -> Field:
    made = make.field(tmp_path)
    first = made.diff(V13, {**V13, "srt/queue.py": COUNTED})
    made.write("p/1-count.patch", make.mail("UPSTREAM: <carry>: count pushes", BODY, first))
    made.write("p/2-guard.patch", made.diff({"srt/queue.py": COUNTED}, {"srt/queue.py": GUARDED}))
    made.write("p/3-more.patch", made.diff({"srt/queue.py": GUARDED}, {"srt/queue.py": GUARDED.replace("= 1", "= 2")}))
    adopt_folder([made.base / "p"], made.base, made.access)
    return made


def clone(made: Field, tag: str) -> Path:
    folder = made.base.parent / "sglang"
    for path, text in V13.items():
        target = folder / PREFIX / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    git(folder, "init", "-q", "-b", "main", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "release")
    git(folder, "tag", tag)
    return folder


def test_patch_and_text_speak_upstreams_words(field: Field, tmp_path: Path) -> None:
    result = propose_topic(field.base, "count", field.access, output=tmp_path / "out")
    patch = (tmp_path / "out/0001-count.patch").read_text()
    assert "Subject: [PATCH] count pushes\n\nThey were not counted.\n\nSigned-off-by: Ada" in patch
    assert "Origin" not in patch
    text = (tmp_path / "out/pull-request.md").read_text()
    assert text.startswith("# count pushes\n\n## Motivation\n")
    assert f"- `{PREFIX}srt/queue.py` (+1 -0): `Queue.push`" in text
    assert result.todos == text.count("TODO") > 0
    assert result.looked_at == "0.5.15"


def test_branch_is_on_the_tag_and_the_worktree_stays(field: Field) -> None:
    folder = clone(field, "v0.5.13")
    (folder / "python/sglang/srt/queue.py").write_text("work in progress\n")
    result = propose_topic(field.base, "count", field.access, repository=folder)
    assert result.branch == "patchkit/count"
    assert git(folder, "rev-parse", "patchkit/count~1") == git(folder, "rev-parse", "v0.5.13")
    assert git(folder, "rev-parse", f"patchkit/count:{PREFIX}srt/queue.py").strip() == blob_id(COUNTED.encode())
    assert git(folder, "log", "-1", "--format=%an|%s", "patchkit/count").strip() == "Ada|count pushes"
    assert git(folder, "status", "--porcelain").strip() == f"M {PREFIX}srt/queue.py"
    with pytest.raises(ConfigError, match="has a branch"):
        propose_topic(field.base, "count", field.access, repository=folder)


def test_git_ignores_what_is_written_beside_the_store(field: Field) -> None:
    git(field.base, "init", "-q", "-b", "main", ".")
    propose_topic(field.base, "count", field.access)
    assert (field.base / ".patchkit/propose/count/pull-request.md").is_file()
    assert ".patchkit" not in git(field.base, "status", "--porcelain")


def test_clone_without_the_tag_is_refused(field: Field) -> None:
    with pytest.raises(ConfigError) as caught:
        propose_topic(field.base, "count", field.access, repository=clone(field, "v0.5.9"))
    assert "fetch origin tag v0.5.13" in caught.value.hint


def test_topic_that_stands_on_another_is_refused(field: Field, tmp_path: Path) -> None:
    with pytest.raises(ConflictError) as caught:
        propose_topic(field.base, "more", field.access, output=tmp_path / "out")
    assert "count" in caught.value.found
    assert not (tmp_path / "out").exists()


def test_topic_that_upstream_has_is_refused(field: Field, tmp_path: Path) -> None:
    cache(tmp_path, {"0.5.16": {**V14, "srt/queue.py": COUNTED, "srt/limits.py": LIMITS}})
    with pytest.raises(ConfigError, match=r"upstream v0.5.16 has every hunk"):
        propose_topic(field.base, "count", field.access)


def test_topic_that_is_recorded_as_mended_is_refused(field: Field) -> None:
    path = field.base / "patches/topics.toml"
    replace_file(path, path.read_bytes().replace(b"[count]\n", b'[count]\nfixed_in = "0.5.15"\n'))
    with pytest.raises(ConfigError, match=r"since 0\.5\.15"):
        propose_topic(field.base, "count", field.access)
