"""The real transfer backends' managers and senders without their engines and threads."""

from __future__ import annotations

import threading
from collections import defaultdict
from types import SimpleNamespace

from smokekit.events import EventLog
from smokekit.outcome import Drift
from smokekit.release import Release, require_known

SESSION = "decode:1"


class Stop(Exception):
    """Ends the endless loop of a transfer worker."""


class OneChunk:
    """A worker's queue that holds one chunk."""

    def __init__(self, chunk) -> None:
        self.chunks = [chunk]

    def get(self):
        if not self.chunks:
            raise Stop("no more chunks")
        return self.chunks.pop()


class FakeEngine:
    """A transfer engine that notes which memory is registered."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    def batch_register(self, ptrs, lengths) -> int:
        for ptr in ptrs:
            self.log.add("registered", ptr)
        return 0

    def batch_deregister(self, ptrs) -> int:
        for ptr in ptrs:
            self.log.add("deregistered", ptr)
        return 0


class Backend:
    """The real manager of one backend on the prefill side, with nothing behind it."""

    def __init__(self, release: Release, name: str, log: EventLog) -> None:
        self.release = release
        self.log = log
        self.states = release.states
        self.sender_class, manager_class = release.backend_classes(name)
        self.manager = manager_class.__new__(manager_class)
        self.set_state(name)

    def set_state(self, name: str) -> None:
        manager = self.manager
        manager.request_status = {}
        manager.failure_records = {}
        manager.failure_lock = threading.Lock()
        manager.transfer_infos = {}
        manager.req_to_decode_prefix_len = {}
        manager.decode_kv_args_table = {}
        manager.bootstrap_timeout = 300
        manager.bootstrap_port = 8998
        manager.is_dummy_cp_rank = False
        manager.enable_all_cp_ranks_for_transfer = False
        manager.is_mla_backend = True
        manager.enable_staging = False
        manager.server_args = SimpleNamespace(dp_size=1, load_balance_method="round_robin", enable_trace=False)
        manager.attn_tp_size = manager.attn_cp_size = manager.pp_size = 1
        manager.attn_tp_rank = manager.attn_cp_rank = manager.pp_rank = manager.attn_dp_rank = 0
        manager.kv_item_lens_sum = manager.state_item_lens_sum = 1
        manager.kv_args = SimpleNamespace(
            kv_data_ptrs=[11],
            kv_data_lens=[1],
            aux_data_ptrs=[22],
            aux_data_lens=[1],
            state_data_ptrs=[[33]],
            state_data_lens=[[1]],
            state_types=[],
        )
        if name == "mooncake":
            manager.engine = FakeEngine(self.log)
            manager.session_lock = threading.Lock()
            manager.session_failures = defaultdict(int)
            manager.failed_sessions = set()
        self.release.finish_manager(manager, name)
        require_known(manager)

    def new_sender(self, room: int, status: int):
        """Return a real sender whose room has reached the status."""
        sender = self.release.new_sender(self.sender_class, self.manager, room)
        self.manager.request_status[room] = status
        return sender

    def expect(self, room: int) -> None:
        """Let one decode rank wait for the room's KV."""
        info = self.release.new_transfer_info(room, SESSION)
        self.manager.transfer_infos[room] = {SESSION: info}
        self.manager.decode_kv_args_table[SESSION] = self.release.new_decode_registration()

    def run_worker(self, room: int, *, send_kv=None, send_state=None, send_aux=None) -> None:
        """Let the real worker send the room's last chunk.

        Each send_* stands for the network: it may act, and returns 0 for success.
        """
        manager = self.manager
        manager.send_kvcache = lambda *args, **kwargs: send_kv() if send_kv else 0
        manager.maybe_send_extra = lambda *args, **kwargs: send_state() if send_state else 0
        manager.send_aux = lambda *args, **kwargs: send_aux() if send_aux else 0
        self.release.watch_status_messages(manager, self.log)
        chunk = self.release.new_last_chunk(room)
        try:
            manager.transfer_worker(OneChunk(chunk), None)
        except RuntimeError as error:
            if "no more chunks" not in str(error):
                raise Drift(f"the transfer worker ended: {error}") from error

    def told_decode(self, room: int) -> list[int]:
        """Return the states that the decode side was told, in order."""
        return [who[1] for what, who in self.log if what == "decode-told" and who[0] == room]
