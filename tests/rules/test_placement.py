"""PK4xx: a hunk in the sibling method is found even where every blob id is right."""

import pytest

from patchkit.rules import application, base, placement
from tests.rules.patched import PATH, patch_text, subject_of

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


def rules(after: str, *, locked: str = "", context: int = 3, section: str = "") -> list[tuple[str, str, int]]:
    text = patch_text(METHODS, after, context=context, section=section)
    lock = {(PATH, 1): locked} if locked else {}
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
    subject = subject_of({PATH: METHODS}, text, combined=text, locked={(PATH, 2): "Model.other"})
    assert [finding.rule for finding in placement.find(subject)] == ["PK403"]
