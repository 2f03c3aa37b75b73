"""Order of sglang releases, and which one this process has imported."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from smokekit.outcome import Drift

VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:\.post(\d+))?$")


def key_of(version: str) -> tuple[int, int, int, int]:
    """Return what sorts releases: 0.5.12 < 0.5.12.post1 < 0.5.13."""
    match = VERSION.match(version)
    if match is None:
        raise ValueError(f"not a release of sglang: {version!r}")
    major, minor, micro, post = match.groups(default="0")
    return int(major), int(minor), int(micro), int(post)


def is_within(version: str, since: str, until: str) -> bool:
    """Say whether a release lies in [since, until); an empty bound is open."""
    at = key_of(version)
    return (not since or at >= key_of(since)) and (not until or at < key_of(until))


def release_under_test(environ: Mapping[str, str] = os.environ) -> str:
    """Return the release: PATCHKIT_PIN if set (a git checkout has no version), else sglang's own."""
    import sglang

    version = environ.get("PATCHKIT_PIN") or sglang.__version__
    if VERSION.match(version) is None:
        raise Drift(f"sglang calls itself {version!r}: set PATCHKIT_PIN to the release, e.g. 0.5.12.post1")
    return version.removeprefix("v")
