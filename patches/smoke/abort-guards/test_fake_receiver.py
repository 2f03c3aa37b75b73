"""The receiver of the fake bootstrap host (warm-up requests) ends like a real one."""

import pytest


@pytest.mark.fault("F-1", until="0.5.13")
def test_abort_ends_a_fake_receive():
    from sglang.srt.disaggregation.base import KVPoll
    from sglang.srt.disaggregation.fake.conn import FakeKVReceiver

    receiver = FakeKVReceiver(mgr=None, bootstrap_addr="2.2.2.2:8998", bootstrap_room=1)
    receiver.init(0)

    receiver.abort()

    assert receiver.poll() == KVPoll.Failed
