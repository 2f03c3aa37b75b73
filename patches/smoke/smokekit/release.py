"""The adapter: everything that differs between sglang releases, by release range.

Tests and builders name things once; what a release calls them stands here. A symbol that is
gone raises AttributeError or ImportError, which is drift (outcome.py).
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from array import array
from collections import defaultdict
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from smokekit import fakes
from smokekit.events import EventLog
from smokekit.outcome import require
from smokekit.versions import key_of

MODULES = (
    "sglang.srt.managers.scheduler",
    "sglang.srt.managers.tokenizer_manager",
    "sglang.srt.disaggregation.prefill",
    "sglang.srt.disaggregation.decode",
    "sglang.srt.disaggregation.fake.conn",
    "sglang.srt.disaggregation.mooncake.conn",
    "sglang.srt.disaggregation.nixl.conn",
)


class Release:
    """One release of sglang, seen through what the tests need."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.key = key_of(version)

    def at_least(self, version: str) -> bool:
        return self.key >= key_of(version)

    def load(self) -> None:
        """Import all that the tests drive: forked ranks share it, and replaced functions reach it.

        A module that is gone is the business of the test that needs it.
        """
        for module in MODULES:
            with suppress(ImportError):
                importlib.import_module(module)

    @property
    def states(self) -> type:
        from sglang.srt.disaggregation.base import KVPoll

        return KVPoll

    # -- finish reasons ------------------------------------------------------------------------

    def abort_reason(self, *args):
        """Return a FINISH_ABORT(message, status, type); without arguments a plain client abort."""
        from sglang.srt.managers.schedule_batch import FINISH_ABORT

        return FINISH_ABORT(*args)

    def is_abort(self, reason) -> bool:
        from sglang.srt.managers.schedule_batch import FINISH_ABORT

        return isinstance(reason, FINISH_ABORT)

    # -- requests ------------------------------------------------------------------------------

    def new_request(self, rid: str, room: int, *, tokens: int, mode: str):
        """Return a real request that holds no KV yet."""
        from sglang.srt.disaggregation.utils import DisaggregationMode
        from sglang.srt.managers.schedule_batch import Req
        from sglang.srt.sampling.sampling_params import SamplingParams

        ids = array("q", range(tokens)) if self.at_least("0.5.16") else list(range(tokens))
        req = Req(
            rid,
            "",
            ids,
            SamplingParams(max_new_tokens=1),
            bootstrap_host="10.0.0.1",
            bootstrap_port=8998,
            bootstrap_room=room,
            disagg_mode=DisaggregationMode(mode),
        )
        req.tokenizer = None
        return req

    def stamp(self, req, stage: str, when: float) -> None:
        """Set when the request entered a stage; 0.0 is "never"."""
        require(hasattr(req.time_stats, stage), f"time_stats.{stage} is gone")
        setattr(req.time_stats, stage, when)

    def give_kv(self, req) -> None:
        """Let the request own row 0 of the request pool, as after a prefill."""
        if self.at_least("0.5.19"):
            req.kv.req_pool_idx = 0
            req.kv.kv_allocated_len = len(req.origin_input_ids)
        else:
            req.req_pool_idx = 0
        if self.at_least("0.5.21"):
            req.prefix_len, req.extend_end = 0, len(req.origin_input_ids)
        elif self.at_least("0.5.15"):
            req.set_extend_range(0, len(req.origin_input_ids))
        elif self.at_least("0.5.13"):
            req.fill_len = len(req.origin_input_ids)
        else:
            req.fill_ids = list(req.origin_input_ids)

    def take_kv(self, req) -> None:
        if self.at_least("0.5.19"):
            req.kv.req_pool_idx = None
            req.kv.mark_kv_released()
        else:
            req.req_pool_idx = None

    def expect_bootstrap(self, req) -> None:
        """Mark a prefill request as one whose decode side has not answered."""
        if self.at_least("0.5.13"):
            req.pending_bootstrap = True

    @property
    def middle_chunks(self) -> str:
        """The counter of a request's prefill chunks that are still to come back."""
        return "inflight_middle_chunks" if self.at_least("0.5.13") else "is_chunked"

    def set_last_batch(self, scheduler, batch) -> None:
        """Make the batch the one that an abort looks at beside the running batch."""
        scheduler.last_batch = batch
        if not self.at_least("0.5.16"):
            scheduler.cur_batch = batch

    def input_logprobs(self, req) -> list[object]:
        """Return what the request would answer for the logprobs of its prompt."""
        holder = req.logprob if self.at_least("0.5.13") else req
        return [
            getattr(holder, f"input_{kind}_{part}")
            for kind in ("token_logprobs", "top_logprobs", "token_ids_logprobs")
            for part in ("val", "idx")
        ]

    def watch_logprobs(self, scheduler, starts: dict[str, int]) -> None:
        """Note at which row of the batch's input logprobs each request's own begin."""

        def add(i, req, logprob_pt, *args, **kwargs) -> None:
            starts[req.rid] = logprob_pt

        if self.at_least("0.5.13"):
            processor = SimpleNamespace(add_logprob_return_values=add)
            scheduler.batch_result_processor.logprob_result_processor = processor
        else:
            scheduler.add_logprob_return_values = add

    # -- what surrounds a scheduler ------------------------------------------------------------

    def new_cache(self, log: EventLog) -> fakes.FakeCache:
        return fakes.CacheByHandle(log) if self.at_least("0.5.20") else fakes.CacheByRid(log)

    def connect(self, scheduler, streamer, tokenizer, metrics) -> None:
        """Give a bare scheduler its way out: output stream, tokenizer channel, metrics, ranks."""
        scheduler.metrics_collector = metrics
        if not self.at_least("0.5.16"):
            scheduler.cur_batch = None
        if self.at_least("0.5.16"):
            scheduler.dllm_config = None
        if self.at_least("0.5.20"):
            scheduler.scheduler_stage_metrics = None
            scheduler.mm_receiver = None
            scheduler.beam_coordinator = fakes.Quiet()
            scheduler.disagg_prefill_pending_chunk_rids = set()
            scheduler.enable_staging = False
            scheduler.enable_lora = False
            scheduler.return_health_check_ipcs = []
            scheduler.processed_tokens_counter = 0
        if self.at_least("0.5.21"):
            scheduler.enable_continuous_input_polling = False
            scheduler.rust_server = None
            scheduler._pause_started_at = None
            scheduler._pause_intervals = []
        if self.at_least("0.5.13"):
            scheduler.output_streamer = streamer
            scheduler.ipc_channels = SimpleNamespace(send_to_tokenizer=tokenizer)
            scheduler.metrics_reporter = fakes.Quiet()
            scheduler.metrics_reporter.enable_metrics = True
            scheduler.batch_result_processor = fakes.Quiet()
            if not self.at_least("0.5.21"):
                scheduler.ps = SimpleNamespace(tp_rank=0, tp_size=1, pp_rank=0, pp_size=1)
        else:
            scheduler.stream_output = streamer.stream_output
            scheduler.send_to_tokenizer = tokenizer
            scheduler.enable_metrics = True
            scheduler.report_prefill_stats = lambda **stats: None
            scheduler.tp_rank = scheduler.pp_rank = 0

    def set_no_kv_memory(self, prealloc_queue) -> None:
        """Let the prealloc queue find no memory: nothing is preallocated, all else runs."""
        prealloc_queue._uses_swa_tail_prealloc = lambda: False
        prealloc_queue._allocatable_token_budgets = lambda **budget: 0

    def pause(self, scheduler) -> None:
        from sglang.srt.managers.io_struct import PauseGenerationReqInput

        scheduler.pause_generation(PauseGenerationReqInput(mode="in_place"))

    def resume(self, scheduler) -> None:
        from sglang.srt.managers.io_struct import ContinueGenerationReqInput

        scheduler.continue_generation(ContinueGenerationReqInput(torch_empty_cache=False))

    def finish_prefill(self, scheduler, queue) -> None:
        """Set what only some releases' bootstrap queues read."""
        if self.at_least("0.5.20"):
            queue.scheduler_stage_metrics = None
        if self.at_least("0.5.21"):
            queue.max_input_len = queue.max_total_num_tokens
        else:
            queue.gloo_group = scheduler.tp_cpu_group
            queue.tp_rank, queue.tp_size = 0, 1

    def finish_decode(self, scheduler, prealloc, transfer) -> None:
        """Set what only some releases' decode schedulers and queues read."""
        import torch

        if self.at_least("0.5.13"):
            scheduler.enable_decode_hicache = False
            prealloc._hicache_pending_restore_tokens = lambda: 0
        if self.at_least("0.5.16"):
            prealloc.held_rebootstrap_reqs = []
        if self.at_least("0.5.17"):
            prealloc.pp_size = 1
        if self.at_least("0.5.20"):
            prealloc._prefill_dp_rank_queries = {}
            transfer._deferred_releases = []
            transfer.enable_deferred_kv_release = False
        if self.at_least("0.5.21"):
            transfer.enable_host_receive = False
            prealloc.token_to_kv_pool_allocator = SimpleNamespace(
                page_size=1,
                prealloc_fits_assumes_reclaim=lambda: False,
                prealloc_fits=lambda *tokens, **budget: False,
            )
        if self.at_least("0.5.13"):
            # the room written in each metadata slot; a slot that is freed is wiped
            transfer.metadata_buffers.bootstrap_room = torch.zeros((8, 8), dtype=torch.int64)

    def set_context(self, monkeypatch) -> None:
        """Answer for the runtime context, from which later releases read sizes and settings."""
        if not self.at_least("0.5.17"):
            return
        sections = {
            "get_parallel": {
                "tp_rank": 0,
                "tp_size": 1,
                "pp_rank": 0,
                "pp_size": 1,
                "dp_size": 1,
                "num_dp_ranks": 1,
                "enable_kv_cache_sharding": False,
                "tp_group": SimpleNamespace(cpu_group=None),
            },
            "get_disagg": {
                "optimistic_prefill_attempts": 0,
                "disaggregation_decode_enable_radix_cache": False,
                "disaggregation_decode_allocation_policy": "eager",
                "disaggregation_decode_host_receive_threshold": 1.0,
            },
            "get_observability": {"enable_trace": False},
            "get_serving": {"weight_version": "default"},
            "get_lora": {"enable_lora": True},
        }
        for name, values in sections.items():
            section = SimpleNamespace(**values)
            replace_everywhere(monkeypatch, "sglang.srt.runtime_context", name, lambda section=section: section)

    def enable_lora(self, tokenizer_manager) -> None:
        tokenizer_manager.enable_lora = True
        tokenizer_manager.child_rid_to_logical_rid = {}
        tokenizer_manager._lora_release_tasks = set()
        tokenizer_manager.server_args = SimpleNamespace(enable_lora=True)

    def new_prefetch(self, rid: str, node, *, tokens: int) -> tuple[object, tuple[object, ...]]:
        """Return a prefetch operation under way and the cache's entry for it."""
        import torch
        from sglang.srt.managers.cache_controller import PrefetchOperation

        indices, key = torch.arange(tokens), list(range(tokens))
        if self.at_least("0.5.16"):
            operation = PrefetchOperation(rid, key)
            operation.host_indices = indices
            return operation, (node, key, operation)
        operation = PrefetchOperation(rid, indices, key)
        return operation, (node, key, indices, operation)

    def release_prefetch(self, cache, rid: str) -> None:
        if self.at_least("0.5.20"):
            cache.release_aborted_request(SimpleNamespace(rid=rid))
        else:
            cache.release_aborted_request(rid)

    # -- pauses --------------------------------------------------------------------------------

    @property
    def polls_bootstrap_while_paused(self) -> bool:
        """Whether the prefill loop looks at its bootstrap queue before it tests for a pause."""
        return not self.at_least("0.5.16")

    # -- memory --------------------------------------------------------------------------------

    def new_memory_owner(self, scheduler):
        """Return what has release_memory_occupation and resume_memory_occupation."""
        if self.at_least("0.5.13"):
            scheduler.init_weight_updater()
            return scheduler.weight_updater
        scheduler.offload_tags = set()
        return scheduler

    # -- transfer backends -----------------------------------------------------------------------

    def backend_classes(self, name: str) -> tuple[type, type]:
        """Return the sender and manager class of a transfer backend."""
        if name == "mooncake":
            from sglang.srt.disaggregation.mooncake import conn

            return conn.MooncakeKVSender, conn.MooncakeKVManager
        from sglang.srt.disaggregation.nixl import conn

        return conn.NixlKVSender, conn.NixlKVManager

    def finish_manager(self, manager, backend: str) -> None:
        """Set what only some releases' managers have."""
        if backend == "mooncake":
            if self.at_least("0.5.13"):
                manager.enable_trace = False
            if self.at_least("0.5.21"):
                manager.state_layout_rejections = {}
        elif not self.at_least("0.5.21"):
            manager.exceptions = {}
        if self.at_least("0.5.16"):
            manager.is_hybrid_mla_backend = False
        if self.at_least("0.5.18"):
            manager._staging_outstanding = defaultdict(int)
            manager.enable_deferred_decode_kv_release = False
        if self.at_least("0.5.21"):
            manager.deferred_bootstrap = None
            manager.sender_trace_module = None
            manager._deferred_ack_targets = {}
            manager._deferred_ack_poisoned_rooms = set()

    def new_sender(self, sender_class: type, manager, room: int):
        return sender_class(manager, "10.0.0.1:8998", room, *self.sender_ranks)

    @property
    def sender_ranks(self) -> tuple[object, ...]:
        """A sender's arguments that name ranks: destination ranks and pipeline rank."""
        return () if self.at_least("0.5.21") else ([0], 0)

    def new_fake_sender(self, room: int):
        """Return the sender that the release uses for requests of the fake bootstrap host."""
        from sglang.srt.disaggregation.fake.conn import FakeKVSender

        return FakeKVSender(None, "2.2.2.2:8998", room, *self.sender_ranks)

    def new_transfer_info(self, room: int, session: str):
        import numpy as np
        from sglang.srt.disaggregation.mooncake.conn import TransferInfo

        return TransferInfo(
            room=room,
            endpoint="10.0.0.2",
            dst_port=5000,
            mooncake_session_id=session,
            dst_kv_indices=np.arange(4, dtype=np.int32),
            dst_aux_index=0,
            dst_state_indices=[],
            required_dst_info_num=1,
            is_dummy=False,
        )

    def new_decode_registration(self):
        """Return what a decode rank said of itself when it registered."""
        return SimpleNamespace(
            dst_kv_ptrs=[],
            dst_aux_ptrs=[],
            dst_attn_tp_size=1,
            dst_tp_rank=0,
            dst_kv_item_len=1,
            dst_kv_layer_ids=[],
            enable_hisparse=False,
            requires_dcp_relayout=False,
            staging=None,
        )

    def new_last_chunk(self, room: int):
        import numpy as np

        if self.at_least("0.5.15"):
            from sglang.srt.disaggregation.common.utils import TransferKVChunk
        else:
            from sglang.srt.disaggregation.mooncake.conn import TransferKVChunk
        return TransferKVChunk(
            room=room,
            prefill_kv_indices=np.arange(4, dtype=np.int32),
            index_slice=slice(0, 4),
            is_last_chunk=True,
            prefill_aux_index=0,
            state_indices=[np.arange(1)],
        )

    def watch_status_messages(self, manager, log: EventLog) -> None:
        """Log each terminal state that the manager tells a decode rank."""

        def sync(endpoint, port, room, status, rank) -> None:
            log.add("decode-told", (room, status))

        def send(*, targets, bootstrap_room, status, failure_reason=None) -> None:
            for _ in targets:
                log.add("decode-told", (bootstrap_room, status))

        name, value = (
            ("send_kv_status_message", send) if self.at_least("0.5.20") else ("sync_status_to_decode_endpoint", sync)
        )
        require(hasattr(manager, name), f"{type(manager).__name__}.{name} is gone")
        setattr(manager, name, value)

    def watch_kv(self, monkeypatch, log: EventLog) -> None:
        """Replace the two functions that move KV in and out of the tree by log entries."""

        def release_kv_cache(req, tree_cache, *args, **kwargs) -> None:
            log.add("kv-released", req.rid)
            self.take_kv(req)

        def cache_kv(req, tree_cache, *args, **kwargs) -> None:
            log.add("kv-cached", req.rid)

        home = "sglang.srt.mem_cache.common"
        replace_everywhere(monkeypatch, home, "release_kv_cache", release_kv_cache)
        name = "checkpoint_kv_cache" if self.at_least("0.5.21") else "maybe_cache_unfinished_req"
        replace_everywhere(monkeypatch, home, name, cache_kv)


