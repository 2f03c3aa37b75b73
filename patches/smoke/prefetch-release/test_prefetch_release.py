"""A request that leaves the bootstrap queue gives its storage prefetch back, at once and once."""

import pytest
from smokekit.prefill import PREFETCHED
from smokekit.storage import StorageCache


@pytest.mark.fault("P-1", until="0.5.15")
def test_abort_releases_the_prefetch_before_it_ends_the_sender(prefill):
    prefill.bootstrapping("a", prefetched=PREFETCHED)
    other = prefill.bootstrapping("b", prefetched=PREFETCHED)

    prefill.abort("a")

    assert prefill.cache.prefetched == {"b": PREFETCHED}
    assert prefill.log.is_before("prefetch-released", "endpoint-aborted", "a")
    assert prefill.log.of("b") == []
    assert other.disagg_kv_sender.state == prefill.states.Bootstrapping


@pytest.mark.fault("P-1", until="0.5.15")
def test_abort_of_all_releases_every_prefetch_in_queue_order(prefill):
    for rid in ("a", "b", "c"):
        prefill.bootstrapping(rid, prefetched=PREFETCHED)

    prefill.abort("", abort_all=True)

    assert prefill.cache.prefetched_tokens() == 0
    assert [event.who for event in prefill.log if event.what == "prefetch-released"] == ["a", "b", "c"]


@pytest.mark.regression
def test_poll_after_an_abort_ends_the_request_once(prefill):
    prefill.bootstrapping("a", prefetched=PREFETCHED)

    prefill.abort("a")
    prefill.poll_bootstrap()

    assert prefill.queued() == []
    assert prefill.cache.prefetched_tokens() == 0
    assert prefill.log.times("streamed", "a") == 1
    assert prefill.slots_are_free()


@pytest.mark.regression
def test_abort_without_storage_leaves_the_cache_alone(prefill_without_storage, release):
    prefill = prefill_without_storage
    prefill.bootstrapping("a")

    prefill.abort("not a", abort_all=True)

    assert prefill.log.times("endpoint-aborted", "a") == 1
    if not release.at_least("0.5.20"):  # from there the cache itself knows whether there is storage
        assert prefill.log.times("prefetch-released", "a") == 0


@pytest.mark.fault("P-2")
def test_oversized_request_is_rejected_without_its_prefetch(prefill):
    req = prefill.new_request("a", prefill.states.Bootstrapping, tokens=200)
    prefill.prefetch_on_arrival(req, PREFETCHED)

    prefill.add(req)

    assert prefill.queued() == []
    assert prefill.log.times("streamed", "a") == 1
    assert prefill.reason(req).status_code == 400
    assert prefill.cache.prefetched_tokens() == 0


@pytest.mark.releases(until="0.5.21")  # the cache class is another one from there
@pytest.mark.regression
def test_released_prefetch_opens_the_limiter_once(release):
    storage = StorageCache(release, prefetching=100, limit=80)
    assert storage.is_closed()

    storage.release("unknown")
    assert storage.is_closed()

    storage.release("a")
    storage.release("a")

    assert storage.controller.prefetch_tokens_occupied == 0
    assert not storage.is_closed()
    assert storage.operation.is_terminated()
    assert storage.cache.ongoing_prefetch == {}
    assert storage.log.times("node-released", "a") == 1
