"""verify: prove that a series is right, not only that it applies. Read-only; works from the object store alone."""

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from patchkit.checkout.directory import find_checkout, stated_version
from patchkit.errors import ConfigError
from patchkit.lint import lint
from patchkit.model import Finding, Manifest
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.patch.patchtext import blob_id
from patchkit.results.verify import Accepted, Verified, Verify
from patchkit.rules import (
    application,
    base,
    callees,
    callers,
    contract,
    elsewhere,
    guards,
    placement,
    python,
    single,
    store,
)
from patchkit.rules.accept import Acceptance, judge
from patchkit.rules.compose import Composed, NamedPatch, compose, inside, outside_paths, touched_paths
from patchkit.rules.subject import Lint, Lock, Subject
from patchkit.rules.symbols import Symbols
from patchkit.rules.text import lint_text
from patchkit.series.facts import pin_facts, read_acceptances, read_all_guards, store_facts
from patchkit.source.guards import Guard
from patchkit.store import (
    COMBINED,
    MANIFEST,
    chosen_pin,
    pin_folder,
    read_manifest,
    read_pin,
    read_series_names,
)
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream, bring_pin, bring_version, package_folder
from patchkit.upstream.nameindex import NameIndex
from patchkit.versions import bare

Rule = Callable[[Subject], Iterable[Finding]]
TreeRule = Callable[[Subject, Symbols], Iterable[Finding]]
RULES: tuple[Rule, ...] = (base.find, application.find, placement.find, single.find, python.find)
# These look beyond the touched files.
TREE_RULES: tuple[TreeRule, ...] = (elsewhere.find, callees.find, contract.find, callers.find)


def verify_pins(root: Path, names: Sequence[str], access: Access, today: date | None = None) -> Verify:
    """Verify the store, and the series of these pins; of the latest one where none is named.

    today: decides which acceptances have ended; the day in UTC, unless it is given.
    """
    pins = [chosen_pin(root, name) for name in names] or [chosen_pin(root, None)]
    every = read_all_guards(root)
    day = today or datetime.now(UTC).date()
    with _without_collector():
        return Verify((_verify_store(root, every), *(_verify_pin(root, name, access, every, day) for name in pins)))


def verify_checkout(root: Path, name: str | None, checkout: Path, access: Access) -> Verify:
    """Verify a pin's series, and that a checkout is its pin with the series applied, file by file."""
    pin = chosen_pin(root, name)
    with _without_collector():
        proof = _prove(root, pin, access, read_all_guards(root))
        verified = proof.verified
        found = (*verified.findings, *_checkout_findings(proof.subject, proof.upstream, _Directory(checkout)))
        judged = _judged(replace(verified, findings=found), read_acceptances(root, pin), datetime.now(UTC).date())
    return Verify((replace(judged, name=f"{pin} in {checkout}"),))


def _checkout_findings(subject: Subject, upstream: Upstream, checkout: "_Directory") -> Iterator[Finding]:
    yield from base.find_in_checkout(subject, checkout.read(subject.files))
    entries = upstream.entries()
    beside = checkout.read(path for path in entries if path not in subject.files)
    differing = [path for path, text in beside.items() if text is None or blob_id(text) != entries[path].blob]
    yield from base.find_beside(differing, subject.pin.name if subject.pin else "")


def verify_text(files: Sequence[Path]) -> Verify:
    """Verify the text of patch files alone (PK1xx): no store, no upstream, no network."""
    return Verify(tuple(_verify_text(file) for file in files))


def _verify_text(file: Path) -> Verified:
    started = time.monotonic()
    reader = _Reader(Path.cwd())
    sections = [section for patch in reader.read(file, topic=file.stem) for section in patch.patch.files]
    return Verified(
        str(file),
        topics=(file.stem,),
        files=len(sections),
        hunks=sum(len(section.hunks) for section in sections),
        findings=tuple(reader.findings),
        not_run=("PK2xx to PK7xx: no --upstream to look at",),
        seconds=round(time.monotonic() - started, 3),
    )