def require_known(*objects: object) -> None:
    """Raise Drift if the harness gave an object an attribute that its release does not.

    A made-up attribute would hide a stale name: a hunk that reads `self.tp_rank` where the
    release has `self.ps.tp_rank` must fail here as it would in service.
    """
    for thing in objects:
        known = set(dir(type(thing))) | assigned_names(type(thing))
        made_up = sorted(set(vars(thing)) - known)
        require(not made_up, f"{type(thing).__name__} of this release has no {', '.join(made_up)}")


@cache
def assigned_names(cls: type) -> frozenset[str]:
    """Return the attributes that the files of a class and its bases assign to self."""
    files = {inspect.getsourcefile(base) for base in cls.__mro__ if base.__module__.startswith("sglang.")}
    return frozenset().union(*(names_assigned_in(file) for file in files if file))


@cache
def names_assigned_in(file: str) -> frozenset[str]:
    stored = (node for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))) if isinstance(node, ast.Attribute))
    return frozenset(
        node.attr
        for node in stored
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def replace_everywhere(monkeypatch, home: str, name: str, value) -> None:
    """Replace a function in the module that has it and in each that has imported it."""
    original = getattr(importlib.import_module(home), name)
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("sglang.") and vars(module).get(name) is original:
            monkeypatch.setattr(module, name, value)
