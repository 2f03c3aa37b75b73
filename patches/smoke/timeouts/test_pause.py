"""A pause stops the clocks of the deadlines; an abort during a pause keeps its own reason."""

import pytest

LIMIT_S = 600.0


@pytest.fixture(autouse=True)
def default_limit(monkeypatch):
    monkeypatch.delenv("SGLANG_DISAGGREGATION_TRANSFER_TIMEOUT", raising=False)


@pytest.mark.fault("T-10")
def test_prefill_pause_does_not_count(prefill, release, clock):
    prefill.bootstrapping("queued")
    prefill.inflight("sent", prefill.states.Transferring)

    prefill.pause()
    clock.advance(LIMIT_S + 60)
    if release.polls_bootstrap_while_paused:
        prefill.poll_bootstrap()
    prefill.resume()
    prefill.poll_bootstrap()
    prefill.poll_inflight()

    assert prefill.queued() == ["queued"]
    assert prefill.in_flight() == ["sent"]

    clock.advance(LIMIT_S + 60)
    prefill.poll_bootstrap()
    prefill.poll_inflight()

    assert prefill.queued() == []
    assert prefill.in_flight() == []


@pytest.mark.fault("T-10")
def test_decode_pause_does_not_count(decode, clock):
    decode.handshaking("asked")
    decode.receiving("sent", decode.states.Transferring)

    decode.pause()
    clock.advance(LIMIT_S + 60)
    decode.resume()
    decode.poll_prealloc()
    decode.poll_transfer()

    assert decode.preallocating() == ["asked"]
    assert decode.transferring() == ["sent"]

    clock.advance(LIMIT_S + 60)
    decode.poll_prealloc()
    decode.poll_transfer()

    assert decode.preallocating() == []
    assert decode.transferring() == []


@pytest.mark.regression
def test_abort_during_a_pause_keeps_its_reason(prefill, clock):
    queued = prefill.bootstrapping("queued")
    sent = prefill.inflight("sent", prefill.states.Transferring)

    prefill.pause()
    clock.advance(LIMIT_S + 60)
    prefill.abort("", abort_all=True)
    prefill.resume()
    prefill.poll_bootstrap()
    prefill.poll_inflight()

    assert prefill.queued() == []
    assert prefill.in_flight() == []
    for req in (queued, sent):
        assert prefill.reason(req).status_code != 504
        assert "abort" in prefill.reason(req).message.lower()
    assert prefill.log.times("kv-released", "sent") == 1


@pytest.mark.releases(since="0.5.13")
@pytest.mark.fault("T-8")
def test_requeued_request_starts_a_new_deadline(prefill, clock):
    req = prefill.prefilled("a", state=prefill.states.Bootstrapping)
    prefill.stamp(req, "prefill_bootstrap_queue_entry_time", 10_000.0)

    prefill.requeue(req)
    entered = req.time_stats.prefill_bootstrap_queue_entry_time
    prefill.poll_bootstrap()

    assert clock.now() - entered < LIMIT_S
    assert prefill.queued() == ["a"]


@pytest.mark.releases(since="0.5.23")  # before, a retracted request comes back on continue_generation only
@pytest.mark.fault("T-8")
def test_retracted_request_starts_a_new_deadline(decode, clock, monkeypatch):
    retracted = decode.new_request("a", decode.states.Bootstrapping)
    decode.stamp(retracted, "decode_prealloc_queue_entry_time", 10_000.0)

    decode.retract(retracted, monkeypatch)
    entered = retracted.req.time_stats.decode_prealloc_queue_entry_time
    decode.poll_prealloc()

    assert clock.now() - entered < LIMIT_S
    assert decode.preallocating() == ["a"]
