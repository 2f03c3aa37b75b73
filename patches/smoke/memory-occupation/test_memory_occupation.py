"""KV memory that is released is not left registered with the transfer engine.

The engine must let go before the memory saver takes the pages away, and may take hold again
only when they are back. The server is idle then; what is not idle is refused.
"""

import pytest
from smokekit.memory import BUFFERS, GRAPH, KV


@pytest.mark.fault("M-1", until="0.5.14")
def test_engine_lets_go_before_the_memory_goes(occupation):
    occupation.use_mooncake()

    occupation.release(KV)

    assert occupation.order() == ["deregistered", "memory-paused"]
    assert set(occupation.buffers("deregistered")) == BUFFERS


@pytest.mark.fault("M-1", until="0.5.14")
def test_engine_takes_hold_after_the_memory_is_back(occupation):
    occupation.use_mooncake()

    occupation.release(KV)
    occupation.resume(KV)

    assert occupation.order() == ["deregistered", "memory-paused", "memory-resumed", "registered"]
    assert set(occupation.buffers("registered")) == BUFFERS


@pytest.mark.fault("M-1", until="0.5.14")
def test_all_tags_include_the_kv_cache(occupation):
    occupation.use_mooncake()

    occupation.release(KV, GRAPH)
    occupation.resume(KV, GRAPH)

    assert set(occupation.buffers("deregistered")) == set(occupation.buffers("registered")) == BUFFERS


@pytest.mark.regression
def test_other_memory_is_not_the_engines(occupation):
    occupation.use_mooncake()

    occupation.release(GRAPH)
    occupation.resume(GRAPH)

    assert occupation.order() == ["memory-paused", "memory-resumed"]


@pytest.mark.regression
def test_scheduler_without_disaggregation_has_no_engine(occupation):
    from sglang.srt.disaggregation.utils import DisaggregationMode

    occupation.use_mooncake()
    occupation.rank.scheduler.disaggregation_mode = DisaggregationMode.NULL

    occupation.release(KV)
    occupation.resume(KV)

    assert occupation.order() == ["memory-paused", "memory-resumed"]


@pytest.mark.regression
def test_manager_without_registration_is_left_alone(occupation):
    occupation.use_manager(object())

    occupation.release(KV)
    occupation.resume(KV)

    assert occupation.order() == ["memory-paused", "memory-resumed"]


@pytest.mark.regression
def test_busy_server_refuses(occupation):
    occupation.use_mooncake()
    occupation.is_idle = False

    with pytest.raises(AssertionError):
        occupation.release(KV)

    assert occupation.order() == []


@pytest.mark.releases(until="0.5.14")
@pytest.mark.fault("M-1", until="0.5.14")
def test_second_release_changes_nothing(occupation):
    occupation.use_mooncake()

    occupation.release(KV)
    occupation.release(KV)
    occupation.resume(KV)

    assert sorted(occupation.buffers("deregistered")) == sorted(BUFFERS)
    assert sorted(occupation.buffers("registered")) == sorted(BUFFERS)


@pytest.mark.releases(until="0.5.14")
@pytest.mark.fault("M-1", until="0.5.14")
def test_resume_without_a_release_changes_nothing(occupation):
    occupation.use_mooncake()

    occupation.release(KV)
    occupation.resume(KV)
    assert sorted(occupation.buffers("registered")) == sorted(BUFFERS)
    occupation.resume(KV)

    assert sorted(occupation.buffers("registered")) == sorted(BUFFERS)
