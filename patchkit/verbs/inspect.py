"""`inspect`: what an image or a directory carries, whether it is unmodified, and what its labels say otherwise."""

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from patchkit import __version__
from patchkit.attest import Attested, AttestedPatch, cyclonedx, provenance
from patchkit.engines.choose import choose_engine
from patchkit.engines.engine import Engine, ImageFacts, Mount, RunRequest
from patchkit.engines.recipes import inimage
from patchkit.engines.series_image import LABEL, OCI
from patchkit.errors import CommandError, ConfigError, PatchkitError
from patchkit.inspection import GENERATED_NAMES, Carries, Standing, beside_series, best_standing, find_lies
from patchkit.manifest import read_manifest as parse_manifest
from patchkit.manifest import write_manifest
from patchkit.model import Manifest, Pin
from patchkit.process import run
from patchkit.results.inspect import FileProblem, Inspect, LabelProblem
from patchkit.store import (
    MANIFEST,
    PATCHES,
    pin_folder,
    pin_names,
    read_manifest,
    read_pin,
    read_series_names,
    read_topics,
    replace_file,
)
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_pin, package_folder
from patchkit.upstream.releases import find_release

RECORD = "/etc/patchkit/manifest.json"
_LOOK_S = 300.0


@dataclass(frozen=True, slots=True)
class Documents:
    """Where to write the documents; None: not at all."""

    cyclonedx: Path | None = None
    provenance: Path | None = None


class Witness(Protocol):
    """What can be asked about a target. Our own inimage.py answers, never the target's."""

    @property
    def facts(self) -> ImageFacts | None:
        """What the engine says; None for a directory."""
        ...

    def ask(self, context: Path, *words: str) -> dict[str, Any]:
        """Return the report of inimage.py. context: a folder with it; its files are at {context}/ in the words."""
        ...

    def record(self) -> bytes:
        """Return the manifest that the target brings; empty where it brings none."""
        ...


def inspect_target(
    root: Path | None, target: str, access: Access, *, engine: str = "auto", documents: Documents | None = None
) -> Inspect:
    """Look at an image, or at a directory with an sglang in it.

    root: of the store whose pins may be in it; None: only what the image itself brings.
    documents: written only for a series that is there, unmodified and labelled as it is.
    """
    chosen: Engine | None = None
    witness: Witness
    if Path(target).is_dir():
        witness = DirectoryWitness(Path(target))
    else:
        chosen = choose_engine(engine, access)
        facts = chosen.inspect(target)
        if facts is None:
            raise ConfigError(
                f"there is neither an image nor a directory {target}",
                where=chosen.name,
                hint=f"{chosen.name} pull {target}" if chosen.name != "venv" else "patchkit build --engine venv",
            )
        witness = ImageWitness(chosen, facts)
    look = _Look(root, access, witness, chosen)
    return look.inspect(target, documents or Documents())


