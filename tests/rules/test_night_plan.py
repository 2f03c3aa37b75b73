"""What a night has to do follows from the pins, upstream, and what is published."""

import pytest

from patchkit.errors import ConfigError
from patchkit.nightly.plan import Nothing, Published, Work, plan_work
from patchkit.nightly.state import Author, Night, StepDone, StepName, read_night, write_night
from patchkit.versions import NightlyTag

TAG = NightlyTag.read("nightly-dev-20260810a")
PINS = ["v0.5.13", "v0.5.16"]


def published(pin: str = "v0.5.16", *, covers: bool = True, merged: bool = True) -> Published:
    return Published(TAG, pin, covers, merged)


@pytest.mark.parametrize(
    ("newest", "before", "onto", "move"),
    [
        pytest.param("v0.5.17", published(), "newest", ("v0.5.16", "v0.5.17"), id="upstream is newer"),
        pytest.param("v0.5.16", published(covers=False), "newest", ("v0.5.16", "v0.5.16"), id="the series changed"),
        pytest.param("v0.5.16", None, "newest", ("v0.5.16", "v0.5.16"), id="never published"),
        pytest.param("v0.5.13", None, "newest", ("v0.5.16", "v0.5.16"), id="the index is behind: never backwards"),
        pytest.param("v0.5.13", published(), "v0.5.13", ("v0.5.13", "v0.5.13"), id="an older pin was asked for"),
        pytest.param(
            "v0.5.20", published("v0.5.17"), "newest", ("v0.5.16", "v0.5.20"), id="one waits, upstream went on"
        ),
        pytest.param(
            "v0.5.17", published("v0.5.17", covers=False), "newest", ("v0.5.16", "v0.5.17"), id="head went on"
        ),
    ],
)
def test_there_is_work(newest: str, before: Published | None, onto: str, move: tuple[str, str]) -> None:
    work = plan_work("v0.5.16", PINS, newest, before, onto=onto)
    assert isinstance(work, Work)
    assert (work.pin_from, work.pin_to) == move


@pytest.mark.parametrize(
    ("newest", "before", "reason"),
    [
        pytest.param(
            "v0.5.16", published(), f"nothing new upstream, nothing changed since {TAG} on v0.5.16", id="merged"
        ),
        pytest.param("v0.5.17", published("v0.5.17", merged=False), f"{TAG} carries v0.5.17 already", id="waits"),
    ],
)
def test_there_is_nothing_to_do(newest: str, before: Published, reason: str) -> None:
    work = plan_work("v0.5.16", PINS, newest, before)
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
