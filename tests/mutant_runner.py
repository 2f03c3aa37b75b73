"""Runs the smoke tests on one mutant for each line on stdin, in a fork that has sglang imported already.

Started by tests.mutants with the runtime's own Python: PYTHON tests/mutant_runner.py TREE SMOKE. TREE holds
python/sglang with the series. A line of stdin is JSON: {"path": "python/...", "text": "...", "folders": [...],
"deadline_s": 120}; the answer is JSON: {"status": 1, "failed": "test name", "tail": "..."}. A mutant whose change
lies in functions gets their code objects swapped; for any other one the tests run in a new process that imports it.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType

Functions = dict[str, list[CodeType]]  # by qualified name, in the order of the text


def main(tree: Path, smoke: Path) -> None:
    """Serve until stdin ends."""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(smoke), str(tree / "python")]
    os.chdir(smoke)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    importlib.import_module("smokekit.stubs").install()
    importlib.import_module("smokekit.release").Release(os.environ["PATCHKIT_PIN"]).load()
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line), tree, smoke)), file=answers, flush=True)


def _run(request: Mapping[str, object], tree: Path, smoke: Path) -> Mapping[str, object]:
    """Return how the tests ended. The quick ones go first; two ranks need a process without a group."""
    deadline = time.monotonic() + float(str(request["deadline_s"]))
    folders = [str(folder) for folder in request["folders"]]  # type: ignore[attr-defined]
    path, text = tree / str(request["path"]), str(request["text"])
    shipped = path.read_text("utf-8") if request["path"] else ""
    swaps = _swaps(path, shipped, text) if request["path"] else {}
    if request["path"]:
        path.write_text(text, "utf-8")
    status, failed, tail = 0, "", ""
    for mark in ("not two_ranks", "two_ranks"):
        command = ["-x", "-q", "-p", "no:cacheprovider", f"--rootdir={smoke}", "-c", str(smoke / "pytest.ini")]
        status, failed, tail = _pytest([*command, "-m", mark, *folders], swaps, deadline, smoke)
        if status not in (0, 5):  # 5: no test has the mark
            break
        status = 0
    if request["path"]:
        path.write_text(shipped, "utf-8")
    return {"status": status, "failed": failed, "tail": tail}


def _pytest(
    command: Sequence[str], swaps: Mapping[FunctionType, CodeType] | None, deadline: float, smoke: Path
) -> tuple[int, str, str]:
    """Return pytest's status the first test that failed, and the last lines; status -1: past its deadline."""
    report = smoke.parent / "mutant-report.txt"
    with report.open("wb") as out:
        if swaps is None:
            environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2]), "PYTHONDONTWRITEBYTECODE": "1"}
            child = subprocess.Popen(
                [sys.executable, "-m", "pytest", *command], stdout=out, stderr=out, env=environ, start_new_session=True
            ).pid
        else:
            child = os.fork()
            if child == 0:
                _child(command, swaps, out.fileno())
    status = _wait(child, deadline)
    lines = report.read_text("utf-8", "replace").splitlines()
    failed = [
        line.split(" ")[1] for line in lines if line.startswith(("FAILED ", "ERROR ")) and "::" in line.split(" ")[1]
    ]
    return status, failed[0] if failed else "", "\n".join(lines[-15:])


def _child(command: Sequence[str], swaps: Mapping[FunctionType, CodeType], out: int) -> None:
    import pytest

    os.setsid()
    os.dup2(out, 1)
    os.dup2(out, 2)
    for function, code in swaps.items():
        function.__code__ = code
    status = int(pytest.main([*command]))
    sys.stdout.flush()
    os._exit(status)


def _wait(child: int, deadline: float) -> int:
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


# -- code objects -----------------------------------------------------------------------------------------


def _swaps(path: Path, shipped: str, text: str) -> dict[FunctionType, CodeType] | None:
    """Return the new code of each live function that differs; None when more than functions differs."""
    old: Functions = {}
    new: Functions = {}
    before = _collect(compile(shipped, str(path), "exec"), old)
    after = _collect(compile(text, str(path), "exec"), new)
    if before != after or {name: len(codes) for name, codes in old.items()} != {n: len(c) for n, c in new.items()}:
        return None
    changed = {
        name: codes[0] for name, codes in new.items() if list(map(_meaning, codes)) != list(map(_meaning, old[name]))
    }
    if any(len(new[name]) > 1 for name in changed):
        return None
    live = [
        each for each in gc.get_objects() if isinstance(each, FunctionType) and each.__code__.co_filename == str(path)
    ]
    swaps = {function: changed[name] for function in live if (name := function.__code__.co_qualname) in changed}
    found = {function.__code__.co_qualname for function in swaps}
    is_same_shape = all(len(f.__code__.co_freevars) == len(code.co_freevars) for f, code in swaps.items())
    return swaps if found == set(changed) and is_same_shape else None


def _collect(code: CodeType, functions: Functions) -> object:
    """Return what the module and its classes do themselves; put their functions into the mapping."""
    inner = []
    for each in _codes(code):
        if each.co_flags & CO_OPTIMIZED:
            functions.setdefault(each.co_qualname, []).append(each)
        else:
            inner.append(_collect(each, functions))
    return (_body(code), inner)


def _meaning(code: CodeType) -> object:
    return (_body(code), [_meaning(each) for each in _codes(code)])


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (each for each in code.co_consts if isinstance(each, CodeType))


def _body(code: CodeType) -> object:
    """Return what tells two bodies apart, without line numbers."""
    constants = [(type(each), repr(each)) for each in code.co_consts if not isinstance(each, CodeType)]
    return (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, constants)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
