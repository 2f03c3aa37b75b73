"""Two ranks whose clocks reach a deadline at different moments leave their queues together.

All queues are polled by an all-reduce as long as the queue: a rank that drops a request on its
own clock waits for ever in the next one. The ranks here are real processes with a real group.
"""

import pytest
from smokekit.clock import Clock
from smokekit.ranks import run_two_ranks

LIMIT_S = 600.0
LOOPS = 4


def prefill_loops(release, age_s):
    from smokekit.prefill import Prefill

    patch = pytest.MonkeyPatch()
    prefill = Prefill(release, Clock(patch), patch)
    old = [
        prefill.bootstrapping("old", age_s=age_s),
        prefill.inflight("old sent", prefill.states.Transferring, age_s=age_s),
    ]
    prefill.bootstrapping("new")
    prefill.inflight("new sent", prefill.states.Transferring)
    seen = []
    for _ in range(LOOPS):
        prefill.poll_bootstrap()
        prefill.poll_inflight()
        seen.append((prefill.queued(), prefill.in_flight()))
    return seen, [getattr(prefill.reason(req), "status_code", None) for req in old]


def decode_loops(release, age_s):
    from smokekit.decode import Decode

    patch = pytest.MonkeyPatch()
    decode = Decode(release, Clock(patch), patch)
    old = [
        decode.handshaking("old", age_s=age_s),
        decode.receiving("old sent", decode.states.Transferring, age_s=age_s),
    ]
    decode.handshaking("new")
    decode.receiving("new sent", decode.states.Transferring)
    seen = []
    for _ in range(LOOPS):
        decode.poll_prealloc()
        decode.poll_transfer()
        seen.append((decode.preallocating(), decode.transferring()))
    return seen, [getattr(decode.reason(req), "status_code", None) for req in old]


@pytest.mark.two_ranks
@pytest.mark.parametrize("loops", [prefill_loops, decode_loops])
@pytest.mark.parametrize("apart_s", [0.4, 4.0])
@pytest.mark.fault("T-1")
def test_ranks_leave_their_queues_together(release, loops, apart_s):
    early_s = LIMIT_S + 0.2

    first, second = run_two_ranks(lambda rank: loops(release, early_s - rank * apart_s))

    assert (first.error, second.error) == ("", "")
    assert first.result[0] == second.result[0]
    assert first.result[0][-1] == (["new"], ["new sent"])
    assert first.result[1] == [504, 504]
    if apart_s < 1:  # further apart than that, the late rank may report a plain failure
        assert second.result[1] == [504, 504]
