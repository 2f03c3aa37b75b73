"""verify, whole process and warm: one pin against its target, and how --all grows, in one run.

    python benchmarks/verify.py [--rounds 5] [--root DIR]

The upstreams must be in the cache: `patchkit verify --all` once brings them. Seconds of wall clock and of CPU, the
children's too; on a busy machine CPU is the one to compare.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TARGET_S = 1.0


@dataclass(frozen=True)
class Cost:
    """Seconds of one process and its children."""

    wall: float
    cpu: float


def run_once(command: list[str]) -> Cost:
    """Run the command once; a failure stops the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def best(command: list[str], rounds: int) -> Cost:
    """Return the median of some runs, after one that warms the caches."""
    run_once(command)
    costs = [run_once(command) for _ in range(rounds)]
    return Cost(statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    options = parser.parse_args()
    patchkit = [sys.executable, "-m", "patchkit", "--offline", "--root", str(options.root), "verify"]
    os.chdir(Path(__file__).parent.parent)
    pins = sorted(path.name for path in (options.root / "patches").glob("v*"))
    click = best([sys.executable, "-c", "import click"], options.rounds)
    print(f"{'command':<34} {'wall':>7} {'CPU':>7}")
    print(f"{'python -c import click':<34} {click.wall:7.2f} {click.cpu:7.2f}")
    single = {pin: best([*patchkit, pin], options.rounds) for pin in pins}
    for pin, cost in single.items():
        print(f"{f'patchkit verify {pin}':<34} {cost.wall:7.2f} {cost.cpu:7.2f}")
    every = best([*patchkit, "--all"], options.rounds)
    print(f"{f'patchkit verify --all ({len(pins)} pins)':<34} {every.wall:7.2f} {every.cpu:7.2f}")
    together = sum(cost.cpu for cost in single.values())
    slowest = max(cost.wall for cost in single.values())
    share = every.cpu / together
    print(f"\nslowest pin: {slowest:.2f} s, target {TARGET_S:.2f} s; --all costs {share:.2f} of the pins alone")


if __name__ == "__main__":
    main()
