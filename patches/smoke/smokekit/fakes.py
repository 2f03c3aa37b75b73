"""Fakes of what surrounds the code under test. All write to one ordered event log.

None stands in for code that a fix touches: requests, queues, polls, the slot allocator, time
stamps and finish reasons are the release's own.
"""

from __future__ import annotations

from smokekit.events import EventLog

ABORT_REASON = "Aborted by AbortReq."  # what every real endpoint records in abort()


class FakeManager:
    """The failure records that a real manager keeps for its endpoints."""

    is_dummy_cp_rank = False

    def __init__(self) -> None:
        self.failure_records: dict[int, str] = {}

    def try_ensure_parallel_info(self, bootstrap_addr: str) -> bool:
        return False  # the prefill side is not up

    def record_failure(self, bootstrap_room: int, failure_reason: str) -> None:
        self.failure_records[bootstrap_room] = failure_reason


class FakeEndpoint:
    """A prefill sender or decode receiver whose state the test sets.

    After abort() it polls Failed, as the real ones do. failure_exception() clears it and
    raises with the recorded reason.
    """

    require_staging = False

    def __init__(self, rid: str, room: int, log: EventLog, manager: FakeManager, states: type, state: int) -> None:
        self.rid = rid
        self.bootstrap_room = room
        self.log = log
        self.kv_mgr = manager
        self.states = states
        self.state = state
        self.conclude_state: int | None = None

    def poll(self) -> int:
        return self.state

    def abort(self) -> None:
        self.log.add("endpoint-aborted", self.rid)
        self.kv_mgr.record_failure(self.bootstrap_room, ABORT_REASON)
        self.state = self.conclude_state = self.states.Failed

    def clear(self) -> None:
        self.log.add("endpoint-cleared", self.rid)

    def failure_exception(self) -> None:
        self.clear()
        raise RuntimeError(self.kv_mgr.failure_records.pop(self.bootstrap_room, "unknown reason from another rank"))


class FakeSender(FakeEndpoint):
    def init(self, num_kv_indices: int, aux_index: int | None = None) -> None:
        self.log.add("sender-ready", self.rid)

    def pop_decode_prefix_len(self) -> int:
        return 0

    def get_max_transfer_tokens(self) -> int | None:
        return None

    def should_send_kv_chunk(self, num_pages: int, last_chunk: bool) -> bool:
        return num_pages > 0 or last_chunk

    def send(self, kv_indices, state_indices=None, **chunk) -> None:
        self.log.add("kv-sent", self.rid)

    def get_transfer_metric(self):
        from sglang.srt.disaggregation.base.conn import KVTransferMetric

        return KVTransferMetric()


class FakeReceiver(FakeEndpoint):
    def init(self, prefill_dp_rank: int) -> None:
        self.log.add("receiver-ready", self.rid)

    def send_metadata(self, kv_indices, aux_index=None, state_indices=None, **more) -> None:
        self.log.add("metadata-sent", self.rid)


class FakeCache:
    """A prefix cache that counts the tokens prefetched from storage for each request."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.prefetched: dict[str, int] = {}

    def prefetched_tokens(self) -> int:
        return sum(self.prefetched.values())

    def supports_mamba(self) -> bool:
        return False

    def drop_prefetch(self, rid: str) -> None:
        self.log.add("prefetch-released", rid)
        self.prefetched.pop(rid, None)


class CacheByRid(FakeCache):
    """Releases a prefetch by request id, unknown ids included."""

    def release_aborted_request(self, rid: str) -> None:
        self.drop_prefetch(rid)


class CacheByHandle(FakeCache):
    """Ends a request by its handle; aborts and successes take the same way."""

    def finish(self, handle, outcome) -> None:
        self.drop_prefetch(handle.rid)

    def unlock(self, lock) -> None:
        """Nothing here is locked."""


class FakeStreamer:
    """What the client gets: the finish reason of each request at the moment it is streamed."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.reasons: dict[str, list[object]] = {}

    def stream_output(self, reqs, return_logprob, skip_req=None, **more) -> None:
        for req in reqs:
            self.log.add("streamed", req.rid)
            self.reasons.setdefault(req.rid, []).append(req.finished_reason)


class FakeTokenizer:
    """The channel back to the tokenizer manager."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.sent: list[object] = []

    def send_output(self, output, req=None) -> None:
        self.log.add("told-tokenizer", output.rid)
        self.sent.append(output)


class FakeMetrics:
    def __init__(self, log: EventLog) -> None:
        self.log = log

    def increment_bootstrap_failed_reqs(self) -> None:
        self.log.add("bootstrap-failure-counted")

    def increment_transfer_failed_reqs(self) -> None:
        self.log.add("transfer-failure-counted")


class Batch:
    """As much of a schedule batch as the result processing and the abort path read."""

    return_logprob = False
    spec_info = None
    prefill_stats = None
    dp_cooperation_info = None

    def __init__(self, reqs=()) -> None:
        self.reqs = list(reqs)

    def is_empty(self) -> bool:
        return not self.reqs


class Quiet:
    """Takes any call and does nothing: for reporters whose effect no test looks at."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None
