"""The three outcomes of a smoke test, and the kind of a test on one release.

ok     the expectation held.
fault  the test's own expectation failed: an AssertionError raised in a test file.
drift  anything else: an attribute or module that is gone, an assertion inside sglang, a
       set-up that did not hold. Never a pass, and never the failure a control run waits for.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

OK, FAULT, DRIFT = "ok", "fault", "drift"


class Drift(Exception):
    """The release is not as the harness knows it."""


def require(holds: bool, what: str) -> None:
    """Raise Drift unless a precondition of the test holds."""
    if not holds:
        raise Drift(what)


def innermost_file(trace: TracebackType) -> Path:
    while trace.tb_next is not None:
        trace = trace.tb_next
    return Path(trace.tb_frame.f_code.co_filename)


def outcome_of(error: BaseException | None, trace: TracebackType | None) -> str:
    if error is None:
        return OK
    if isinstance(error, AssertionError) and trace is not None and innermost_file(trace).name.startswith("test_"):
        return FAULT
    return DRIFT
