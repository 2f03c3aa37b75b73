"""Each kind of `until` is read, and judged by what is here: the release, the day, the tree."""

from datetime import date

import pytest

from patchkit.errors import ConfigError
from patchkit.model import Met, Topic
from patchkit.until import judge_until, read_until

SOURCE = b"class Queue:\n    def push(self):\n        pass\n\n\ndef drain():\n    pass\n"
TODAY = date(2026, 11, 30)


def read(path: str) -> bytes | None:
    return SOURCE if path == "python/sglang/srt/queue.py" else None


def met(until: str, *, version: str = "0.5.16", fixed_in: str = "") -> Met:
    topic = Topic("t", "", "", "", until=until, fixed_in=fixed_in)
    (verdict,) = judge_until([topic], version, TODAY, read)
    assert verdict.evidence
    return verdict.met


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        pytest.param(">=0.5.16", Met.YES, id="this release"),
        pytest.param(">=0.5.17", Met.NO, id="a later release"),
        pytest.param("2026-11-30", Met.YES, id="today"),
        pytest.param("2026-12-01", Met.NO, id="tomorrow"),
        pytest.param("has srt/queue.py::Queue.push", Met.YES, id="method is there"),
        pytest.param("has srt/queue.py::Queue.pop", Met.NO, id="method is not there"),
        pytest.param("has srt/queue.py::Que", Met.NO, id="part of a name"),
        pytest.param("has python/sglang/srt/other.py", Met.NO, id="no such file"),
        pytest.param("lacks srt/other.py", Met.YES, id="file is gone"),
        pytest.param("lacks srt/queue.py::drain", Met.NO, id="function is still there"),
        pytest.param("sgl-project/sglang#30203", Met.UNKNOWN, id="merge that nobody recorded"),
        pytest.param(">=0.5.17 or has srt/queue.py::drain", Met.YES, id="one of two"),
        pytest.param("sgl-project/sglang#1 or >=0.5.17", Met.UNKNOWN, id="unknown is not no"),
    ],
)
def test_condition_is_judged(until: str, expected: Met) -> None:
    assert met(until) is expected


def test_recorded_release_says_when_a_pull_request_is_in() -> None:
    assert met("sgl-project/sglang#30203", fixed_in="0.5.16") is Met.YES
    assert met("sgl-project/sglang#30203", fixed_in="0.5.17") is Met.NO


def test_topic_without_until_has_no_verdict() -> None:
    assert list(judge_until([Topic("t", "", "", "")], "0.5.16", TODAY, read)) == []


@pytest.mark.parametrize(
    "text", ["soon", ">=soon", "2026-13-01", "has", "has ../../etc/passwd", "lacks /etc/passwd", "has srt/"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_until(text, where="topics.toml, topic t")
    assert caught.value.where == "topics.toml, topic t"
