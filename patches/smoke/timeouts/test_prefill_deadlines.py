"""A prefill request that waits for its decode side past the limit ends with 504, once and whole.

The limit is SGLANG_DISAGGREGATION_TRANSFER_TIMEOUT, 600 s unless set. A clock may only change
what the sender reports: the request leaves its queue on the reduced poll, like any failure.
"""

import pytest
from smokekit.prefill import PREFETCHED

LONG_AGO_S = 10_000.0
LIMIT = "SGLANG_DISAGGREGATION_TRANSFER_TIMEOUT"


@pytest.fixture(autouse=True)
def default_limit(monkeypatch):
    monkeypatch.delenv(LIMIT, raising=False)


# -- T-1: the bootstrap queue ------------------------------------------------------------------


@pytest.mark.fault("T-1")
def test_stalled_bootstrap_ends_with_504(prefill, release):
    old = prefill.bootstrapping("old", age_s=LONG_AGO_S, prefetched=PREFETCHED)
    prefill.bootstrapping("new", prefetched=PREFETCHED)
    prefill.bootstrapping("unstamped", age_s=None, prefetched=PREFETCHED)

    prefill.poll_bootstrap()
    prefill.poll_bootstrap()

    assert prefill.queued() == ["new", "unstamped"]
    reason = prefill.reason(old)
    assert release.is_abort(reason)
    assert reason.status_code == 504
    assert "timed out" in reason.message.lower()
    assert prefill.cache.prefetched == {"new": PREFETCHED, "unstamped": PREFETCHED}
    assert prefill.log.times("endpoint-aborted", "old") + prefill.log.times("endpoint-cleared", "old") >= 1
    assert prefill.log.times("bootstrap-failure-counted") == 1
    assert prefill.log.of("new") == prefill.log.of("unstamped") == []
    assert prefill.slots_are_free()


@pytest.mark.fault("T-1")
def test_bootstrap_that_lacks_only_a_slot_is_a_stall_too(prefill):
    while prefill.slots.available_size():
        prefill.slots.alloc()
    old = prefill.bootstrapping("old", age_s=LONG_AGO_S, state=prefill.states.WaitingForInput)

    prefill.poll_bootstrap()

    assert prefill.queued() == []
    assert getattr(prefill.reason(old), "status_code", None) == 504


@pytest.mark.regression
def test_answered_bootstrap_is_not_timed_out(prefill):
    req = prefill.bootstrapping("a", state=prefill.states.WaitingForInput)

    popped = prefill.poll_bootstrap()

    assert popped == [req]
    assert prefill.log.times("streamed", "a") == 0


# -- T-2: the inflight queue -------------------------------------------------------------------


@pytest.mark.parametrize("state", ["WaitingForInput", "Transferring"])
@pytest.mark.fault("T-2")
def test_stalled_transfer_ends_with_504(prefill, release, state):
    state = getattr(prefill.states, state)
    old = prefill.inflight("old", state, age_s=LONG_AGO_S)
    prefill.inflight("new", state)
    prefill.inflight("unstamped", state, age_s=None)

    prefill.poll_inflight()
    prefill.poll_inflight()

    assert prefill.in_flight() == ["new", "unstamped"]
    reason = prefill.reason(old)
    assert release.is_abort(reason)
    assert reason.status_code == 504
    assert "timed out" in reason.message.lower()
    assert prefill.log.times("kv-released", "old") == 1
    assert prefill.log.is_before("endpoint-aborted", "kv-released", "old")
    assert prefill.log.times("transfer-failure-counted") == 1
    assert old.metadata_buffer_index == -1
    assert prefill.log.of("new") == prefill.log.of("unstamped") == []


@pytest.mark.fault("T-2")
def test_stalled_transfer_is_seen_by_pipeline_consensus(prefill):
    prefill.inflight("old", prefill.states.Transferring, age_s=LONG_AGO_S)
    prefill.inflight("new", prefill.states.Transferring)

    prefill.scheduler.process_disagg_prefill_inflight_queue(rids_to_check=[])
    ended = prefill.scheduler.get_rids(
        prefill.scheduler.disagg_prefill_inflight_queue, True, [prefill.states.Success, prefill.states.Failed]
    )

    assert ended == ["old"]
    assert prefill.in_flight() == ["old", "new"]


