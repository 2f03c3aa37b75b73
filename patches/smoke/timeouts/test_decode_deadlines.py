"""A decode request that waits for its prefill side past the limit ends with 504, once and whole."""

import pytest

LONG_AGO_S = 10_000.0


@pytest.fixture(autouse=True)
def default_limit(monkeypatch):
    monkeypatch.delenv("SGLANG_DISAGGREGATION_TRANSFER_TIMEOUT", raising=False)


@pytest.mark.fault("T-3")
def test_stalled_handshake_ends_with_504(decode, release):
    old = decode.handshaking("old", age_s=LONG_AGO_S)
    decode.handshaking("new")
    decode.handshaking("unstamped", age_s=None)

    decode.poll_prealloc()
    decode.poll_prealloc()

    assert decode.preallocating() == ["new", "unstamped"]
    reason = decode.reason(old)
    assert release.is_abort(reason)
    assert reason.status_code == 504
    assert "timed out" in reason.message.lower()
    assert decode.log.times("endpoint-aborted", "old") == 1
    assert decode.log.times("bootstrap-failure-counted") == 1
    assert decode.log.of("new") == decode.log.of("unstamped") == []


@pytest.mark.regression
def test_waiting_for_memory_is_not_a_stall(decode):
    decode.waiting_for_memory("a", age_s=LONG_AGO_S)
    decode.handshaking("b")

    decode.poll_prealloc()

    assert decode.preallocating() == ["a", "b"]
    assert decode.log.of("a") == []


@pytest.mark.parametrize("state", ["WaitingForInput", "Transferring"])
@pytest.mark.fault("T-4")
def test_stalled_receive_ends_with_504(decode, release, state):
    state = getattr(decode.states, state)
    old = decode.receiving("old", state, age_s=LONG_AGO_S)
    decode.receiving("new", state)
    decode.receiving("unstamped", state, age_s=None)

    decode.poll_transfer()
    decode.poll_transfer()

    assert decode.transferring() == ["new", "unstamped"]
    reason = decode.reason(old)
    assert release.is_abort(reason)
    assert reason.status_code == 504
    assert "timed out" in reason.message.lower()
    assert decode.log.is_before("endpoint-aborted", "kv-released", "old")
    assert decode.log.times("kv-released", "old") == 1
    assert decode.log.times("transfer-failure-counted") == 1
    assert decode.slots.available_size() == 6
    assert decode.log.of("new") == decode.log.of("unstamped") == []


@pytest.mark.regression
def test_receive_failure_keeps_its_text(decode):
    a = decode.receiving("a", decode.states.Failed)
    decode.manager.record_failure(a.kv_receiver.bootstrap_room, "link down")

    decode.poll_transfer()

    assert "link down" in decode.reason(a).message
    assert decode.reason(a).status_code == 500
    assert decode.log.times("kv-released", "a") == 1