def verify_patch(file: Path, upstream: str, access: Access, root: Path | None = None) -> Verify:
    """Verify one patch file, of any project, on an upstream version or a directory.

    root: a store, whose guards for this version the patch must keep as far as they are its business.
    """
    started = time.monotonic()
    reader = _Reader(Path.cwd())
    patches = [*reader.read(file, topic=file.stem)]
    tree = _Directory(Path(upstream)) if Path(upstream).is_dir() else bring_version(bare(upstream), access)
    whole = compose(patches, tree.read(touched_paths(patches)))
    index = tree.index() if isinstance(tree, _Directory) else NameIndex.of(tree, access)
    subject = Subject(None, whole.files, whole.steps, whole.sites, index=index, lint=_lint(whole, "3.12"))
    version = stated_version(find_checkout(tree.directory)) if isinstance(tree, _Directory) else tree.version
    every = read_all_guards(root) if root and version else []
    wanted = [guard for guard in every if guard.is_for(version)]
    guarded = tree.read(guards.guarded_paths(wanted))
    owed = guards.owed(subject, wanted, file.stem, guarded)
    verified = _verified(file.name, subject, patches, [*reader.findings, *guards.find(subject, owed, guarded)], started)
    left = sorted({guard.topic for guard in wanted} - {guard.topic for guard in owed})
    not_run = [f"PK7xx of {', '.join(left)}: the patch has no part in it"] if left else []
    if root and not version:
        not_run = ["PK7xx: the directory does not say which release it is"]
    return Verify((replace(verified, not_run=tuple(not_run)),))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Spare the cycle collector: syntax trees are many objects without cycles (0.12 of 0.88 s for one pin)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class _Proof:
    """A series that was looked at, with what it was looked at on."""

    verified: Verified
    subject: Subject
    upstream: Upstream


def _verify_pin(root: Path, name: str, access: Access, every: Sequence[Guard], today: date) -> Verified:
    return _judged(_prove(root, name, access, every).verified, read_acceptances(root, name), today)


def _prove(root: Path, name: str, access: Access, every: Sequence[Guard]) -> _Proof:
    """Look at the series of a pin; nothing is accepted yet."""
    started = time.monotonic()
    pin = read_pin(root, name)
    upstream = bring_pin(pin, access)
    reader = _Reader(root)
    folder = pin_folder(root, name)
    listed = read_series_names(root, name)
    carried = [patch for file in listed for patch in reader.read(folder / file, topic=file.removesuffix(".patch"))]
    patches = [inside(patch) for patch in carried]
    combined = list(reader.read(folder / COMBINED, topic="")) if (folder / COMBINED).is_file() else []
    wanted = [guard for guard in every if guard.is_for(pin.version)]
    touched = touched_paths(patches)
    contents = upstream.read(touched | guards.guarded_paths(wanted))
    whole = compose(patches, {path: contents[path] for path in touched})
    index = NameIndex.of(upstream, access)
    index.prime(contents)
    subject = Subject(
        pin,
        whole.files,
        whole.steps,
        whole.sites,
        index=index,
        lint=_lint(whole, pin.python),
        combined=combined[0].patch if combined else None,
        combined_file=reader.shown(folder / COMBINED),
        locked=_locked(_manifest(root, name)),
    )
    found = [
        *reader.findings,
        *guards.find(subject, wanted, contents),
        *store.find_in_pin(pin_facts(root, carried, whole, pin, upstream)),
    ]
    verified = _verified(name, subject, patches, found, started)
    index.keep()
    return _Proof(replace(verified, not_run=tuple(_not_run(carried))), subject, upstream)


def _judged(verified: Verified, acceptances: Sequence[Acceptance], today: date) -> Verified:
    judged = judge(verified.findings, acceptances, today)
    accepted = tuple(Accepted(finding, each.reason, each.until.isoformat()) for finding, each in judged.accepted)
    return replace(verified, findings=judged.findings, accepted=accepted)