@dataclass(slots=True)
class _Look:
    """One look at one target."""

    root: Path | None
    access: Access
    witness: Witness
    engine: Engine | None
    notes: list[str] = field(default_factory=list)

    def inspect(self, target: str, documents: Documents) -> Inspect:
        """Return what is there."""
        with tempfile.TemporaryDirectory(prefix="patchkit-inspect-") as folder:
            context = Path(folder)
            (context / "inimage.py").write_bytes(inimage())
            report = self.witness.ask(context, "identify")
            blobs: Mapping[str, str] = report["blobs"]
            record = self._recorded()
            standing = best_standing(blobs, self._known(record), claimed=record.version if record else "")
            problems: list[FileProblem] = []
            if standing and standing.carries is not Carries.UPSTREAM:
                problems = self._imported(context, standing)
        compared = self._beside(blobs, standing, problems)
        manifest = standing.manifest if standing else None
        facts = self.witness.facts
        result = Inspect(
            target=target,
            engine=self.engine.name if self.engine else "",
            id=facts.id if facts else str(Path(target).resolve()),
            verdict=self._verdict(standing, problems),
            pin=f"v{manifest.version}" if manifest else self._nearest(blobs),
            stated_version=report["stated_version"],
            series=manifest.sha256 if manifest and standing and standing.carries is not Carries.UPSTREAM else "",
            topics=tuple(manifest.topics) if manifest and standing and standing.carries is not Carries.UPSTREAM else (),
            in_store=manifest is not None and self._is_stored(manifest),
            touched=len(manifest.files) if manifest else 0,
            compared=compared,
            problems=tuple(problems),
            lies=self._lies(standing),
            labels=facts.labels if facts else {},
            notes=tuple(self.notes),
        )
        return _with_documents(result, self, documents, manifest, blobs)

    def _known(self, record: Manifest | None) -> list[Manifest]:
        """Return the series of the store; the target's own record counts only for one that the store has not."""
        stored = list(self._stored())
        return [*stored, record] if record and not self._is_stored(record) else stored

    def _stored(self) -> Iterable[Manifest]:
        for name in pin_names(self.root) if self.root else []:
            assert self.root
            if (pin_folder(self.root, name) / MANIFEST).is_file():
                yield read_manifest(self.root, name)

    def _is_stored(self, manifest: Manifest) -> bool:
        return any(stored.sha256 == manifest.sha256 for stored in self._stored())

    def _recorded(self) -> Manifest | None:
        raw = self.witness.record()
        try:
            return parse_manifest(raw, where=RECORD) if raw else None
        except ConfigError as exc:
            self.notes.append(f"the manifest in the image cannot be read: {exc.found or exc.what}")
            return None

    def _imported(self, context: Path, standing: Standing) -> list[FileProblem]:
        """Return what Python would import instead of the files of the series: other content, other places, old code."""
        (context / MANIFEST).write_bytes(write_manifest(standing.manifest))
        report = self.witness.ask(context, "verify", "--record", "{context}/" + MANIFEST)
        if "problems" in report:
            return [FileProblem(p["path"], p["problem"]) for p in report["problems"]]
        lines = [line.partition(" ") for line in report["error"]["found"]]
        paths = [file.path for file in standing.manifest.files]
        return [FileProblem(_named(place, paths), problem) for place, _, problem in lines]

    def _beside(self, blobs: Mapping[str, str], standing: Standing | None, problems: list[FileProblem]) -> int:
        """Compare the files beside the series with upstream's; return how many."""
        pin = self._pin(standing.manifest) if standing else None
        if pin is None or standing is None:
            return 0
        try:
            entries = bring_pin(pin, self.access).entries()
        except PatchkitError as exc:
            self.notes.append(f"the files beside the series were not compared: {exc.what}")
            return 0
        upstream = {path: str(entry.blob) for path, entry in entries.items()}
        problems += [FileProblem(path, what) for path, what in beside_series(blobs, upstream, standing.manifest)]
        return len(upstream.keys() - {file.path for file in standing.manifest.files} - set(GENERATED_NAMES))

    def _pin(self, manifest: Manifest) -> Pin | None:
        if self.root and pin_folder(self.root, manifest.version).is_dir():
            return read_pin(self.root, manifest.version)
        self.notes.append(f"no pin v{manifest.version} here: only the files of the series were compared")
        return None

    def _nearest(self, blobs: Mapping[str, str]) -> str:
        found = find_release(blobs, self.access, max_downloads=0)
        best = found.belonging.best
        return f"v{best.version}, {len(best.same)} of {len(blobs)} files" if best else ""

    def _verdict(self, standing: Standing | None, problems: Sequence[FileProblem]) -> str:
        if standing is None:
            return "unknown"
        if standing.carries is Carries.UPSTREAM and not problems:
            return "upstream"
        if problems:
            return "modified"
        if self._is_stored(standing.manifest):
            return "unmodified"
        self.notes.append("only its own record vouches for it")
        return "foreign" if self.root else "unmodified"

    def _lies(self, standing: Standing | None) -> tuple[LabelProblem, ...]:
        facts = self.witness.facts
        if facts is None:
            return ()
        claimed = f"{LABEL}.pin"
        if standing is None or standing.carries is Carries.UPSTREAM:
            return (LabelProblem(claimed, facts.labels[claimed], "no series"),) if claimed in facts.labels else ()
        manifest = standing.manifest
        truth = {
            claimed: f"v{manifest.version}",
            f"{LABEL}.series.sha256": manifest.sha256,
            f"{LABEL}.topics": ",".join(manifest.topics),
        }
        return (*find_lies(facts.labels, truth), *self._base_lies(facts.labels))

    def _base_lies(self, labels: Mapping[str, str]) -> list[LabelProblem]:
        name, digest = labels.get(f"{OCI}.base.name", ""), labels.get(f"{OCI}.base.digest", "")
        base = self.engine.inspect(name) if self.engine and name else None
        if base is None:
            self.notes.append(f"the base {name or 'image'} is not here: its labels were not checked")
            return []
        known = (base.digest, base.id)
        return [] if digest in known else [LabelProblem(f"{OCI}.base.digest", digest, base.digest or base.id)]


# -- witnesses --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImageWitness:
    """An image, asked by the engine: no network, nothing written."""

    engine: Engine
    facts: ImageFacts

    def ask(self, context: Path, *words: str) -> dict[str, Any]:
        """Run inimage.py in the image."""
        for path in (context, *context.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)
        inside = [word.replace("{context}", "/patchkit") for word in words]
        command = ("python3", "/patchkit/inimage.py", *inside, "--json")
        ran = self.engine.run(RunRequest(self.facts.id, command, _LOOK_S, mounts=(Mount(context, "/patchkit"),)))
        return _report(ran.stdout, ran.stderr, f"{self.engine.name} image {self.facts.id}")

    def record(self) -> bytes:
        """Read the manifest in the image."""
        ran = self.engine.run(RunRequest(self.facts.id, ("cat", RECORD), _LOOK_S))
        return ran.stdout if ran.status == 0 else b""


