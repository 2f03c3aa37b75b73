"""Runs the smoke tests once for each line on stdin, in a fork that has the heavy imports behind it.

Started by tests.mutants with the runtime's own Python: PYTHON tests/mutant_runner.py TREE SMOKE. A line of stdin is
JSON: {"folders": [...], "deadline_s": 120}; the answer is JSON: {"status": 1, "failed": "test name", "seconds": 3.2}.
TREE holds python/sglang as it is to be tested at that moment; nothing of it is imported before the fork.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path

# What a child would import first. transformers is not here: it probes for packages that the tests stub afterwards.
_HEAVY = ("torch", "torch.distributed", "torch._dynamo", "torch._inductor", "numpy", "networkx", "triton", "sympy")


def main(tree: Path, smoke: Path) -> None:
    """Serve until stdin ends."""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(smoke), str(tree / "python")]
    os.chdir(smoke)
    for name in _HEAVY:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line), smoke)), file=answers, flush=True)


def _run(request: dict[str, object], smoke: Path) -> dict[str, object]:
    started = time.monotonic()
    report = smoke.parent / "mutant-report.txt"
    child = os.fork()
    if child == 0:
        os.setsid()
        out = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        import pytest

        options = ["-x", "-q", "-p", "no:cacheprovider", f"--rootdir={smoke}", "-c", str(smoke / "pytest.ini")]
        status = int(pytest.main([*options, *map(str, request["folders"])]))  # type: ignore[call-overload]
        sys.stdout.flush()
        os._exit(status)
    status = _wait(child, started + float(str(request["deadline_s"])))
    failed = [
        line for line in report.read_text("utf-8", "replace").splitlines() if line.startswith(("FAILED", "ERROR"))
    ]
    name = failed[0].split(" ")[1] if failed else ""
    return {"status": status, "failed": name, "seconds": round(time.monotonic() - started, 1)}


def _wait(child: int, deadline: float) -> int:
    """Return the child's status; -1 when its deadline passed and its group was ended."""
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
