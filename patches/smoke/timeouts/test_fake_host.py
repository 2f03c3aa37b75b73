"""A warm-up request has a fake sender, but the manager of the real backend beside it."""

import pytest

LONG_AGO_S = 10_000.0


@pytest.mark.fault("T-2")
def test_stalled_warm_up_ends_with_504(prefill, mooncake, release, monkeypatch):
    monkeypatch.delenv("SGLANG_DISAGGREGATION_TRANSFER_TIMEOUT", raising=False)
    req = prefill.inflight("old", prefill.states.WaitingForInput, age_s=LONG_AGO_S)
    req.disagg_kv_sender = release.new_fake_sender(req.bootstrap_room)
    req.disagg_kv_sender.kv_mgr = mooncake.manager

    prefill.poll_inflight()

    assert prefill.in_flight() == []
    assert prefill.reason(req).status_code == 504
