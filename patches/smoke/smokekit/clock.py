"""time.perf_counter under the test's control."""

from __future__ import annotations

import time

import pytest

FAR_FROM_BOOT_S = 1e6


class Clock:
    """perf_counter counts from boot: without the shift "an hour ago" is negative on a fresh
    host, and a negative or zero stamp reads as "never stamped"."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = time.perf_counter
        self.ahead_s = FAR_FROM_BOOT_S
        monkeypatch.setattr(time, "perf_counter", lambda: real() + self.ahead_s)
        self.monkeypatch = monkeypatch

    def now(self) -> float:
        return time.perf_counter()

    def advance(self, seconds: float) -> None:
        self.ahead_s += seconds

    def advance_wall(self, seconds: float) -> None:
        """Move time.time(), which the backends' own deadlines read, once."""
        real = time.time
        self.monkeypatch.setattr(time, "time", lambda: real() + seconds)
