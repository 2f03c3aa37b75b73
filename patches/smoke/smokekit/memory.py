"""release_memory_occupation and resume_memory_occupation with a real kv manager on a fake engine."""

from __future__ import annotations

from types import SimpleNamespace

from smokekit.events import EventLog
from smokekit.release import Release
from smokekit.transfer import Backend

KV, GRAPH = "kv_cache", "cuda_graph"
BUFFERS = {11, 22, 33}  # kv, aux and state memory of smokekit.transfer.Backend


class FakeSaver:
    """The memory saver: gives GPU memory back and takes it again."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    def pause(self, tag: str) -> None:
        self.log.add("memory-paused", tag)

    def resume(self, tag: str) -> None:
        self.log.add("memory-resumed", tag)


class Occupation:
    """The memory of one scheduler (smokekit.prefill.Prefill or smokekit.decode.Decode)."""

    def __init__(self, release: Release, rank) -> None:
        self.release_under_test = release
        self.log = rank.log
        self.rank = rank
        self.is_idle = True
        scheduler = rank.scheduler
        scheduler.memory_saver_adapter = FakeSaver(self.log)
        scheduler.flush_cache = lambda *args, **kwargs: True
        scheduler.is_fully_idle = lambda *args, **kwargs: self.is_idle
        scheduler._engine_paused = False
        scheduler.tp_worker = scheduler.draft_worker = None
        self.updater = release.new_memory_owner(scheduler)

    def use_manager(self, manager) -> None:
        self.rank.set_manager(manager)

    def use_mooncake(self) -> None:
        """Let the queues hold a real mooncake manager whose engine notes what is registered."""
        self.use_manager(Backend(self.release_under_test, "mooncake", self.log).manager)

    def release(self, *tags: str) -> None:
        self.updater.release_memory_occupation(SimpleNamespace(tags=list(tags)))

    def resume(self, *tags: str) -> None:
        self.updater.resume_memory_occupation(SimpleNamespace(tags=list(tags)))

    def buffers(self, what: str) -> list[object]:
        return [event.who for event in self.log if event.what == what]

    def order(self) -> list[str]:
        """Return what happened to memory and buffers, repetitions in a row left out."""
        steps: list[str] = []
        for what, _ in self.log:
            if what.split("-")[0] in ("memory", "registered", "deregistered") and steps[-1:] != [what]:
                steps.append(what)
        return steps