@pytest.mark.releases(since="0.5.16")  # before, the inflight queue holds no such request
@pytest.mark.fault("T-2")
def test_stalled_parked_request_ends_with_504(prefill, release):
    old = prefill.parked("old", age_s=LONG_AGO_S)
    prefill.parked("new")

    prefill.poll_inflight()
    prefill.poll_inflight()

    assert prefill.in_flight() == ["new"]
    assert release.is_abort(prefill.reason(old))
    assert prefill.reason(old).status_code == 504
    assert prefill.log.times("kv-released", "old") == 1
    assert old.metadata_buffer_index == -1
    assert prefill.log.of("new") == []


@pytest.mark.regression
def test_late_success_is_a_success(prefill):
    req = prefill.inflight("a", prefill.states.Success, age_s=LONG_AGO_S)

    prefill.poll_inflight()

    assert prefill.reason(req).to_json()["type"] == "length"
    assert prefill.log.times("endpoint-aborted", "a") == 0


@pytest.mark.regression
def test_failure_after_the_limit_keeps_its_own_text(prefill):
    req = prefill.inflight("a", prefill.states.Failed, age_s=LONG_AGO_S)
    prefill.manager.record_failure(req.bootstrap_room, "link down")

    prefill.poll_inflight()

    reason = prefill.reason(req)
    assert "link down" in reason.message
    assert reason.status_code == 500


# -- T-5: the waiting queue ----------------------------------------------------------------------


@pytest.mark.releases(since="0.5.20")  # before, no prefill loop reads it, and a local clock may not
@pytest.mark.fault("T-5", until="0.5.20")
def test_waiting_limit_ends_a_waiting_request(prefill, monkeypatch):
    monkeypatch.setenv("SGLANG_REQ_WAITING_TIMEOUT", "1")
    old = prefill.waiting("old")
    prefill.waiting("new")
    prefill.stamp(old, "wait_queue_entry_time", 10.0)

    for abort in prefill.scheduler._poll_timeout_aborts():
        prefill.scheduler.abort_request(abort)

    assert [req.rid for req in prefill.scheduler.waiting_queue] == ["new"]
    assert old.metadata_buffer_index == -1
    assert prefill.log.times("told-tokenizer", "old") == 1


# -- the limit ---------------------------------------------------------------------------------


@pytest.mark.fault("T-2")
def test_limit_is_read_from_the_environment(prefill, monkeypatch):
    monkeypatch.setenv(LIMIT, "50")
    prefill.bootstrapping("queued", age_s=100.0)
    prefill.inflight("sent", prefill.states.Transferring, age_s=100.0)

    prefill.poll_bootstrap()
    prefill.poll_inflight()

    assert prefill.queued() == []
    assert prefill.in_flight() == []


@pytest.mark.parametrize("value", ["0", "-5", "nan"])
@pytest.mark.regression
def test_limit_of_nothing_turns_the_deadline_off(prefill, monkeypatch, value):
    monkeypatch.setenv(LIMIT, value)
    prefill.bootstrapping("queued", age_s=LONG_AGO_S)
    prefill.inflight("sent", prefill.states.Transferring, age_s=LONG_AGO_S)

    prefill.poll_bootstrap()
    prefill.poll_inflight()

    assert prefill.queued() == ["queued"]
    assert prefill.in_flight() == ["sent"]


@pytest.mark.parametrize("value", ["abc", ""])
@pytest.mark.regression
def test_unreadable_limit_is_the_default(prefill, monkeypatch, value):
    monkeypatch.setenv(LIMIT, value)
    prefill.bootstrapping("queued", age_s=100.0)
    prefill.inflight("sent", prefill.states.Transferring, age_s=100.0)

    prefill.poll_bootstrap()
    prefill.poll_inflight()

    assert prefill.queued() == ["queued"]
    assert prefill.in_flight() == ["sent"]
