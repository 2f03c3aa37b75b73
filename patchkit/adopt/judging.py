"""Judge one set of patch files: its pin, its order, what composes, and what is wrong with it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from patchkit.adopt import troubles
from patchkit.adopt.arrange import labels_of, versions_in
from patchkit.adopt.dockerfile import Dockerfile
from patchkit.adopt.naming import name_topics
from patchkit.adopt.nouns import Parsed, PatchFile, PatchSet
from patchkit.adopt.sequence import Order, OrderReason, order_patches
from patchkit.errors import CommandError, ConfigError, PatchError
from patchkit.model import GitSource
from patchkit.patch.headers import read_head
from patchkit.patch.hunks import SOURCE_PREFIX, FilePatch, Patch
from patchkit.patch.patchtext import read_patch, write_patch
from patchkit.results.adopt import Trouble, TroubleKind
from patchkit.rules import application, base, placement, single
from patchkit.rules.compose import Composed, NamedPatch, applies, compose, inside, touched_paths
from patchkit.rules.subject import Subject
from patchkit.upstream.access import Access
from patchkit.upstream.belonging import Belonging, judge_matches, match_release, stated_preimages
from patchkit.upstream.bring import Upstream, bring_directory, bring_git, bring_version, keep_directory
from patchkit.upstream.clones import describe_commit, find_base, is_clone, location_of
from patchkit.upstream.releases import find_release
from patchkit.versions import is_release

# What the sglang repository has beside the package. A patch that touches nothing else is of another project.
_REPOSITORY = ("python/", "sgl-kernel/", "sgl-router/", "sgl-model-gateway/", "test/", "docs/", "docker/", "scripts/",
               "benchmark/", "examples/", "3rdparty/", "proto/", ".github/")  # fmt: skip
_COMMIT = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class Judged:
    """One set, looked at. upstream: None where no release was found. topics: one name a patch, in order."""

    patch_set: PatchSet
    parsed: tuple[Parsed, ...]
    topics: tuple[str, ...]
    reason: OrderReason
    belonging: Belonging
    stated: int
    upstream: Upstream | None
    composed: Composed | None
    troubles: tuple[Trouble, ...]
    notes: tuple[str, ...]

    @property
    def composes(self) -> bool:
        """Whether every section inside the package applies to the pin."""
        return self.composed is not None and all(step.result.ok for step in self.composed.steps)


def judge_set(
    patch_set: PatchSet,
    access: Access,
    *,
    dockerfiles: Sequence[Dockerfile] = (),
    documents: Mapping[str, str] | None = None,
    version: str | None = None,
    labels: Sequence[str] = (),
    based_on: Path | None = None,
) -> Judged:
    """Look at one set of patch files and decide its pin and order.

    version: the pin that a person names; blob ids are compared with it all the same. labels: versions that
    something else than the set's own name and the Dockerfile claims. based_on: a clone or a directory with the
    upstream that the patches are written for; without it, the releases are searched.
    """
    found: list[Trouble] = []
    parsed = [each for file in patch_set.files for each in _parse(file, found)]
    stated = stated_preimages(each.patch for each in parsed)
    claimed = [version] if version else [*labels, *labels_of(patch_set), *_image_labels(dockerfiles)]
    if based_on is not None:
        belonging, upstream, notes = _at_base(based_on, stated, claimed, access)
    else:
        belonging, upstream, notes = _at_release(parsed, stated, claimed, version or "", access)
    left = troubles.unapplied(patch_set, parsed, dockerfiles)
    taken = [each for each in parsed if each not in left]
    order = _ordered(taken if patch_set.listed else parsed, patch_set, dockerfiles, upstream)
    is_taken = not patch_set.listed
    if left and taken and is_taken and upstream is not None and not _fits(order.patches, upstream):
        order, is_taken = _ordered(taken, patch_set, dockerfiles, upstream), False  # it may be why: it is left out
    topics = name_topics([each.file.name for each in order.patches])
    composed = _compose(order.patches, topics, upstream) if upstream else None
    found += troubles.belonging_troubles(patch_set, belonging, len(stated))
    found += troubles.label_troubles(patch_set, belonging, dockerfiles, documents or {}) if parsed else ()
    found += troubles.order_troubles(patch_set, left, dockerfiles, taken=is_taken)
    found += troubles.outside_troubles(order.patches)
    if composed is not None:
        subject = Subject(None, composed.files, composed.steps, composed.sites)
        findings = [finding for rule in (base, application, placement, single) for finding in rule.find(subject)]
        found += troubles.finding_troubles(findings, composed)
    return Judged(
        patch_set, order.patches, tuple(topics), order.reason, belonging, len(stated), upstream, composed,
        tuple(found), notes,
    )  # fmt: skip


_Base = tuple[Belonging, Upstream | None, tuple[str, ...]]


def _at_release(
    parsed: Sequence[Parsed], stated: Mapping[str, str], claimed: Sequence[str], version: str, access: Access
) -> _Base:
    """Return the release that has the stated blobs; for patches without ids, the labelled one that they apply to."""
    search = find_release(stated, access, labels=claimed)
    belonging = search.belonging
    if version:
        belonging = Belonging(
            tuple(sorted(belonging.matches, key=lambda match: match.version != version)), belonging.ties
        )
    upstream = _bring(version or (belonging.best.version if belonging.best else ""), access)
    if upstream is None and parsed and not stated:
        upstream = _by_applying(parsed, claimed, access)
        if upstream is not None:
            belonging = judge_matches([match_release(upstream.version, {}, {})])
    return belonging, upstream, search.notes


def _at_base(base: Path, stated: Mapping[str, str], claimed: Sequence[str], access: Access) -> _Base:
    """Return the commit of a clone that has the stated blobs, or the directory as it stands."""
    named = next((name for name in claimed if _COMMIT.fullmatch(name)), "")
    near = next((name for name in claimed if is_release(name)), "")
    if not is_clone(base):
        return _at_directory(base, stated, near, access)
    found = describe_commit(base, named, stated, near=near) if named else find_base(base, stated, near=near)
    if found is None:
        return Belonging(()), None, (f"no commit of {base} has a file that the patches start from",)
    location = location_of(base)
    upstream = replace(bring_git(str(base.resolve()), found.commit, access), version=found.match.version)
    upstream = replace(upstream, source=GitSource(location))
    return judge_matches([found.match]), upstream, (f"{found.match.version} is commit {found.commit} of {location}",)


def _at_directory(base: Path, stated: Mapping[str, str], near: str, access: Access) -> _Base:
    """Return a directory without history as a base; its release is the label's, else the nearest by blob ids."""
    upstream = bring_directory(base, access)
    present = {path: entry.blob for path, entry in upstream.entries().items()}
    if not near:
        nearest = find_release(present, access, max_downloads=0).belonging.best
        if nearest is None:
            raise ConfigError(
                "nothing tells which release the directory comes after", where=str(base), hint="name it: --pin VERSION"
            )
        near = nearest.version
    upstream = replace(upstream, version=f"{near}+d{upstream.tree[:10]}")
    keep_directory(upstream)
    match = match_release(upstream.version, stated, present)
    return judge_matches([match]), upstream, (f"{upstream.version} is {base} as it stands, tree {upstream.tree}",)


