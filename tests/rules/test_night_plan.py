"""What a night has to do follows from the pins, upstream, and what is published."""

import pytest

from patchkit.errors import ConfigError
from patchkit.nightly.plan import Nothing, Published, Work, choose_target, plan_work
from patchkit.nightly.state import Author, Night, StepDone, StepName, read_night, write_night
from patchkit.versions import NightlyTag

TAG = NightlyTag.read("nightly-dev-20260810a")
PINS = ["v0.5.13", "v0.5.16"]


def published(*, covers: bool = True, merged: bool = True) -> Published:
    return Published(TAG, covers, merged)


@pytest.mark.parametrize(
    ("newest", "target"),
    [
        pytest.param("v0.5.17", "v0.5.17", id="upstream is newer"),
        pytest.param("v0.5.13", "v0.5.16", id="the index is behind: never backwards"),
        pytest.param("v0.5.16rc1", "v0.5.16", id="a candidate is older"),
    ],
)
def test_newest_is_never_older_than_what_is_carried(newest: str, target: str) -> None:
    assert choose_target("v0.5.16", newest) == target


@pytest.mark.parametrize(
    ("target", "before", "move"),
    [
        pytest.param("v0.5.17", None, ("v0.5.16", "v0.5.17"), id="upstream is newer"),
        pytest.param("v0.5.16", published(covers=False), ("v0.5.16", "v0.5.16"), id="the series changed"),
        pytest.param("v0.5.16", None, ("v0.5.16", "v0.5.16"), id="never published"),
        pytest.param("v0.5.13", None, ("v0.5.13", "v0.5.13"), id="an older pin was asked for"),
        pytest.param("v0.5.17", published(covers=False), ("v0.5.16", "v0.5.17"), id="one waits, the head went on"),
    ],
)
def test_there_is_work(target: str, before: Published | None, move: tuple[str, str]) -> None:
    work = plan_work("v0.5.16", PINS, target, before)
    assert isinstance(work, Work)
    assert (work.pin_from, work.pin_to) == move


@pytest.mark.parametrize(
    ("target", "before", "reason"),
    [
        pytest.param("v0.5.16", published(), f"nothing new upstream, nothing changed since {TAG}", id="merged"),
        pytest.param("v0.5.17", published(merged=False), f"{TAG} carries v0.5.17 already", id="waits"),
    ],
)
def test_there_is_nothing_to_do(target: str, before: Published, reason: str) -> None:
    work = plan_work("v0.5.16", PINS, target, before)
    assert isinstance(work, Nothing)
    assert work.reason.startswith(reason)


def test_state_is_read_as_it_was_written() -> None:
    night = Night("2026-08-10", "a" * 40, Author("Ü", "u@example.com", 1)).with_step(
        StepDone(StepName.VERIFY, 0.1, "x")
    )
    assert read_night(write_night(night), where="state.json") == night


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b'{"schema": "patchkit/night/0"}', b'{"schema": "patchkit/night/1"}']
)
def test_damaged_state_is_refused(text: bytes) -> None:
    with pytest.raises(ConfigError, match="night"):
        read_night(text, where="state.json")
