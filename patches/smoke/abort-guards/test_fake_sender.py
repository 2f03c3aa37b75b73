"""The sender of the fake bootstrap host (warm-up requests) ends like a real one."""

import pytest


def fake_host_request(prefill, release):
    from sglang.srt.disaggregation.utils import FAKE_BOOTSTRAP_HOST

    req = prefill.prefilled("a")
    req.bootstrap_host = FAKE_BOOTSTRAP_HOST
    req.disagg_kv_sender = release.new_fake_sender(req.bootstrap_room)
    return req


@pytest.mark.fault("F-1", until="0.5.13")
def test_abort_ends_a_fake_transfer(prefill, release):
    req = fake_host_request(prefill, release)
    prefill.scheduler.disagg_prefill_inflight_queue.append(req)

    prefill.abort("a")
    prefill.poll_inflight()

    assert prefill.in_flight() == []
    assert release.is_abort(prefill.reason(req))
    assert prefill.slots_are_free()


@pytest.mark.fault("F-2", until="0.5.21")
def test_last_chunk_without_pages_ends_a_fake_transfer(prefill, release):
    req = fake_host_request(prefill, release)
    req.start_send_idx = len(req.origin_input_ids)  # decode has the whole prompt cached

    prefill.finish_forward(req)
    prefill.poll_inflight()

    assert prefill.in_flight() == []
    assert prefill.reason(req).to_json()["type"] == "length"