def _verify_store(root: Path, every: Sequence[Guard]) -> Verified:
    """Verify what belongs to no pin: topics, tags, Dockerfiles."""
    started = time.monotonic()
    facts = store_facts(root, every)
    findings = tuple(store.find_in_store(facts))
    return Verified("store", tuple(facts.topics), 0, 0, findings, seconds=round(time.monotonic() - started, 3))


def _not_run(patches: Iterable[NamedPatch]) -> Iterator[str]:
    """Yield what cannot be looked at: files of the repository that no wheel holds."""
    for patch in patches:
        if paths := outside_paths(patch):
            yield f"{', '.join(paths)} ({patch.topic}): outside of python/sglang, which is all that a wheel holds"


@dataclass(slots=True)
class _Reader:
    """Reads patch files; one that is malformed becomes a finding, so that the others are looked at too."""

    root: Path
    findings: list[Finding]

    def __init__(self, root: Path) -> None:
        self.root = root
        self.findings = []

    def shown(self, file: Path) -> str:
        """Return the file's path as findings show it."""
        return str(file.relative_to(self.root)) if file.is_relative_to(self.root) else str(file)

    def read(self, file: Path, *, topic: str) -> Iterator[NamedPatch]:
        """Yield the patch; nothing where it is malformed."""
        shown = self.shown(file)
        try:
            raw = file.read_bytes()
        except OSError as exc:
            raise ConfigError(f"cannot read {file.name}", where=shown, found=exc.strerror or str(exc)) from exc
        patch, faults = lint_text(raw, name=shown)
        self.findings += (replace(fault, topic=topic) for fault in faults)
        if patch is not None:
            yield NamedPatch(topic, shown, patch)


def _verified(
    name: str, subject: Subject, patches: Sequence[NamedPatch], found: Sequence[Finding], started: float
) -> Verified:
    findings = [*found, *(finding for rule in RULES for finding in rule(subject))]
    if subject.index is not None:
        symbols = Symbols.of(subject)
        findings += [finding for rule in TREE_RULES for finding in rule(subject, symbols)]
    return Verified(
        name,
        topics=tuple(named.topic for named in patches),
        files=len(subject.files),
        hunks=len(subject.sites),
        findings=tuple(findings),
        seconds=round(time.monotonic() - started, 3),
    )


def _manifest(root: Path, name: str) -> Manifest | None:
    return read_manifest(root, name) if (pin_folder(root, name) / MANIFEST).is_file() else None


def _locked(manifest: Manifest | None) -> Mapping[tuple[str, int], Lock]:
    files = manifest.files if manifest else ()
    return {(file.path, hunk.number): Lock(hunk.scope, hunk.between) for file in files for hunk in file.hunks}


def _lint(whole: Composed, version: str) -> Lint:
    changed = [file for file in whole.files.values() if file.path.endswith(".py") and file.after != file.before]
    before = {file.path: file.before.text for file in changed if file.before}
    after = {file.path: file.after.text for file in changed if file.after}
    return lint(before, after, python=version)


class _Directory:
    """A directory as it stands: what is below python/sglang/ is the package, the rest is beside it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.package = package_folder(directory)

    def read(self, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Return the content of each path; None where there is no such file, or it would be outside."""
        return {path: self._read(path) for path in paths}

    def index(self) -> NameIndex:
        """Return the names of the directory, kept nowhere: it has no id."""
        return NameIndex(self.read, self._sources)

    def _read(self, path: str) -> bytes | None:
        is_inside = path.startswith(SOURCE_PREFIX)
        file = self.package / path.removeprefix(SOURCE_PREFIX) if is_inside else self.directory / path
        is_safe = ".." not in path.split("/") and not path.startswith("/")
        return file.read_bytes() if is_safe and file.is_file() else None

    def _sources(self) -> Mapping[str, bytes]:
        files = sorted(self.package.rglob("*.py"))
        return {SOURCE_PREFIX + file.relative_to(self.package).as_posix(): file.read_bytes() for file in files}
