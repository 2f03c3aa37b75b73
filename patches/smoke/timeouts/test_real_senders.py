"""The deadlines together with the backends' own senders and their own deadlines."""

import pytest
from smokekit.transfer import Backend

LONG_AGO_S = 10_000.0


@pytest.fixture(autouse=True)
def default_limit(monkeypatch):
    monkeypatch.delenv("SGLANG_DISAGGREGATION_TRANSFER_TIMEOUT", raising=False)


@pytest.mark.fault("T-2")
def test_stalled_mooncake_transfer_leaves_no_trace(prefill, mooncake, release):
    req = prefill.inflight("old", prefill.states.Transferring, age_s=LONG_AGO_S)
    req.disagg_kv_sender = mooncake.new_sender(req.bootstrap_room, mooncake.states.Transferring)
    mooncake.expect(req.bootstrap_room)

    prefill.poll_inflight()

    reason = prefill.reason(req)
    assert release.is_abort(reason)
    assert reason.status_code == 504
    assert "timed out" in reason.message.lower()
    assert req.bootstrap_room not in mooncake.manager.request_status
    assert req.bootstrap_room not in mooncake.manager.transfer_infos
    assert req.bootstrap_room not in mooncake.manager.failure_records


@pytest.mark.parametrize("backend", ["mooncake", "nixl"])
@pytest.mark.fault("T-1")
def test_stalled_bootstrap_of_a_real_sender_ends_with_504(prefill, release, backend):
    backend = Backend(release, backend, prefill.log)
    req = prefill.bootstrapping("old", age_s=LONG_AGO_S)
    req.disagg_kv_sender = backend.new_sender(req.bootstrap_room, backend.states.Bootstrapping)

    prefill.poll_bootstrap()

    assert prefill.queued() == []
    assert getattr(prefill.reason(req), "status_code", None) == 504


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("mooncake", marks=pytest.mark.regression),
        pytest.param("nixl", marks=pytest.mark.fault("N-1", until="0.5.18")),
    ],
)
def test_backend_bootstrap_deadline_speaks_first(prefill, release, clock, backend):
    backend = Backend(release, backend, prefill.log)
    req = prefill.bootstrapping("a", age_s=301.0)
    req.disagg_kv_sender = backend.new_sender(req.bootstrap_room, backend.states.Bootstrapping)
    prefill.poll_bootstrap()
    assert prefill.queued() == ["a"]

    clock.advance_wall(301.0)
    prefill.poll_bootstrap()

    assert prefill.queued() == []
    assert prefill.reason(req).status_code == 500
    assert "timed out" in prefill.reason(req).message


@pytest.mark.fault("N-1", until="0.5.20")  # 0.5.18 and 0.5.19 have the deadline, but forget that it passed
def test_late_answer_does_not_undo_the_backend_deadline(prefill, release, clock):
    nixl = Backend(release, "nixl", prefill.log)
    sender = nixl.new_sender(1, nixl.states.Bootstrapping)
    clock.advance_wall(301.0)

    sender.poll()
    nixl.manager.update_status(1, nixl.states.WaitingForInput)

    assert sender.poll() == nixl.states.Failed
