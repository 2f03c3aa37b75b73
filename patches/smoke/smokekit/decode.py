"""A decode scheduler with its prealloc and transfer queues, built without their constructors."""

from __future__ import annotations

from types import SimpleNamespace

from smokekit import fakes
from smokekit.clock import Clock
from smokekit.events import EventLog
from smokekit.groups import one_rank_group
from smokekit.outcome import require
from smokekit.release import Release, require_known

SLOTS = 8


class Decode:
    """One decode rank: put requests into its queues, act, read the log."""

    def __init__(self, release: Release, clock: Clock, monkeypatch) -> None:
        from sglang.srt.disaggregation.decode import DecodePreallocQueue, DecodeTransferQueue
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
        self.prealloc = DecodePreallocQueue.__new__(DecodePreallocQueue)
        self.transfer = DecodeTransferQueue.__new__(DecodeTransferQueue)
        self.scheduler.disaggregation_mode = DisaggregationMode.DECODE
        release.connect(self.scheduler, self.streamer, self.tokenizer, fakes.FakeMetrics(self.log))
        self.set_state()
        release.watch_kv(monkeypatch, self.log)

    def set_state(self) -> None:
        group = one_rank_group()
        scheduler, prealloc, transfer = self.scheduler, self.prealloc, self.transfer
        scheduler.attn_tp_cpu_group = scheduler.attn_cp_cpu_group = scheduler.tp_cpu_group = group
        scheduler.tree_cache = self.cache
        scheduler.waiting_queue = []
        scheduler.running_batch = fakes.Batch()
        scheduler.last_batch = scheduler.chunked_req = None
        scheduler.grammar_manager = fakes.Quiet()
        scheduler.enable_overlap = False
        scheduler.enable_hisparse = False
        scheduler.enable_hicache_storage = False
        scheduler.enable_priority_scheduling = False
        scheduler.server_args = SimpleNamespace(
            disaggregation_decode_enable_radix_cache=False, disaggregation_transfer_backend="mooncake"
        )
        scheduler.disagg_decode_prealloc_queue = prealloc
        scheduler.disagg_decode_transfer_queue = transfer
        for queue in (prealloc, transfer):
            queue.queue = []
            queue.scheduler = scheduler
            queue.tree_cache = self.cache
            queue.gloo_group = group
            queue.tp_rank = 0
            queue.req_to_metadata_buffer_idx_allocator = self.slots
            queue.metadata_buffers = fakes.Quiet()
            queue.enable_staging = False
        prealloc.pending_reqs = []
        prealloc.retracted_queue = []
        prealloc.kv_manager = self.manager
        prealloc.transfer_queue = transfer
        prealloc.num_reserved_decode_tokens = 0
        prealloc._ensure_retry_count = {}
        prealloc._ensure_last_attempt_time = {}
        prealloc._ensure_retry_interval = 0.0
        prealloc._max_ensure_retries = 15
        prealloc.req_to_token_pool = SimpleNamespace(available_size=lambda: 8)
        self.release.set_no_kv_memory(prealloc)
        self.release.finish_decode(scheduler, prealloc, transfer)
        require_known(scheduler, prealloc, transfer)

    def set_manager(self, manager) -> None:
        self.prealloc.kv_manager = manager

    def new_request(self, rid: str, state: int):
        """Return a decode request of the release's own class with a fake receiver."""
        from sglang.srt.disaggregation.decode import DecodeRequest

        self.rooms += 1
        req = self.release.new_request(rid, self.rooms, tokens=8, mode="decode")
        receiver = fakes.FakeReceiver(rid, self.rooms, self.log, self.manager, self.states, state)
        return DecodeRequest(req=req, kv_receiver=receiver)

    def stamp(self, decode_req, stage: str, age_s: float | None) -> None:
        if age_s is not None:
            self.release.stamp(decode_req.req, stage, self.clock.now() - age_s)

    def handshaking(self, rid: str, *, age_s: float | None = 0.0, pending: bool = False):
        """Put a request whose prefill side has not answered into the prealloc queue."""
        decode_req = self.new_request(rid, self.states.Bootstrapping)
        self.stamp(decode_req, "decode_prealloc_queue_entry_time", age_s)
        self.prealloc.queue.append(decode_req)
        if pending:
            self.prealloc.pending_reqs.append(decode_req)
        return decode_req

    def waiting_for_memory(self, rid: str, *, age_s: float | None = 0.0):
        """Put a request that only lacks KV memory into the prealloc queue."""
        decode_req = self.new_request(rid, self.states.WaitingForInput)
        decode_req.waiting_for_input = True
        self.stamp(decode_req, "decode_prealloc_queue_entry_time", age_s)
        self.prealloc.queue.append(decode_req)
        return decode_req

    def receiving(self, rid: str, state: int, *, age_s: float | None = 0.0):
        """Put a request whose KV is on its way into the transfer queue."""
        decode_req = self.new_request(rid, state)
        decode_req.metadata_buffer_index = self.slots.alloc()
        self.release.give_kv(decode_req.req)
        self.stamp(decode_req, "decode_transfer_queue_entry_time", age_s)
        self.transfer.queue.append(decode_req)
        return decode_req

    # -- actions -------------------------------------------------------------------------------

    def abort(self, rid: str, *, abort_all: bool = False) -> None:
        from sglang.srt.managers.io_struct import AbortReq

        self.scheduler.abort_request(AbortReq(rid=rid, abort_all=abort_all))

    def retract(self, decode_req, monkeypatch) -> None:
        """Take a running request's KV away, on a model that can only ask its prefill side for it again."""
        from sglang.srt.disaggregation import decode

        require(callable(getattr(decode, "dsv4_needs_rebootstrap", None)), "decode.dsv4_needs_rebootstrap is gone")
        monkeypatch.setattr(decode, "dsv4_needs_rebootstrap", lambda allocator: True)

        def enqueue(req, is_rebootstrap=False):
            self.prealloc.queue.append(decode_req)
            return decode_req

        self.prealloc._create_receiver_and_enqueue = enqueue
        self.prealloc._resolve_prefill_dp_rank = lambda req: None
        self.prealloc._check_if_req_exceed_kv_capacity = lambda req: False
        self.prealloc.add(decode_req.req, is_retracted=True)

    def poll_prealloc(self) -> None:
        """One loop's look at the prealloc queue."""
        self.prealloc.pop_preallocated()

    def poll_transfer(self) -> list:
        """One loop's look at the transfer queue."""
        return self.transfer.pop_transferred()

    def pause(self) -> None:
        self.release.pause(self.scheduler)

    def resume(self) -> None:
        self.release.resume(self.scheduler)

    # -- what is seen --------------------------------------------------------------------------

    def reason(self, decode_req):
        """Return the finish reason that the client read; None if it read none or several."""
        reasons = self.streamer.reasons.get(decode_req.req.rid, [])
        return reasons[0] if len(reasons) == 1 else None

    def preallocating(self) -> list[str]:
        return [decode_req.req.rid for decode_req in self.prealloc.queue]

    def pending(self) -> list[str]:
        return [decode_req.req.rid for decode_req in self.prealloc.pending_reqs]

    def transferring(self) -> list[str]:
        return [decode_req.req.rid for decode_req in self.transfer.queue]
