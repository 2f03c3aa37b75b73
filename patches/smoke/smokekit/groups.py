"""Process groups without a network: the polls' all-reduce runs for real over gloo."""

from __future__ import annotations

import os


def stay_on_loopback() -> None:
    """Keep gloo from resolving this host's name: without a network that fails, or takes long."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"


def one_rank_group():
    """Return the process-wide gloo group; of a single rank unless smokekit.ranks made it."""
    import torch.distributed as dist

    if not dist.is_initialized():
        stay_on_loopback()
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    return dist.group.WORLD