@dataclass(frozen=True, slots=True)
class DirectoryWitness:
    """A checkout, a wheel tree or a site-packages folder, looked at by our own Python."""

    directory: Path
    facts: ImageFacts | None = None

    def ask(self, context: Path, *words: str) -> dict[str, Any]:
        """Run inimage.py on the directory; its code is read, never imported."""
        inside = [word.replace("{context}", str(context)) for word in words]
        folder = package_folder(self.directory.resolve()).parent
        command = [sys.executable, "-I", str(context / "inimage.py"), *inside, "--root", str(folder), "--json"]
        done = run(command, cwd=context, timeout_s=_LOOK_S, allowed=range(256))
        return _report(done.stdout, done.stderr, str(self.directory))

    def record(self) -> bytes:
        """Return what a venv image keeps beside its tree."""
        path = self.directory / RECORD.lstrip("/")
        return path.read_bytes() if path.is_file() else b""


def _named(place: str, paths: Sequence[str]) -> str:
    """Return the repository path of a file in the target; its place there, where it has none."""
    return next((path for path in paths if place.endswith(path.removeprefix("python"))), place)


def _report(stdout: bytes, stderr: bytes, where: str) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(stdout)
    except ValueError as exc:
        tail = stderr.decode("utf-8", "replace").strip()
        raise CommandError("it cannot be asked what it carries", where=where, found=tail) from exc
    refused = report.get("error")
    if refused and refused["code"] != 4:
        raise ConfigError(refused["what"], where=where, found="\n".join(refused["found"]), hint=refused["hint"])
    return report


# -- documents --------------------------------------------------------------------------------------------


def _with_documents(
    result: Inspect, look: _Look, documents: Documents, manifest: Manifest | None, blobs: Mapping[str, str]
) -> Inspect:
    """Write what was asked for, if the series is there as the store has it."""
    asked = {documents.cyclonedx: cyclonedx, documents.provenance: provenance}
    asked.pop(None, None)
    if not asked:
        return result
    reason = "it is not an unmodified series that is labelled as it is" if result.exit_code else ""
    if not reason and (manifest is None or look.root is None or not result.in_store):
        reason = "the series is not one of this store"
    if reason:
        return replace(result, notes=(*result.notes, f"no document was written: {reason}"))
    assert manifest is not None
    assert look.root is not None
    about = _attested(result, look.root, manifest, look.witness.facts, blobs)
    for path, document in asked.items():
        assert path is not None
        replace_file(path.absolute(), (json.dumps(document(about), indent=2) + "\n").encode())
    return replace(result, written=tuple(str(path) for path in asked))


def _attested(
    result: Inspect, root: Path, manifest: Manifest, facts: ImageFacts | None, blobs: Mapping[str, str]
) -> Attested:
    pin = read_pin(root, manifest.version)
    topics = read_topics(root)
    labels = facts.labels if facts else {}
    patches = []
    for file in read_series_names(root, pin.name):
        name = file.removesuffix(".patch")
        text = (pin_folder(root, pin.name) / file).read_bytes()
        sha256 = hashlib.sha256(text).hexdigest()
        patches.append(AttestedPatch(name, f"{PATCHES}/{pin.name}/{file}", sha256, text, topics.get(name)))
    base = labels.get(f"{OCI}.base.name", "")
    return Attested(
        name=result.target if facts else "python/sglang",
        digest=_digest(facts, blobs),
        version=labels.get(f"{OCI}.version", ""),
        created=labels.get(f"{OCI}.created", ""),
        pin=pin,
        series=manifest.sha256,
        patches=patches,
        base=(base, *_split_digest(labels.get(f"{OCI}.base.digest", ""))) if base else None,
        revision=labels.get(f"{OCI}.revision", ""),
        engine=result.engine or "none",
        tool_version=__version__,
    )


def _digest(facts: ImageFacts | None, blobs: Mapping[str, str]) -> tuple[str, str]:
    """Return the image's digest; of a directory, or an image that is one, sha256 over "<blob id> <path>" lines."""
    for digest in (facts.digest, facts.id) if facts else ():
        algorithm, value = _split_digest(digest)
        if algorithm == "sha256":
            return algorithm, value
    listed = "".join(f"{blob} {path}\n" for path, blob in sorted(blobs.items()))
    return "patchkit.blobs", hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()


def _split_digest(digest: str) -> tuple[str, str]:
    algorithm, colon, value = digest.partition(":")
    if colon and len(value) == 64:
        return algorithm, value
    return ("sha256", digest) if len(digest) == 64 else ("patchkit.path", digest)
