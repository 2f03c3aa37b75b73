"""What sglang.patch and manifest.json must be for a series; `refresh` writes them and `verify` compares."""

import hashlib
from dataclasses import dataclass

from patchkit.errors import ConflictError
from patchkit.manifest import write_manifest
from patchkit.model import LockedFile, LockedHunk, Manifest, Series
from patchkit.patch.hunks import FilePatch, Hunk
from patchkit.patch.patchtext import blob_id, read_patch
from patchkit.rules.between import between
from patchkit.rules.compose import Composed, NamedPatch, compose, inside, touched_paths
from patchkit.rules.placement import Sites
from patchkit.rules.subject import PatchedFile
from patchkit.store import COMBINED, MANIFEST
from patchkit.upstream.bring import Upstream
from patchkit.upstream.objects import File


@dataclass(frozen=True, slots=True)
class Generated:
    """The generated files of one pin."""

    combined: bytes
    manifest: Manifest

    def files(self) -> dict[str, bytes]:
        """Return each generated file's content by its name."""
        return {COMBINED: self.combined, MANIFEST: write_manifest(self.manifest)}


def generate(series: Series, upstream: Upstream, composed: Composed | None = None) -> Generated:
    """Compose the series on its pin and return what must be generated from it.

    composed: of this series, where the caller has it.
    Raises: ConflictError with every hunk that has no place.
    """
    named = [inside(NamedPatch(topic.topic, f"{topic.topic}.patch", topic.patch)) for topic in series.topics]
    composed = composed or compose(named, upstream.read(sorted(touched_paths(named))))
    _refuse_failures(series, composed)
    modes = _modes(series)
    before = {
        path: _file(source.text if (source := file.before) else None, modes[path])
        for path, file in composed.files.items()
    }
    after = {
        path: _file(source.text if (source := file.after) else None, modes[path])
        for path, file in composed.files.items()
    }
    combined = upstream.objects.diff(before, after)
    patch = read_patch(combined, name=COMBINED)
    sites = Sites(composed.sites)
    manifest = Manifest(
        version=series.pin.version,
        commit=series.pin.commit,
        tree=series.pin.tree,
        sha256=hashlib.sha256(combined).hexdigest(),
        topics={topic.topic: hashlib.sha256(topic.patch.raw).hexdigest() for topic in series.topics},
        files=tuple(_locked_file(section, composed, sites, modes) for section in patch.files),
    )
    return Generated(combined, manifest)


def _refuse_failures(series: Series, composed: Composed) -> None:
    failed = [step for step in composed.steps if not step.result.ok]
    if not failed:
        return
    lines = []
    for step in failed:
        hunks = [f"{hunk.name} ({step.patch_file}:{hunk.patch_line})" for hunk in step.result.failed]
        lines += hunks or [f"{step.result.section.path} ({step.patch_file}): {step.result.fault}"]
    raise ConflictError(
        f"series {series.pin.name} does not apply to its own pin: {len(lines)} without a place",
        where="\n".join(lines),
        kept="the generated files are unchanged",
        hint=f"patchkit verify {series.pin.name}",
    )


def _modes(series: Series) -> dict[str, str]:
    """Return the mode of each touched path; a wheel has lost them, so the patches' word counts."""
    modes: dict[str, str] = {}
    for topic in series.topics:
        for section in topic.patch.files:
            modes[section.old_path] = section.old_mode or modes.get(section.old_path, "100644")
            modes[section.new_path] = section.new_mode or section.old_mode or modes.get(section.new_path, "100644")
    return modes


def _file(content: bytes | None, mode: str) -> File | None:
    return None if content is None else File(content, mode)


def _locked_file(section: FilePatch, composed: Composed, sites: Sites, modes: dict[str, str]) -> LockedFile:
    file = composed.files[section.path]
    return LockedFile(
        path=section.path,
        mode=modes[section.path],
        preimage=blob_id(file.before.text) if file.before else None,
        postimage=blob_id(file.after.text) if file.after else None,
        hunks=tuple(_locked_hunk(hunk, file, sites) for hunk in section.hunks),
    )


def _locked_hunk(hunk: Hunk, file: PatchedFile, sites: Sites) -> LockedHunk:
    """Lock a hunk of the combined patch by the topics' hunks that have become part of it."""
    return LockedHunk(
        number=hunk.number,
        topics=tuple(dict.fromkeys(site.topic for site in sites.within(hunk))),
        scope=sites.scope(hunk),
        old_start=hunk.old_start,
        new_start=hunk.new_start,
        between=between(file, hunk),
    )
