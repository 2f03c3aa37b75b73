"""An aborted prefill request is ended once, its KV released once, and the first reason wins."""

import pytest

GRAMMAR_TEXT = "token 0 is not in the grammar"


class BrokenGrammar:
    finished = False

    def accept_token(self, token: int) -> None:
        raise ValueError(GRAMMAR_TEXT)


def prefilled_with_broken_grammar(prefill):
    req = prefill.prefilled("a")
    req.grammar = BrokenGrammar()
    prefill.finish_forward(req)
    return req


# -- a grammar error after the forward pass -----------------------------------------------


@pytest.mark.parametrize("final", ["Success", "Failed"])
@pytest.mark.fault("A-1", until="0.5.16")
def test_grammar_error_releases_kv_once(prefill, final):
    req = prefilled_with_broken_grammar(prefill)
    req.disagg_kv_sender.state = getattr(prefill.states, final)

    prefill.poll_inflight()

    assert prefill.log.times("kv-released", "a") == 1
    assert prefill.in_flight() == []
    assert prefill.log.times("streamed", "a") == 1
    assert prefill.slots_are_free()


@pytest.mark.fault("A-1", until="0.5.16")
def test_grammar_error_keeps_kv_while_it_is_sent(prefill):
    req = prefilled_with_broken_grammar(prefill)
    req.disagg_kv_sender.state = prefill.states.Transferring

    prefill.poll_inflight()

    sent, released = prefill.log.times("kv-sent", "a"), prefill.log.times("kv-released", "a")
    assert (sent, released) in [(1, 0), (0, 1)]  # kept while it is sent, or ended and never sent
    assert prefill.in_flight() == (["a"] if sent else [])


# -- which reason the client reads ----------------------------------------------


@pytest.mark.parametrize(
    "final",
    [
        pytest.param("Success", marks=pytest.mark.fault("A-2", until="0.5.16")),
        pytest.param("Failed", marks=pytest.mark.fault("A-3", until="0.5.16")),
    ],
)
def test_decided_abort_keeps_its_reason(prefill, final, release):
    req = prefill.inflight("a", getattr(prefill.states, final))
    req.finished_reason = release.abort_reason("grammar broke", 500, "BadGrammar")

    prefill.poll_inflight()

    reason = prefill.reason(req)
    assert release.is_abort(reason)
    assert (reason.message, reason.status_code, reason.err_type) == ("grammar broke", 500, "BadGrammar")
    assert prefill.log.times("kv-released", "a") == 1


@pytest.mark.parametrize("final", ["Success", "Failed"])
@pytest.mark.fault("A-4")
def test_pending_abort_becomes_the_reason(prefill, final, release):
    req = prefill.inflight("a", getattr(prefill.states, final))
    req.to_finish = release.abort_reason("running too long", 503, "Timeout")

    prefill.poll_inflight()

    reason = prefill.reason(req)
    assert release.is_abort(reason)
    assert (reason.message, reason.status_code, reason.err_type) == ("running too long", 503, "Timeout")
    assert prefill.log.times("kv-released", "a") == 1
    assert prefill.slots_are_free()


@pytest.mark.fault("A-4")
def test_pending_abort_answers_no_logprobs(prefill, release):
    req = prefill.inflight("a", prefill.states.Success)
    req.return_logprob = True
    req.to_finish = release.abort_reason("running too long", 503, "Timeout")

    prefill.poll_inflight()

    assert release.input_logprobs(req) == [[]] * 6


@pytest.mark.fault("A-4")
def test_client_abort_of_an_inflight_request_says_aborted(prefill, release):
    req = prefill.inflight("a", prefill.states.Transferring)
    prefill.run_as_last_batch(req)

    prefill.abort("a")
    pending = req.to_finish
    prefill.poll_inflight()

    reason = prefill.reason(req)
    assert release.is_abort(pending)
    assert release.is_abort(reason)
    assert (reason.message, reason.status_code) == (pending.message, pending.status_code)


@pytest.mark.regression
def test_transfer_failure_without_an_abort_keeps_its_text(prefill, release):
    req = prefill.inflight("a", prefill.states.Failed)
    prefill.manager.record_failure(req.bootstrap_room, "link down")

    prefill.poll_inflight()

    reason = prefill.reason(req)
    assert release.is_abort(reason)
    assert "link down" in reason.message
    assert reason.status_code == 500
    assert prefill.log.times("transfer-failure-counted") == 1


