"""`identify`: which upstream release a patch file, a checkout or an installed package belongs to."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from patchkit.checkout.directory import find_checkout, read_files
from patchkit.errors import ConfigError
from patchkit.patch.hunks import SOURCE_PREFIX, Verdict
from patchkit.patch.patchtext import read_patch
from patchkit.patch.standing import find_standing, series_paths
from patchkit.results.identify import Identify, Stray
from patchkit.store import pin_names, read_series
from patchkit.upstream.access import Access
from patchkit.upstream.belonging import Belonging, stated_preimages
from patchkit.upstream.bring import bring_directory
from patchkit.upstream.releases import find_release
from patchkit.versions import bare, is_version

_VERSION = re.compile(rb"^__version__ = (?:version = )?['\"]([^'\"]+)['\"]", re.MULTILINE)
_LABEL = re.compile(r"v?(\d+\.\d+\.\d+(?:rc\d+)?(?:\.post\d+)?)")
_NO_SERIES: tuple[str, tuple[str, ...], Collection[str]] = ("", (), ())
_NOT_IN_GIT = ("_version.py",)  # written when a release is built, differs between a wheel and a checkout


def identify(path: Path, access: Access, root: Path | None = None) -> Identify:
    """Return the release whose blobs the patch was written for, or which the directory holds.

    root: the store whose series may be in the directory.
    """
    stated, labels = _of_directory(path, access) if path.is_dir() else _of_patch(path)
    if not stated:
        raise ConfigError(
            "nothing in it says which release it is for",
            where=str(path),
            found="no index line of a file below python/sglang/ that exists upstream",
            hint=f"patchkit verify --patch {path} --upstream VERSION",
        )
    found = find_release(stated, access, labels=labels)
    belonging = found.belonging
    best = belonging.best
    candidates = [best.version, *belonging.ties] if best and path.is_dir() else []
    series, topics, touched = _series_in(path, root, candidates) if root else _NO_SERIES
    return Identify(
        path=str(path),
        version=bare(series) if series else best.version if best else "",
        same=len(best.same) if best else 0,
        blobs=len(stated),
        mixed=belonging.is_mixed,
        ties=belonging.ties,
        strays=tuple(_stray(name, belonging) for name in best.other if name not in touched) if best else (),
        looked_at=len(belonging.matches),
        notes=found.notes,
        series=series,
        topics=topics,
    )


def _series_in(directory: Path, root: Path, versions: Sequence[str]) -> tuple[str, tuple[str, ...], Collection[str]]:
    """Return the pin whose series is in the directory, its topics that are in, and the paths that it touches."""
    for pin in pin_names(root):
        if bare(pin) not in versions:
            continue
        topics = read_series(root, pin).topics
        files = read_files(find_checkout(directory), series_paths(topics))
        standing = find_standing(topics, {path: file.content for path, file in files.items()})
        if standing.verdict in (Verdict.APPLIED, Verdict.PARTLY):
            return pin, tuple(topic.topic for topic in topics[: standing.topics]), files
    return _NO_SERIES


def labels_in(text: str) -> list[str]:
    """Return the upstream versions that a path or a text names, in order."""
    return [name for name in _LABEL.findall(text) if is_version(name)]


def _of_patch(path: Path) -> tuple[dict[str, str], list[str]]:
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"cannot read {path.name}", where=str(path), found=exc.strerror or str(exc)) from exc
    return stated_preimages([read_patch(raw, name=str(path))]), labels_in(str(path.absolute()))[::-1]


def _of_directory(path: Path, access: Access) -> tuple[dict[str, str], list[str]]:
    upstream = bring_directory(path, access)
    stated = {name: str(entry.blob) for name, entry in upstream.entries().items() if not name.endswith(_NOT_IN_GIT)}
    said = upstream.read([f"{SOURCE_PREFIX}_version.py", f"{SOURCE_PREFIX}version.py"])
    labels = [match[1].decode() for content in said.values() if content and (match := _VERSION.search(content))]
    return stated, labels


def _stray(path: str, belonging: Belonging) -> Stray:
    return Stray(path, tuple(match.version for match in belonging.matches if path in match.same))
