"""The real hierarchical cache with one prefetch from storage under way, without its pools."""

from __future__ import annotations

import queue
from types import SimpleNamespace

from smokekit.events import EventLog
from smokekit.release import Release

RID = "a"


class StorageCache:
    """A HiRadixCache and its controller without their constructors."""

    def __init__(self, release: Release, *, prefetching: int, limit: int) -> None:
        from sglang.srt.managers.cache_controller import HiCacheController
        from sglang.srt.mem_cache.hiradix_cache import HiRadixCache

        self.under_test = release
        self.log = EventLog()
        self.controller = HiCacheController.__new__(HiCacheController)
        self.controller.host_memory_mode = "cache"
        self.controller.prefetch_tokens_occupied = prefetching
        self.controller.prefetch_capacity_limit = limit
        self.controller.mem_pool_host = SimpleNamespace(page_size=1)
        self.controller.host_mem_release_queue = queue.Queue()
        self.cache = HiRadixCache.__new__(HiRadixCache)
        self.cache.cache_controller = self.controller
        self.cache.prefetch_loaded_tokens_by_reqid = {RID: 3}
        self.cache.attn_cp_group = self.cache.attn_tp_group = None
        self.cache.tp_world_size = 1
        node = SimpleNamespace(release_host=lambda: self.log.add("node-released", RID))
        self.operation, entry = release.new_prefetch(RID, node, tokens=prefetching)
        self.cache.ongoing_prefetch = {RID: entry}

    def release(self, rid: str) -> None:
        self.under_test.release_prefetch(self.cache, rid)

    def is_closed(self) -> bool:
        """Say whether new prefetches are refused."""
        return self.controller.prefetch_rate_limited()
