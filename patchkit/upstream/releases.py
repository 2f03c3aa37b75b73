"""Find the release that a patch or a tree belongs to: among the releases here, then by downloading likely ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patchkit.counting import count
from patchkit.errors import CommandError
from patchkit.upstream.access import Access
from patchkit.upstream.belonging import Belonging, Match, judge_matches, match_release
from patchkit.upstream.bring import bring_version, kept_commits
from patchkit.upstream.index import listed_versions
from patchkit.versions import is_version, order

MAX_DOWNLOADS = 6  # a release is 6 to 90 MB; a climb over a hundred releases needs no more


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found. notes: what could not be looked at, and why."""

    belonging: Belonging
    notes: tuple[str, ...] = ()


def find_release(
    stated: Mapping[str, str], access: Access, *, labels: Sequence[str] = (), max_downloads: int = MAX_DOWNLOADS
) -> Found:
    """Return which release has the stated blob ids.

    First the releases that labels name, as they are the likely ones; then those that are in the cache; then, where
    none has every blob, the neighbours of the best so far, each time on the side that fits better.

    labels: versions that a folder name, a Dockerfile or a README claims; the most trusted first.
    """
    search = _Search(stated, access, max_downloads)
    for label in dict.fromkeys(labels):
        if is_version(label):
            search.bring(label)
    search.look_at_kept()
    if stated and not any(match.is_whole for match in search.matches.values()):
        search.climb(labels)
    preferred = [label for label in labels if label in search.matches]
    return Found(judge_matches(search.matches.values(), preferred=preferred), tuple(search.notes))


class _Search:
    """One search: what was looked at, and how much may still be downloaded."""

    def __init__(self, stated: Mapping[str, str], access: Access, max_downloads: int) -> None:
        self.stated = stated
        self.access = access
        self.downloads_left = 0 if access.offline else max_downloads
        self.matches: dict[str, Match] = {}
        self.missing: set[str] = set()
        self.notes: list[str] = []

    def look_at_kept(self) -> None:
        """Match every release of the cache, with one process."""
        kept = {v: commit for v, commit in kept_commits(self.access.objects).items() if v not in self.matches}
        paths = list(self.stated)
        found = self.access.objects.ids([f"{commit}:{path}" for commit in kept.values() for path in paths])
        for number, version in enumerate(kept):
            present = dict(zip(paths, found[number * len(paths) :], strict=False))
            self.matches[version] = match_release(version, self.stated, present)

    def bring(self, version: str) -> Match | None:
        """Match one release, downloaded if need be; None where it cannot be had, which is noted."""
        if version in self.matches:
            return self.matches[version]
        if version not in kept_commits(self.access.objects):
            if not self._may_download(version):
                return None
            try:
                bring_version(version, self.access)
            except CommandError as error:
                self.missing.add(version)
                self.notes.append(f"v{version} could not be downloaded: {error.what}")
                return None
        commit = kept_commits(self.access.objects)[version]
        ids = self.access.objects.ids([f"{commit}:{path}" for path in self.stated])
        self.matches[version] = match_release(version, self.stated, dict(zip(self.stated, ids, strict=True)))
        return self.matches[version]

    def _may_download(self, version: str) -> bool:
        if self.access.offline:
            self.notes.append(f"v{version} is not in the cache, and --offline forbids to download it")
        elif not self.downloads_left:
            return False
        else:
            self.downloads_left -= 1
            return True
        return False

    def climb(self, labels: Sequence[str]) -> None:
        """Look at the releases around the best one until none of them is better, or too much was downloaded.

        Where not one blob was found yet, the best is the one that a label names.
        """
        try:
            listed = sorted(filter(is_version, listed_versions(self.access)), key=order)
        except CommandError as error:
            self.notes.append(f"only {count(len(self.matches), 'release')} in the cache looked at: {error.what}")
            return
        while self.downloads_left:
            best = judge_matches(self.matches.values()).best
            if best is not None and best.is_whole:
                return
            centre = best.version if best else next((label for label in labels if label in listed), "")
            looked_at = self.matches.keys() | self.missing
            wanted = next((version for version in _around(centre, listed) if version not in looked_at), None)
            if wanted is None:
                return
            self.bring(wanted)


def _around(version: str, listed: Sequence[str]) -> Iterable[str]:
    """Yield three releases on either side, near ones first; with no release to start from, a coarse grid."""
    if version not in listed:
        yield from (listed[at * (len(listed) - 1) // 5] for at in range(6) if listed)
        return
    at = listed.index(version)
    for distance in (1, 2, 3):
        yield from (listed[near] for near in (at + distance, at - distance) if 0 <= near < len(listed))
