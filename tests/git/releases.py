"""A cache with made-up releases, so that a test needs no network."""

from collections.abc import Mapping
from pathlib import Path

from patchkit.upstream.access import Access
from patchkit.upstream.objects import File

PREFIX = "python/sglang/"


def keep_release(access: Access, version: str, files: Mapping[str, str]) -> None:
    """Put a release into the cache as a download would; paths are below python/sglang/."""
    content = [(PREFIX + path, File(text.encode())) for path, text in sorted(files.items())]
    note = f"sglang-{version}-cp311-cp311-manylinux_2_34_x86_64.whl"
    digest = version.encode().hex().ljust(64, "0")
    access.objects.keep(f"refs/patchkit/index/{version}/{digest}", content, note=note)


def cache(folder: Path, releases: Mapping[str, Mapping[str, str]]) -> Access:
    """Return offline access to a cache that holds these releases."""
    access = Access(folder / "cache", offline=True)
    for version, files in releases.items():
        keep_release(access, version, files)
    return access
