"""Two tensor-parallel ranks as two processes with a real gloo group between them.

The processes are forked, so sglang is imported once. That needs a parent without a process
group and without torch worker threads: conftest.py runs these tests before all others.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from smokekit.groups import stay_on_loopback
from smokekit.outcome import require

DEADLINE_S = 30.0
PEER_DEADLINE = timedelta(seconds=8)  # how long a rank waits in a collective for the other


@dataclass(frozen=True)
class RankEnd:
    """How one rank ended: with a result, or with the text of what stopped it."""

    result: object = None
    error: str = ""


def serve_rank(rank: int, rendezvous: Path, work: Callable[[int], object], answer) -> None:
    import torch.distributed as dist

    try:
        stay_on_loopback()
        store = dist.FileStore(str(rendezvous), 2)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=PEER_DEADLINE)
        answer.send(RankEnd(result=work(rank)))
    except Exception:
        answer.send(RankEnd(error=traceback.format_exc(limit=-4)))
    finally:
        os._exit(0)  # what else this process holds is the parent's to clean up


def run_two_ranks(work: Callable[[int], object]) -> tuple[RankEnd, RankEnd]:
    """Run work(rank) on both ranks at the same time and return how each ended."""
    import torch.distributed as dist

    require(not dist.is_initialized(), "this process has a process group already")
    context = multiprocessing.get_context("fork")
    deadline = time.monotonic() + DEADLINE_S
    ends = []
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        answers = []
        for rank in (0, 1):
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=serve_rank, args=(rank, Path(folder) / "rendezvous", work, send))
            process.start()
            send.close()
            processes.append(process)
            answers.append(receive)
        for answer in answers:
            try:
                answered = answer.poll(max(0.0, deadline - time.monotonic()))
                ends.append(answer.recv() if answered else RankEnd(error=f"no answer within {DEADLINE_S:g} s"))
            except EOFError:
                ends.append(RankEnd(error="the process died"))
        for process in processes:
            process.join(timeout=1.0)
            if process.is_alive():
                process.kill()
                process.join()
    return ends[0], ends[1]