@pytest.mark.regression
def test_finished_transfer_ends_by_length(prefill):
    req = prefill.inflight("a", prefill.states.Success)

    prefill.poll_inflight()

    assert prefill.reason(req).to_json()["type"] == "length"
    assert prefill.log.times("kv-released", "a") == 1
    assert prefill.slots_are_free()


# -- an abort while the forward pass runs ----------------------------------------------


@pytest.mark.fault("A-5", until="0.5.20")
def test_abort_of_a_running_request_sends_no_kv(prefill, release):
    req = prefill.prefilled("a")
    other = prefill.prefilled("b")
    req.to_finish = release.abort_reason()

    prefill.finish_forward(req, other)
    prefill.poll_inflight()

    assert prefill.log.times("kv-sent", "a") == 0
    assert prefill.log.times("endpoint-aborted", "a") == 1
    assert prefill.log.times("kv-released", "a") == 1
    assert release.is_abort(prefill.reason(req))
    assert req.metadata_buffer_index == -1
    assert prefill.log.times("kv-sent", "b") == 1
    assert prefill.in_flight() == ["b"]


@pytest.mark.releases(since="0.5.13")  # before, no request is prefilled ahead of its bootstrap
@pytest.mark.fault("A-5", until="0.5.20")
def test_abort_of_a_running_request_without_bootstrap_is_not_retried(prefill, release):
    req = prefill.prefilled("a", state=prefill.states.Bootstrapping)
    release.expect_bootstrap(req)
    req.to_finish = release.abort_reason()

    prefill.finish_forward(req)
    prefill.poll_inflight()

    assert prefill.queued() == []
    assert prefill.scheduler.waiting_queue == []
    assert prefill.in_flight() == []
    assert release.is_abort(prefill.reason(req))
    assert prefill.log.times("kv-released", "a") == 1
    assert prefill.slots_are_free()


@pytest.mark.regression
def test_aborted_request_does_not_shift_its_neighbours_logprobs(prefill, release):
    first, aborted, last = (prefill.prefilled(rid) for rid in ("first", "aborted", "last"))
    for req in (first, aborted, last):
        req.return_logprob = True
    aborted.to_finish = release.abort_reason()
    starts: dict[str, int] = {}
    release.watch_logprobs(prefill.scheduler, starts)

    prefill.finish_forward(first, aborted, last)

    assert starts["first"] == 0
    assert starts["last"] == len(first.origin_input_ids) + len(aborted.origin_input_ids)


@pytest.mark.regression
def test_aborted_middle_chunk_keeps_its_kv(prefill, release):
    req = prefill.prefilled("a")
    setattr(req, release.middle_chunks, 1)
    prefill.continue_chunking(req)
    req.to_finish = release.abort_reason()

    prefill.finish_forward(req)

    assert prefill.log.times("kv-released", "a") == 0
    assert getattr(req, release.middle_chunks) == 0
    assert req.metadata_buffer_index >= 0


# -- an abort while the request waits for its forward pass ----------------------------------


@pytest.mark.fault("A-9", until="0.5.21")
def test_abort_of_a_waiting_request_ends_its_sender(prefill):
    prefill.waiting("a", prefetched=64)

    prefill.abort("a")

    assert prefill.scheduler.waiting_queue == []
    assert prefill.cache.prefetched_tokens() == 0
    assert prefill.slots_are_free()
    assert prefill.log.times("told-tokenizer", "a") == 1
    assert prefill.log.times("endpoint-aborted", "a") == 1


@pytest.mark.releases(until="0.5.21")  # from there upstream leaves the room to its backend
@pytest.mark.fault("A-9", until="0.5.21")
def test_abort_of_a_waiting_request_forgets_its_room(prefill, mooncake):
    req = prefill.waiting("a")
    req.disagg_kv_sender = mooncake.new_sender(req.bootstrap_room, mooncake.states.WaitingForInput)
    mooncake.expect(req.bootstrap_room)

    prefill.abort("a")

    assert req.bootstrap_room not in mooncake.manager.request_status
    assert req.bootstrap_room not in mooncake.manager.transfer_infos
    assert req.bootstrap_room not in mooncake.manager.failure_records
