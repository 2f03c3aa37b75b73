"""verify, whole process and warm: one pin against its limit, and what `--all` costs of the pins one by one.

The upstreams must be in the cache: `patchkit verify --all` once brings them.
"""

from collections.abc import Iterator

from benchmarks.table import ROOT, Cost, Row, best_of, measure, patchkit

ROUNDS = 3
ONE_PIN_S = 1.0


def verify(*names: str) -> Cost:
    """Measure `patchkit verify` of these pins."""
    return best_of(ROUNDS, lambda: measure(patchkit("--offline", "--root", str(ROOT), "verify", *names)))


def rows() -> Iterator[Row]:
    """Yield the slowest pin, and all of them in one run against one by one."""
    pins = sorted(path.name for path in (ROOT / "patches").glob("v*"))
    single = {pin: verify(pin) for pin in pins}
    slowest = max(single, key=lambda pin: single[pin].wall_s)
    yield Row(f"verify {slowest}, the slowest pin, warm", single[slowest].wall_s, limit=ONE_PIN_S)
    together = sum(cost.cpu_s for cost in single.values())
    every = verify("--all").cpu_s
    yield Row(f"verify --all ({len(pins)} pins), CPU", every, peer=together, peer_name="one by one", limit=1.0)
