"""Apply, verify, rebase and ship a versioned sglang.patch on pinned upstream releases."""

__version__ = "0.1.0"
