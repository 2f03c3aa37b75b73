"""A prefill scheduler and its bootstrap queue without their constructors.

Every method that runs is the release's own; the attributes they read are set here.
"""

from __future__ import annotations

from types import SimpleNamespace

from smokekit import fakes
from smokekit.clock import Clock
from smokekit.events import EventLog
from smokekit.groups import one_rank_group
from smokekit.outcome import require
from smokekit.release import Release, require_known

PREFETCHED = 64  # tokens that a request of a prefetch test holds
SLOTS = 8


class Prefill:
    """One prefill rank: put requests into its queues, act, read the log."""

    def __init__(self, release: Release, clock: Clock, monkeypatch, *, storage: bool = True) -> None:
        from sglang.srt.disaggregation.prefill import PrefillBootstrapQueue
        from sglang.srt.disaggregation.utils import DisaggregationMode, ReqToMetadataIdxAllocator
        from sglang.srt.managers.scheduler import Scheduler

        self.release = release
        self.clock = clock
        self.states = release.states
        self.log = EventLog()
        self.manager = fakes.FakeManager()
        self.cache = release.new_cache(self.log)
        self.streamer = fakes.FakeStreamer(self.log)
        self.tokenizer = fakes.FakeTokenizer(self.log)
        self.slots = ReqToMetadataIdxAllocator(SLOTS)
        self.rooms = 0
        self.scheduler = Scheduler.__new__(Scheduler)
        self.queue = PrefillBootstrapQueue.__new__(PrefillBootstrapQueue)
        self.scheduler.disaggregation_mode = DisaggregationMode.PREFILL
        self.scheduler.enable_hicache_storage = storage
        release.connect(self.scheduler, self.streamer, self.tokenizer, fakes.FakeMetrics(self.log))
        self.set_state()
        release.watch_kv(monkeypatch, self.log)

    def set_state(self) -> None:
        import torch
        from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

        group = one_rank_group()
        scheduler, queue = self.scheduler, self.queue
        scheduler.attn_tp_cpu_group = scheduler.attn_cp_cpu_group = scheduler.tp_cpu_group = group
        scheduler.tree_cache = self.cache
        scheduler.req_to_metadata_buffer_idx_allocator = self.slots
        scheduler.waiting_queue = []
        scheduler.running_batch = fakes.Batch()
        scheduler.last_batch = scheduler.chunked_req = None
        scheduler.grammar_manager = fakes.Quiet()
        scheduler.enable_overlap = False
        scheduler.enable_priority_scheduling = False
        scheduler.abort_on_priority_when_disabled = False
        scheduler.spec_algorithm = SpeculativeAlgorithm.NONE
        scheduler.model_config = SimpleNamespace(num_key_value_heads=8)
        scheduler.server_args = SimpleNamespace(optimistic_prefill_retries=0, optimistic_prefill_attempts=0)
        scheduler.token_to_kv_pool_allocator = SimpleNamespace(
            page_size=1, translate_kv_indices_for_transfer=lambda indices: indices
        )
        scheduler.req_to_token_pool = SimpleNamespace(
            req_to_token=torch.arange(1024).reshape(1, -1), available_size=lambda: 8
        )
        scheduler.disagg_metadata_buffers = fakes.Quiet()
        scheduler.disagg_prefill_bootstrap_queue = queue
        scheduler.disagg_prefill_inflight_queue = []
        queue.queue = []
        queue.scheduler = scheduler
        queue.kv_manager = self.manager
        queue.kv_manager.kv_args = SimpleNamespace(state_types=[])
        queue.req_to_metadata_buffer_idx_allocator = self.slots
        queue.token_to_kv_pool = SimpleNamespace(page_size=1)
        queue.max_total_num_tokens = 100
        queue.pp_rank = 0
        queue.pp_size = 1
        self.release.finish_prefill(scheduler, queue)
        require_known(scheduler, queue)

    def set_manager(self, manager) -> None:
        self.queue.kv_manager = manager

    # -- requests ------------------------------------------------------------------------------

    def new_request(self, rid: str, state: int, *, tokens: int = 8, prefetched: int = 0):
        self.rooms += 1
        req = self.release.new_request(rid, self.rooms, tokens=tokens, mode="prefill")
        req.disagg_kv_sender = fakes.FakeSender(rid, self.rooms, self.log, self.manager, self.states, state)
        if prefetched:
            self.cache.prefetched[rid] = prefetched
        return req

    def take_slot(self, req) -> None:
        req.metadata_buffer_index = self.slots.alloc()

    def stamp(self, req, stage: str, age_s: float | None) -> None:
        """Let the stage have begun age_s seconds ago; None leaves it un-stamped."""
        if age_s is not None:
            self.release.stamp(req, stage, self.clock.now() - age_s)

    def bootstrapping(self, rid: str, *, age_s: float | None = 0.0, prefetched: int = 0, state: int | None = None):
        """Put a request into the bootstrap queue; its decode side has not answered."""
        state = self.states.Bootstrapping if state is None else state
        req = self.new_request(rid, state, prefetched=prefetched)
        self.release.expect_bootstrap(req)
        self.stamp(req, "prefill_bootstrap_queue_entry_time", age_s)
        self.queue.queue.append(req)
        return req

    def waiting(self, rid: str, *, prefetched: int = 0):
        """Put a bootstrapped request into the waiting queue."""
        req = self.new_request(rid, self.states.WaitingForInput, prefetched=prefetched)
        self.take_slot(req)
        self.scheduler.waiting_queue.append(req)
        return req

    def prefilled(self, rid: str, *, state: int | None = None):
        """Return a request whose forward pass is done and whose KV is about to be sent."""
        req = self.new_request(rid, self.states.WaitingForInput if state is None else state)
        self.take_slot(req)
        self.release.give_kv(req)
        req.start_send_idx = 0
        return req

    def inflight(self, rid: str, state: int, *, age_s: float | None = 0.0):
        """Put a request whose KV is on its way to decode into the inflight queue."""
        req = self.prefilled(rid, state=state)
        self.stamp(req, "prefill_transfer_queue_entry_time", age_s)
        self.scheduler.disagg_prefill_inflight_queue.append(req)
        return req

    def parked(self, rid: str, *, age_s: float | None = 0.0):
        """Put a request that was prefilled before its decode side answered into the inflight queue."""
        req = self.inflight(rid, self.states.Bootstrapping, age_s=age_s)
        self.release.expect_bootstrap(req)
        return req

    # -- actions -------------------------------------------------------------------------------

    def abort(self, rid: str, *, abort_all: bool = False) -> None:
        from sglang.srt.managers.io_struct import AbortReq

        self.scheduler.abort_request(AbortReq(rid=rid, abort_all=abort_all))

    def prefetch_on_arrival(self, req, tokens: int) -> None:
        """Let the intake start a prefetch of so many tokens for the request."""

        def prefetch(arrived) -> None:
            self.cache.prefetched[arrived.rid] = tokens

        require(callable(getattr(self.scheduler, "_prefetch_kvcache", None)), "Scheduler._prefetch_kvcache is gone")
        self.scheduler._prefetch_kvcache = prefetch

    def add(self, req) -> None:
        """Take a new request in, as the scheduler does."""
        self.scheduler._add_request_to_queue(req)

    def poll_bootstrap(self) -> list:
        """One loop's look at the bootstrap queue."""
        popped = self.queue.pop_bootstrapped()
        self.scheduler.waiting_queue.extend(popped)
        return popped

    def poll_inflight(self) -> list:
        """One loop's look at the inflight queue."""
        return self.scheduler.process_disagg_prefill_inflight_queue()

    def finish_forward(self, *reqs) -> None:
        """Process the result of a forward pass over these requests, whole prompts each."""
        import torch
        from sglang.srt.managers.utils import GenerationBatchResult

        result = GenerationBatchResult(
            next_token_ids=torch.zeros(len(reqs), dtype=torch.int64),
            extend_input_len_per_req=[len(req.origin_input_ids) for req in reqs],
            extend_logprob_start_len_per_req=[0 for _ in reqs],
        )
        self.scheduler.process_batch_result_disagg_prefill(fakes.Batch(reqs), result)

    def run_as_last_batch(self, *reqs) -> None:
        """Let a batch of these requests be the one that just ran."""
        self.release.set_last_batch(self.scheduler, fakes.Batch(reqs))

    def continue_chunking(self, req) -> None:
        """Let the request have further chunks to prefill."""
        self.scheduler.chunked_req = req

    def requeue(self, req) -> None:
        """Send a request that was prefilled before its bootstrap back to the bootstrap queue."""
        self.scheduler.optimistic_release_and_requeue(req)

    def pause(self) -> None:
        self.release.pause(self.scheduler)

    def resume(self) -> None:
        self.release.resume(self.scheduler)

    # -- what is seen --------------------------------------------------------------------------

    def reason(self, req):
        """Return the finish reason that the client read; None if it read none or several."""
        reasons = self.streamer.reasons.get(req.rid, [])
        return reasons[0] if len(reasons) == 1 else None

    def queued(self) -> list[str]:
        return [req.rid for req in self.queue.queue]

    def in_flight(self) -> list[str]:
        return [req.rid for req in self.scheduler.disagg_prefill_inflight_queue]

    def slots_are_free(self) -> bool:
        return sorted(self.slots.free_slots) == list(range(SLOTS))
