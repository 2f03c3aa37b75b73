"""why names the topic, the patch line and the upstream reference of each line that the series brought."""

from pathlib import Path

import pytest

from patchkit.errors import ConfigError
from patchkit.verbs.adopt import adopt_folder
from patchkit.verbs.why import tell_why
from tests.git import patchfolders as make
from tests.git.patchfolders import COUNTED, GUARDED, V13, Field


@pytest.fixture
def field(tmp_path: Path) -> Field:
    made = make.field(tmp_path)
    first = made.diff(V13, {**V13, "srt/queue.py": COUNTED})
    made.write("p/1-count.patch", make.mail("count pushes", "See sgl-project/sglang#30203.", first))
    made.write("p/2-guard.patch", made.diff({"srt/queue.py": COUNTED}, {"srt/queue.py": GUARDED}))
    adopt_folder([made.base / "p"], made.base, made.access)
    return made


@pytest.mark.parametrize(
    "path", ["python/sglang/srt/queue.py", "srt/queue.py", "queue.py", "/somewhere/site-packages/sglang/srt/queue.py"]
)
def test_added_line_names_its_topic_and_patch_line(field: Field, path: str) -> None:
    line = COUNTED.splitlines().index("        self.count += 1") + 1
    found = tell_why(field.base, f"{path}:{line}", field.access)
    (hunk,) = found.hunks
    assert (hunk.topic, hunk.scope, hunk.upstream) == ("count", "Queue.push", ("sgl-project/sglang#30203",))
    text = (field.base / hunk.patch_file).read_text().splitlines()
    assert text[hunk.patch_line - 1] == "+        self.count += 1"


def test_line_of_upstream_says_where_it_is_at_the_pin(field: Field) -> None:
    line = GUARDED.splitlines().index("def drain(queue):") + 1
    found = tell_why(field.base, f"srt/queue.py:{line}", field.access)
    assert (found.hunks, found.upstream_line) == ((), line - 1)


def test_file_lists_its_hunks_in_order(field: Field) -> None:
    found = tell_why(field.base, "srt/queue.py", field.access)
    assert [hunk.topic for hunk in found.hunks] == ["count", "guard"]
    assert tell_why(field.base, "srt/limits.py", field.access).hunks == ()


def test_line_beyond_the_file_is_refused(field: Field) -> None:
    with pytest.raises(ConfigError, match="lines"):
        tell_why(field.base, "srt/queue.py:999", field.access)
    with pytest.raises(ConfigError, match="neither"):
        tell_why(field.base, "srt/nothing.py:1", field.access)