def _parse(file: PatchFile, found: list[Trouble]) -> Iterable[Parsed]:
    """Yield the patch; where it cannot be read or is not for sglang, add the trouble and yield nothing."""
    try:
        patch = read_patch(file.raw, name=file.shown)
    except PatchError as error:
        cut = "the file ends within a line: cut off, or saved by an editor" if not file.raw.endswith(b"\n") else ""
        cause = error.found or cut
        found.append(Trouble(TroubleKind.UNREADABLE, error.where, error.what, cause, error.hint, error.rule))
        return
    paths = [section.path for section in patch.files]
    if not any(path.startswith(SOURCE_PREFIX) for path in paths):
        if any(path.startswith(("sglang/", "srt/")) for path in paths):
            patch = _below_python(patch)
            found.append(
                Trouble(
                    TroubleKind.REWRITTEN,
                    file.shown,
                    "its paths start below python/, so the file names in it were changed",
                    found=f"{paths[0]} became {patch.files[0].path}",
                    hint="everything but the header lines is kept as it was",
                )
            )
        elif not any(path.startswith(_REPOSITORY) for path in paths):
            found.append(
                Trouble(
                    TroubleKind.FOREIGN,
                    file.shown,
                    "it changes no file of sglang",
                    found=paths[0],
                    hint="left where it is",
                )
            )
            return
    yield Parsed(file, patch, read_head(patch.preamble))


def _below_python(patch: Patch) -> Patch:
    """Return the patch with python/sglang/ before each path that was written relative to a package folder."""

    def moved(path: str) -> str:
        return f"python/{path}" if path.startswith("sglang/") else SOURCE_PREFIX + path

    def rewritten(section: FilePatch) -> FilePatch:
        old, new = moved(section.old_path), moved(section.new_path)
        hunks = tuple(hunk._replace(path=moved(hunk.path)) for hunk in section.hunks)
        return section._replace(old_path=old, new_path=new, hunks=hunks, strip=1, header=())

    raw = write_patch(patch._replace(files=tuple(map(rewritten, patch.files))))
    return read_patch(raw)


def _image_labels(dockerfiles: Sequence[Dockerfile]) -> list[str]:

    return [
        v
        for dockerfile in dockerfiles
        for _, image in dockerfile.images
        if "sglang" in image
        for v in versions_in(image)
    ]


def _bring(version: str, access: Access) -> Upstream | None:
    return bring_version(version, access) if version else None


def _by_applying(parsed: Sequence[Parsed], labels: Sequence[str], access: Access) -> Upstream | None:
    """Return the first labelled release to which every patch applies, in some order; for patches without ids."""
    for label in dict.fromkeys(labels):
        try:
            upstream = bring_version(label, access)
        except CommandError:
            continue
        order = order_patches(parsed, fits=partial(_fits, upstream=upstream))
        if _fits(order.patches, upstream):
            return upstream
    return None


def _ordered(
    parsed: Sequence[Parsed], patch_set: PatchSet, dockerfiles: Sequence[Dockerfile], upstream: Upstream | None
) -> Order:
    if not parsed:
        return Order((), OrderReason.NAMES)
    fits = partial(_fits, upstream=upstream) if upstream else None
    return order_patches(parsed, listed=patch_set.listed, dockerfiles=dockerfiles, fits=fits)


def _fits(patches: Sequence[Parsed], upstream: Upstream) -> bool:
    named = _named(patches, name_topics([each.file.name for each in patches]))
    return applies(named, upstream.read(sorted(touched_paths(named))))


def _compose(patches: Sequence[Parsed], topics: Sequence[str], upstream: Upstream) -> Composed:
    named = _named(patches, topics)
    return compose(named, upstream.read(sorted(touched_paths(named))))


def _named(patches: Sequence[Parsed], topics: Sequence[str]) -> list[NamedPatch]:
    pairs = zip(topics, patches, strict=True)
    return [inside(NamedPatch(topic, each.file.shown, each.patch)) for topic, each in pairs]
