"""Which release a patch or a tree belongs to, told by blob ids: names have been wrong too often."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patchkit.patch.hunks import SOURCE_PREFIX, Patch
from patchkit.versions import order


@dataclass(frozen=True, slots=True)
class Match:
    """One release against the ids that are looked for.

    same, other: the paths whose blob is, and is not, the one of this release.
    """

    version: str
    same: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether every blob is this release's, and there is at least one."""
        return bool(self.same) and not self.other


@dataclass(frozen=True, slots=True)
class Belonging:
    """What a patch or a tree is. matches: every release that was looked at, best first.

    ties: the other releases that fit exactly as well as the first; the ids cannot tell them apart.
    """

    matches: tuple[Match, ...]
    ties: tuple[str, ...] = ()

    @property
    def best(self) -> Match | None:
        """The release that fits best; None where not one blob is of any release."""
        return self.matches[0] if self.matches and self.matches[0].same else None

    @property
    def is_mixed(self) -> bool:
        """Whether no release has every blob, but some other release has one that the best has not."""
        best = self.best
        return best is not None and any(set(best.other) & set(match.same) for match in self.matches[1:])


def stated_preimages(patches: Iterable[Patch]) -> dict[str, str]:
    """Return the blob id that each path must have before all of the patches, whatever their order.

    Where several patches touch a path, the pin's id is the one that no other patch leaves behind. Created files,
    sections without an index line and paths outside python/sglang/ say nothing about a release.
    """
    sections = [section for patch in patches for section in patch.files if section.preimage_id]
    left_behind: dict[str, set[str]] = {}
    for section in sections:
        left_behind.setdefault(section.new_path, set()).add(section.postimage_id)
    stated: dict[str, str] = {}
    for section in sections:
        path, stated_id = section.old_path, section.preimage_id
        is_later = any(same_id(stated_id, other) for other in left_behind.get(path, ()))
        if stated_id.strip("0") and not is_later and path.startswith(SOURCE_PREFIX):
            stated.setdefault(path, stated_id)
    return stated


def same_id(one: str, other: str) -> bool:
    """Whether two blob ids, of which either may be abbreviated, name the same content."""
    return bool(one) and bool(other) and (one.startswith(other) or other.startswith(one))


def match_release(version: str, stated: Mapping[str, str], present: Mapping[str, str | None]) -> Match:
    """Compare the ids that are looked for with those of one release."""
    same = tuple(path for path, wanted in stated.items() if same_id(wanted, present.get(path) or ""))
    kept = set(same)
    return Match(version, same, tuple(path for path in stated if path not in kept))


def judge_matches(matches: Iterable[Match], *, preferred: Sequence[str] = ()) -> Belonging:
    """Put the best release first. Among equals: the one that a label names, else the oldest.

    preferred: the versions that labels name, the most trusted first.
    """
    rank = {version: at for at, version in reversed(list(enumerate(preferred)))}
    ordered = sorted(
        matches, key=lambda match: (-len(match.same), rank.get(match.version, len(rank)), order(match.version))
    )
    ties = tuple(match.version for match in ordered[1:] if match.same and match.same == ordered[0].same)
    return Belonging(tuple(ordered), ties)
