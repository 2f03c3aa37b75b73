"""A decode request that is aborted or fails leaves every place that held it."""

import pytest


@pytest.mark.fault("A-8", until="0.5.13")
def test_abort_is_seen_while_all_requests_wait_for_memory(decode, release):
    a = decode.waiting_for_memory("a")
    b = decode.waiting_for_memory("b")

    decode.abort("a")
    decode.poll_prealloc()

    assert release.is_abort(a.req.finished_reason)
    assert decode.preallocating() == ["b"]
    assert decode.log.times("streamed", "a") == 1
    assert b.req.finished_reason is None


@pytest.mark.fault("A-10", until="0.5.16")
def test_failed_request_leaves_the_pending_list(decode, release):
    a = decode.handshaking("a", pending=True)
    decode.handshaking("b", pending=True)
    a.kv_receiver.state = a.kv_receiver.conclude_state = decode.states.Failed

    decode.poll_prealloc()

    assert release.is_abort(decode.reason(a))
    assert decode.preallocating() == ["b"]
    assert decode.pending() == ["b"]
