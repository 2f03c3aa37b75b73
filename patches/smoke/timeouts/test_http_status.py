"""A timed-out request reaches the client as HTTP 504, not as 200 with an abort inside."""

import asyncio

import pytest
from smokekit.frontend import Frontend


def answer(release, status, *, is_stream):
    frontend = Frontend(release)
    return frontend, asyncio.run(frontend.answer_abort(status, is_stream=is_stream))


@pytest.mark.fault("H-1", until="0.5.23")
def test_timeout_is_an_http_504(release):
    frontend, answered = answer(release, 504, is_stream=False)

    assert answered.status_code == 504
    assert answered.detail == "it took too long"
    assert frontend.open_requests == {}
    assert frontend.released_loras == ["adapter"]


@pytest.mark.fault("H-1", until="0.5.23")
def test_timeout_ends_a_stream(release):
    frontend, answered = answer(release, 504, is_stream=True)

    assert answered.streamed
    assert frontend.open_requests == {}
    assert frontend.released_loras == ["adapter"]


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.regression
def test_other_errors_keep_their_status(release, status):
    _, answered = answer(release, status, is_stream=False)

    assert answered.status_code == status


@pytest.mark.regression
def test_client_abort_is_no_error(release):
    _, answered = answer(release, None, is_stream=False)

    assert answered.status_code is None
