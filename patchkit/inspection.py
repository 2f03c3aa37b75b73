"""What an installed sglang carries, told by the blob ids of its files; what is said of it is held against that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from patchkit.model import Manifest
from patchkit.results.inspect import LabelProblem

# Written when a release is built or installed: no source, and not in every copy of the same release.
GENERATED_NAMES = ("python/sglang/_version.py",)


class Carries(StrEnum):
    """How a manifest's files stand in a tree."""

    SERIES = "series"  # every file is as the series leaves it
    UPSTREAM = "upstream"  # every file is as upstream has it
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Standing:
    """One series against a tree. patched, pristine, other: the paths with the one content, the other, or neither."""

    manifest: Manifest
    patched: tuple[str, ...]
    pristine: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def carries(self) -> Carries:
        """What the tree carries of the series."""
        if not self.pristine and not self.other:
            return Carries.SERIES
        return Carries.UPSTREAM if not self.patched and not self.other else Carries.MIXED


def stand(blobs: Mapping[str, str], manifest: Manifest) -> Standing:
    """Return how the files of a series stand. blobs: the id of each file by its path in the repository."""
    sides: dict[str, list[str]] = {"patched": [], "pristine": [], "other": []}
    for file in manifest.files:
        found = blobs.get(file.path)
        side = "patched" if found == file.postimage else "pristine" if found == file.preimage else "other"
        sides[side].append(file.path)
    return Standing(manifest, **{name: tuple(paths) for name, paths in sides.items()})


def best_standing(blobs: Mapping[str, str], manifests: Iterable[Manifest], *, claimed: str = "") -> Standing | None:
    """Return the series that the tree carries, or comes nearest to; None where no file of any series is known.

    claimed: the version that the tree's own record names: its series is looked at even if every file differs.
    """
    standings = [stand(blobs, manifest) for manifest in manifests]
    known = [each for each in standings if each.patched or each.pristine or each.manifest.version == claimed]
    rank = {Carries.SERIES: 2, Carries.UPSTREAM: 1, Carries.MIXED: 0}
    return max(known, key=lambda s: (rank[s.carries], len(s.patched), len(s.pristine)), default=None)


def beside_series(
    blobs: Mapping[str, str], upstream: Mapping[str, str], manifest: Manifest
) -> tuple[tuple[str, str], ...]:
    """Return what differs from upstream in the files that the series does not touch, as (path, what)."""
    touched = {file.path for file in manifest.files} | set(GENERATED_NAMES)
    found = [
        (path, "is missing" if path not in blobs else f"is {blobs[path][:12]}, upstream has {blob[:12]}")
        for path, blob in upstream.items()
        if path not in touched and blobs.get(path) != blob
    ]
    found += [
        (path, "is not in upstream")
        for path in blobs
        if path.endswith(".py") and path not in upstream and path not in touched
    ]
    return tuple(sorted(found))


def find_lies(labels: Mapping[str, str], facts: Mapping[str, str]) -> tuple[LabelProblem, ...]:
    """Return the labels that do not say what the facts of the same names are; one that is missing says nothing."""
    return tuple(
        LabelProblem(name, labels.get(name, ""), fact) for name, fact in facts.items() if labels.get(name) != fact
    )
