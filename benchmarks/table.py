"""One measured figure as a row, how a command is measured, and the table that is printed of the rows."""

import functools
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHKIT = "from patchkit.__main__ import run; run()"  # as the installed `patchkit` starts


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process and its children took."""

    wall_s: float
    cpu_s: float
    peak_mb: float  # the largest resident size of any one of them


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    ours, peer: in `unit`. Without a peer the limit is on ours; with one it is on ours / peer.
    limit: the most that is allowed; None for a row that only informs.
    note: what was measured exactly. cause: why the limit is missed, where it is; shown only then.
    """

    what: str
    ours: float
    unit: str = "s"
    peer: float | None = None
    peer_name: str = ""
    limit: float | None = None
    note: str = ""
    cause: str = ""

    @property
    def ratio(self) -> float | None:
        """Return ours / peer, where there is a peer."""
        return None if self.peer is None else self.ours / self.peer

    @property
    def holds(self) -> bool | None:
        """Say whether the limit is kept; None without a limit."""
        if self.limit is None:
            return None
        return (self.ours if self.ratio is None else self.ratio) <= self.limit


def measure(
    command: Sequence[str], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None, allowed: Sequence[int] = (0,)
) -> Cost:
    """Run the command once, its stdout thrown away; a failure ends the benchmark with its stderr."""
    started = time.perf_counter()
    with subprocess.Popen(
        command, cwd=cwd, env=env or sealed(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as child:
        talk = child.stderr.read() if child.stderr else b""
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if child.returncode not in allowed:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}\n{talk.decode(errors='replace')}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def best_of(rounds: int, run: Callable[[], Cost]) -> Cost:
    """Return the least of each figure over some runs, after one that warms the caches."""
    return best_of_each(rounds, run)[0]


def best_of_each(rounds: int, *runs: Callable[[], Cost]) -> list[Cost]:
    """Return the same of several that take turns, so that a busy moment of the machine hits all alike."""
    for run in runs:
        run()
    costs = [[run() for run in runs] for _ in range(rounds)]
    kinds = ("wall_s", "cpu_s", "peak_mb")
    return [Cost(*(min(getattr(cost, kind) for cost in own) for kind in kinds)) for own in zip(*costs, strict=True)]


def sealed() -> dict[str, str]:
    """Return this environment without git's and Python's variables, with this patchkit on the path."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PYTHON"))}
    return {**kept, "PYTHONPATH": str(ROOT), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def patchkit(*arguments: str) -> list[str]:
    """Return the command line of patchkit with these arguments."""
    return [sys.executable, "-c", PATCHKIT, *arguments]


@functools.cache
def machine() -> str:
    """Return what the figures were measured on: processor, cores, system, Python and git."""
    model = platform.processor() or platform.machine()
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    git = subprocess.run(["git", "version"], stdout=subprocess.PIPE, check=True, text=True).stdout.split()[2]
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, {platform.system()}, Python {platform.python_version()}, git {git}"


def figure(value: float | None, unit: str = "") -> str:
    """Return a number as a table shows it: three digits that mean something."""
    if value is None:
        return ""
    if unit == "s" and value < 1:
        return f"{value * 1000:.0f} ms"
    text = f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return f"{text} {unit}".rstrip()


HEADINGS = ("benchmark", "what", "ours", "peer", "ratio", "limit", "holds?", "note", "machine")


def cells(row: Row) -> tuple[str, ...]:
    """Return the row's cells, in the order of HEADINGS without the first and the last."""
    peer = f"{figure(row.peer, row.unit)} ({row.peer_name})" if row.peer is not None else ""
    limit = figure(row.limit, row.unit if row.peer is None else "x")
    holds = {None: "", True: "yes", False: "NO"}[row.holds]
    note = "; ".join(filter(None, (row.note, row.cause if row.holds is False else "")))
    return (row.what, figure(row.ours, row.unit), peer, figure(row.ratio, "x"), limit, holds, note)


def as_markdown(measured: Mapping[str, Sequence[Row]], *, former: str = "") -> str:
    """Return the table as Markdown. former: the table as it was; its rows of other benchmarks stay."""
    lines = {name: [_line(name, row) for row in rows] for name, rows in measured.items()}
    for line in former.splitlines():
        name = line.removeprefix("| ").partition(" |")[0]
        if line.startswith("| ") and name not in measured and name != HEADINGS[0]:
            lines.setdefault(name, []).append(line)
    head = [f"| {' | '.join(HEADINGS)} |", "|---|---|--:|--:|--:|--:|---|---|---|"]
    return "\n".join([*head, *(line for name in sorted(lines) for line in lines[name])]) + "\n"


def _line(name: str, row: Row) -> str:
    return f"| {' | '.join((name, *cells(row), machine()))} |"


def as_text(row: Row) -> str:
    """Return one row for a terminal: what was measured, then the figures below it, within 80 columns."""
    what, ours, peer, ratio, limit, holds, note = cells(row)
    verdict = {"": "", "yes": "holds", "NO": "MISSED"}[holds]
    against = f" against {peer} = {ratio}" if peer else ""
    asked = f"  (limit {limit}: {verdict})" if limit else ""
    return f"{what}\n    {ours}{against}{asked}" + (f"\n    {note}" if note else "")
