"""PK2xx and PK3xx on plain text: base, places, results, reverse, composition."""

import pytest

from patchkit.model import Severity
from patchkit.patch import composing
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.patchtext import read_patch
from patchkit.rules import application, base
from patchkit.rules.compose import NamedPatch, compose
from patchkit.rules.subject import Subject
from tests.rules.patched import PATH, patch_text, subject_of

BEFORE = "".join(f"line {number}\n" for number in range(1, 31))
AFTER = BEFORE.replace("line 10\n", "line 10\nnew\n")
LATER = AFTER.replace("line 20\n", "line twenty\n")


def rules(subject: Subject) -> list[tuple[str, Severity, int]]:
    findings = [*base.find(subject), *application.find(subject)]
    return [(finding.rule, finding.severity, finding.line) for finding in findings]


def test_sound_series_is_silent() -> None:
    combined = patch_text(BEFORE, LATER)
    assert (
        rules(subject_of({PATH: BEFORE}, patch_text(BEFORE, AFTER), patch_text(AFTER, LATER), combined=combined)) == []
    )


@pytest.mark.parametrize(
    "pair",
    [(None, BEFORE), (BEFORE, None), ("a\nb", "a\nc"), ("", "a\n"), ("a\n", "")],
    ids=lambda pair: repr(pair)[:20],
)
def test_sound_creation_deletion_and_small_files_are_silent(pair: tuple[str | None, str | None]) -> None:
    before, after = pair
    text = patch_text(before, after)
    if "\n\\ No newline" not in text:
        text = text.replace("-b+c", "-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n")
    assert rules(subject_of({} if before is None else {PATH: before}, text)) == []


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        pytest.param({}, [("PK202", "error", 0), ("PK307", "error", 0)], id="file is not there"),
        pytest.param({PATH: BEFORE + "more\n"}, [("PK201", "error", 0)], id="another file, patch fits"),
        pytest.param(
            {PATH: "above\n" + BEFORE},
            [("PK201", "error", 0), ("PK303", "warning", 9)],
            id="one line added above",
        ),
        pytest.param(
            {PATH: BEFORE.replace("line 9\n", "line nine\n")},
            [("PK201", "error", 0), ("PK301", "error", 8), ("PK307", "error", 0)],
            id="context changed",
        ),
    ],
)
def test_patch_on_another_upstream(upstream: dict[str, str], expected: list[tuple[str, Severity, int]]) -> None:
    assert rules(subject_of(upstream, patch_text(BEFORE, AFTER))) == expected


def test_created_file_that_exists() -> None:
    assert rules(subject_of({PATH: "x\n"}, patch_text(None, BEFORE))) == [("PK203", "error", 0), ("PK307", "error", 0)]


def test_tie_is_refused() -> None:
    block = "a\nb\nc\nd\n"
    before = block + "x\n" * 2 + block
    patch = "--- a/f.py\n+++ b/f.py\n@@ -4,4 +4,5 @@\n a\n b\n+new\n c\n d\n"
    found = rules(subject_of({"f.py": before + "end\n"}, patch))
    assert ("PK302", "error", 4) in found


def test_no_index_line_is_a_warning() -> None:
    text = patch_text(BEFORE, AFTER)
    bare = "".join(line for line in text.splitlines(True) if not line.startswith("index "))
    assert rules(subject_of({PATH: BEFORE + "more\n"}, bare)) == [("PK204", "warning", 0)]


def test_wrong_postimage_id() -> None:
    edited = patch_text(BEFORE, AFTER).replace("+new\n", "+old\n")
    assert rules(subject_of({PATH: BEFORE}, edited)) == [("PK304", "error", 0)]


@pytest.mark.parametrize(
    "combined",
    [
        pytest.param(patch_text(BEFORE, AFTER), id="a topic is missing"),
        pytest.param(patch_text(BEFORE, LATER) + patch_text("a\n", "b\n", path="other.py"), id="a file more"),
        pytest.param(patch_text("a\n", "b\n", path="other.py"), id="another file"),
    ],
)
def test_combined_patch_that_is_not_the_series(combined: str) -> None:
    found = rules(subject_of({PATH: BEFORE}, patch_text(BEFORE, AFTER), patch_text(AFTER, LATER), combined=combined))
    assert {rule for rule, _, _ in found} == {"PK306"}


def test_origins_follow_later_topics() -> None:
    on_top = LATER.replace("line 2\n", "line 2\nabove\n").replace("new\n", "newer\n")
    subject = subject_of({PATH: BEFORE}, patch_text(BEFORE, AFTER), patch_text(AFTER, LATER), patch_text(LATER, on_top))
    file = subject.files[PATH]
    assert file.after is not None
    brought = {line: origin.topic for line, origin in zip(file.after.lines, file.origins, strict=True) if origin}
    assert brought == {b"above": "topic3", b"newer": "topic3", b"line twenty": "topic2"}
    patch_lines = {o.patch_line: line for line, o in zip(file.after.lines, file.origins, strict=True) if o}
    text = patch_text(LATER, on_top).splitlines()
    assert all(text[at - 1] == "+" + line.decode() for at, line in patch_lines.items() if line != b"line twenty")
    assert [site.line for site in subject.sites] == [12, 22, 3, 12]


SWAP = """\
diff --git a/python/sglang/a.py b/python/sglang/b.py
similarity index 50%
rename from python/sglang/a.py
rename to python/sglang/b.py
--- a/python/sglang/a.py
+++ b/python/sglang/b.py
@@ -1,2 +1,3 @@
 A = 1
+X = 1
 A = 2
diff --git a/python/sglang/b.py b/python/sglang/a.py
similarity index 100%
rename from python/sglang/b.py
rename to python/sglang/a.py
"""


def test_two_files_that_change_places_are_composed_as_apply_does() -> None:
    a, b = "python/sglang/a.py", "python/sglang/b.py"
    files: dict[str, bytes | None] = {a: b"A = 1\nA = 2\n", b: b"B = 1\n"}
    patch = read_patch(SWAP.encode())
    composed = compose([NamedPatch("swap", "swap.patch", patch)], files)
    after = {path: file.after.text if file.after else None for path, file in composed.files.items()}
    assert after == composing.compose([TopicPatch("swap", patch)], files).files
    assert after == {a: b"B = 1\n", b: b"A = 1\nX = 1\nA = 2\n"}
    assert [bool(origin) for origin in composed.files[b].origins] == [False, True, False]
    assert [(site.line, site.hunk.path) for site in composed.sites] == [(2, b)]


def test_later_topic_moves_the_places_of_a_former_one() -> None:
    before = "".join(f"x{n} = {n}\n" for n in range(40))
    low = before.replace("x30 = 30\n", "x30 = 30\nlow = 1\n")
    both = low.replace("x5 = 5\n", "x5 = 5\nhigh = 1\nhigh = 2\n").replace("x35 = 35\n", "")
    subject = subject_of({PATH: before}, patch_text(before, low), patch_text(low, both))
    assert [site.line for site in subject.sites] == [34, 7, 39]
    added = [at for at, origin in enumerate(subject.files[PATH].origins, start=1) if origin]
    assert added == [7, 8, 34]
