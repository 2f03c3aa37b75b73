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

_RELEASED = ("sglang", "smokekit", "conftest", "sgl_kernel", "xgrammar")  # never kept over a fork: stubs, or under test


def main(tree: Path, smoke: Path) -> None:
    """Serve until stdin ends."""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(smoke), str(tree / "python")]
    os.chdir(smoke)
    for name in _heavy_modules():
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line), smoke)), file=answers, flush=True)


def _heavy_modules() -> list[str]:
    """Return what sglang imports of other packages, as a child that imports it sees it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(Exception):
            importlib.import_module("smokekit.stubs").install()
            for name in ("managers.scheduler", "managers.tokenizer_manager", "disaggregation.decode"):
                importlib.import_module(f"sglang.srt.{name}")
        names = [name for name in sys.modules if name.partition(".")[0] not in _RELEASED]
        os.write(writer, "\n".join(names).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        names = stream.read().split("\n")
    os.waitpid(child, 0)
    return names


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
        os._exit(int(pytest.main([*options, *map(str, request["folders"])])))  # type: ignore[call-overload]
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
