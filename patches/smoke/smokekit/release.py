"""The adapter: everything that differs between sglang releases, by release range.

Tests and builders name things once; what a release calls them stands here. A symbol that is
gone raises AttributeError or ImportError, which is drift (outcome.py).
"""

from __future__ import annotations

import sys
from array import array
from types import SimpleNamespace

from smokekit import fakes
from smokekit.events import EventLog
from smokekit.outcome import require
from smokekit.versions import key_of


class Release:
    """One release of sglang, seen through what the tests need."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.key = key_of(version)

    def at_least(self, version: str) -> bool:
        return self.key >= key_of(version)

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
        req.req_pool_idx = 0
        req.fill_ids = list(req.origin_input_ids)

    def take_kv(self, req) -> None:
        req.req_pool_idx = None

    @property
    def middle_chunks(self) -> str:
        """The counter of a request's prefill chunks that are still to come back."""
        return "inflight_middle_chunks" if self.at_least("0.5.13") else "is_chunked"

    def set_last_batch(self, scheduler, batch) -> None:
        """Make the batch the one that an abort looks at beside the running batch."""
        scheduler.last_batch = batch
        if not self.at_least("0.5.16"):
            scheduler.cur_batch = batch

    # -- what surrounds a scheduler ------------------------------------------------------------

    def new_cache(self, log: EventLog) -> fakes.FakeCache:
        return fakes.CacheByHandle(log) if self.at_least("0.5.20") else fakes.CacheByRid(log)

    def connect(self, scheduler, streamer, tokenizer, metrics) -> None:
        """Give a bare scheduler its way out: output stream, tokenizer channel, metrics, ranks."""
        scheduler.metrics_collector = metrics
        if self.at_least("0.5.13"):
            scheduler.output_streamer = streamer
            scheduler.ipc_channels = SimpleNamespace(send_to_tokenizer=tokenizer)
            scheduler.metrics_reporter = fakes.Quiet()
            scheduler.metrics_reporter.enable_metrics = True
            scheduler.batch_result_processor = fakes.Quiet()
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

    def set_context(self, monkeypatch) -> None:
        """Answer for the runtime context (parallel sizes, settings), where a release has one."""

    def watch_kv(self, monkeypatch, log: EventLog) -> None:
        """Replace the two functions that move KV in and out of the tree by log entries."""

        def release_kv_cache(req, tree_cache, *args, **kwargs) -> None:
            log.add("kv-released", req.rid)
            self.take_kv(req)

        def cache_kv(req, tree_cache, *args, **kwargs) -> None:
            log.add("kv-cached", req.rid)

        replace_everywhere(monkeypatch, "release_kv_cache", release_kv_cache)
        name = "checkpoint_kv_cache" if self.at_least("0.5.21") else "maybe_cache_unfinished_req"
        replace_everywhere(monkeypatch, name, cache_kv)


def replace_everywhere(monkeypatch, name: str, value) -> None:
    """Replace a function of mem_cache/common.py in each module that has imported it."""
    from sglang.srt.mem_cache import common

    original = getattr(common, name)
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("sglang.") and vars(module).get(name) is original:
            monkeypatch.setattr(module, name, value)
