"""PK4xx: a hunk in the sibling method is found even where every blob id is right."""

import pytest

from patchkit.patch.hunks import Hunk
from patchkit.patch.patchtext import read_patch
from patchkit.rules import application, base, placement
from patchkit.rules.between import between
from patchkit.rules.subject import Lock
from tests.rules.patched import PATH, patch_text, patched, subject_of

METHODS = """\
class Model:
    def get_image_feature(self, items):
        features = []
        for item in items:
            features.append(self.visual(item))
        return features

    def get_video_feature(self, items):
        features = []
        for item in items:
            features.append(self.visual(item))
        return features

    def other(self):
        return None
"""
LINE = "            features.append(self.visual(item))\n"
MEND = "            features.append(self.visual(item.to(self.device)))\n"
VIDEO = METHODS.replace(LINE, "@", 1).replace(LINE, MEND).replace("@", LINE)
IMAGE = METHODS.replace(LINE, MEND, 1)


def rules(
    after: str, *, locked: str = "", between: str = "for: 0-1", context: int = 3, section: str = ""
) -> list[tuple[str, str, int]]:
    text = patch_text(METHODS, after, context=context, section=section)
    lock = {(PATH, 1): Lock(locked, between)} if locked else {}
    subject = subject_of({PATH: METHODS}, text, combined=text, locked=lock)
    assert not [*base.find(subject), *application.find(subject)], "every id is right"
    return [(finding.rule, finding.scope, finding.line) for finding in placement.find(subject)]


IN_IMAGE = ("Model.get_image_feature", 5)


@pytest.mark.parametrize(
    ("after", "locked", "expected"),
    [
        pytest.param(VIDEO, "Model.get_video_feature", [], id="where it was meant"),
        pytest.param(IMAGE, "Model.get_video_feature", [("PK401", *IN_IMAGE)], id="in the sibling"),
        pytest.param(IMAGE, "Model.get_image_feature", [], id="in the sibling, and confirmed"),
    ],
)
def test_recorded_scope_decides(after: str, locked: str, expected: list[tuple[str, str, int]]) -> None:
    assert rules(after, locked=locked) == expected


@pytest.mark.parametrize(
    ("context", "section", "expected"),
    [
        pytest.param(2, "", [("PK402", *IN_IMAGE)], id="two places and nothing decides"),
        pytest.param(2, "class Model:", [("PK402", *IN_IMAGE)], id="the class does not decide"),
        pytest.param(2, "def get_image_feature(self, items):", [], id="the header decides"),
        pytest.param(
            2,
            "def get_video_feature(self, items):",
            [("PK404", *IN_IMAGE), ("PK402", *IN_IMAGE)],
            id="it names the other",
        ),
        pytest.param(3, "", [], id="enough context"),
    ],
)
def test_without_a_record(context: int, section: str, expected: list[tuple[str, str, int]]) -> None:
    after = IMAGE
    assert rules(after, context=context, section=section) == expected


def test_hunk_without_a_record_in_a_manifest_that_has_others() -> None:
    text = patch_text(METHODS, VIDEO)
    subject = subject_of({PATH: METHODS}, text, combined=text, locked={(PATH, 2): Lock("Model.other")})
    assert [finding.rule for finding in placement.find(subject)] == ["PK403"]


def test_hunk_in_another_branch_of_the_same_method_though_every_id_is_right() -> None:
    before = BRANCHES
    close = "                req.close()\n"
    text = patch_text(before, before.replace(close, close + close.replace("req.close()", "release(req)"), 1), context=1)
    found = {}
    for lock in (Lock("Queue.pop", "for/if#1: 1-2"), Lock("Queue.pop", "for/if#2: 1-2")):
        subject = subject_of({PATH: before}, text, combined=text, locked={(PATH, 1): lock})
        found[lock.between] = [(each.rule, each.line, each.found) for each in placement.find(subject)]
    told = "it stands in Queue.pop (for/if#1: 1-2); the manifest says Queue.pop (for/if#2: 1-2)"
    assert found == {"for/if#1: 1-2": [], "for/if#2: 1-2": [("PK401", 6, told)]}


BRANCHES = """\
class Queue:
    def pop(self):
        for req in self.queue:
            if req.failed():
                req.close()
            if req.done():
                req.close()
        with self.lock:
            try:
                self.poll()
            except TimeoutError:
                self.close()
            else:
                self.mark(
                    1,
                    2,
                )
            finally:
                self.count()
        # the end
        return self.queue

    def push(self):
        match self.kind:
            case 1:
                self.one()
            case 2:
                self.two()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("class Queue:\n", "import x\n\nclass Queue:\n", "0-1", id="module, at the top"),
        pytest.param("class Queue:\n", "class Queue:\n    limit = 1\n", "0-1", id="class, at the top"),
        pytest.param("    def push", "    def more(self):\n        pass\n\n    def push", "1-2", id="a new method"),
        pytest.param("        return", "        x = 1\n        return", "2-3", id="function"),
        pytest.param("return self.queue\n", "return self.queue\n        x = 1\n", "3-4", id="function, at the end"),
        pytest.param("        # the end\n", "", "2-3", id="a comment removed"),
        pytest.param("        # the end\n", "        # at the end\n        # of it\n", "2-3", id="comments only"),
        pytest.param("return self.queue", "return 1", "2-3", id="a statement replaced"),
        pytest.param("        for req", "        x = 1\n        for req", "0-1", id="before the loop"),
        pytest.param("            if req.failed", "            x = 1\n            if req.failed", "for: 0-1", id="in"),
        pytest.param("            if req.done", "            x = 1\n            if req.done", "for: 1-2", id="further"),
        pytest.param("            if req.failed", "            if x and req.failed", "for: 0-1", id="a test changed"),
        pytest.param("self.poll()\n", "self.poll()\n                x = 1\n", "with/try: 1-2", id="try"),
        pytest.param("self.close()\n", "self.close()\n                x = 1\n", "with/try/except#1: 1-2", id="except"),
        pytest.param("    self.mark(", "    x\n                self.mark(", "with/try/else: 0-1", id="else"),
        pytest.param(" 2,\n", " 2,\n                    3,\n", "with/try/else: 1-1", id="within a statement"),
        pytest.param("self.count()\n", "self.count()\n                x = 1\n", "with/try/finally: 1-2", id="finally"),
        pytest.param("self.two()\n", "self.two()\n                x = 1\n", "match/case#2: 1-2", id="case"),
    ],
)  # fmt: skip
def test_between_which_statements(old: str, new: str, expected: str) -> None:
    after = BRANCHES.replace(old, new, 1)
    (section,) = read_patch(patch_text(BRANCHES, after, context=0).encode()).files
    assert between(patched(BRANCHES, after), section.hunks[0]) == expected


def test_what_a_topic_adds_moves_no_other_place() -> None:
    added = BRANCHES.replace("        for req", "        if x:\n            y()\n        for req", 1)
    after = added.replace("self.poll()\n", "self.poll()\n                x = 1\n", 1)
    (section,) = read_patch(patch_text(BRANCHES, after, context=0).encode()).files
    assert [between(patched(BRANCHES, after), hunk) for hunk in section.hunks] == ["0-1", "with/try: 1-2"]


def test_file_that_is_no_python_has_no_statements() -> None:
    assert between(patched("a\n", "a\nb\n", path="python/sglang/README.md"), Hunk("", 1, 1, 1, ())) == ""
