"""apply: write a series, or one patch file, into a checkout, or take it out again; all of it or nothing."""

import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchkit.applied import Applied, AppliedFile
from patchkit.checkout import Checkout, OnDisk, find_checkout, read_head, read_on_disk, stated_version
from patchkit.composing import Composition, Work, compose, take_out
from patchkit.errors import CommandError, ConfigError, ConflictError, VerifyError
from patchkit.hunks import SOURCE_PREFIX, TopicPatch, Verdict
from patchkit.journal import Replacement, hold, is_interrupted, is_writable, replace_files
from patchkit.patchtext import blob_id, read_patch
from patchkit.record import Layer, Record, Side, read_record, read_saved, record_documents
from patchkit.rules.text import refuse_faults
from patchkit.standing import ABSENT, FileStanding, Standing, find_standing, id_of, series_paths

if TYPE_CHECKING:
    from patchkit.upstream import Access

Identify = Callable[[Checkout, Mapping[str, str]], str]  # the checkout and blob ids by path -> "v0.5.13", or nothing
UNCHANGED = "checkout unchanged"


class Wish(NamedTuple):
    """What the user asks for. topics: only these; empty: all."""

    reverse: bool = False
    topics: tuple[str, ...] = ()
    dry_run: bool = False


class Situation(NamedTuple):
    """What is in the checkout now, and what was there before any topic.

    base: the pristine files; None where nothing proves what they were.
    layer: our record of this work, if it still holds.
    """

    verdict: Verdict
    topics: tuple[str, ...]
    base: Mapping[str, OnDisk] | None
    layer: Layer | None = None


class Plan(NamedTuple):
    """What would be done. replacements: by path; empty: nothing is to be done."""

    situation: Situation
    topics: tuple[str, ...]
    composition: Composition
    replacements: Mapping[str, Replacement]
    documents: Mapping[str, bytes | None]


def apply_series(
    checkout: Path, root: Path, pin: str | None, wish: Wish, access: "Callable[[], Access] | None" = None
) -> Applied:
    """Write a pin's series into a checkout, or take it out again.

    access: how to reach the object store; asked only where the checkout is not at its pin, to say what it is.
    """
    identify = partial(release_by_ids, access) if access else stated_release
    return apply_work(checkout, series_work(root, pin), wish, identify=identify)


def apply_patch(checkout: Path, patch_file: Path, wish: Wish) -> Applied:
    """Write one patch file into a checkout, or take it out again."""
    return apply_work(checkout, patch_work(patch_file), wish, identify=stated_release)


def series_work(root: Path, pin: str | None) -> Work:
    """Return a pin's series as work to be applied."""
    from patchkit.store import PATCHES, chosen_pin, read_series

    name = chosen_pin(root, pin)
    series = read_series(root, name)
    sources = tuple(f"{PATCHES}/{name}/{topic.topic}.patch" for topic in series.topics)
    return Work(name, series.topics, sources, exact=True)


def patch_work(patch_file: Path) -> Work:
    """Return one patch file as work to be applied."""
    try:
        raw = patch_file.read_bytes()
    except OSError as exc:
        raise ConfigError("the patch file cannot be read", where=str(patch_file), found=exc.strerror or "") from exc
    patch = read_patch(raw, name=str(patch_file))
    topic = TopicPatch(patch_file.stem, patch)
    return Work(patch_file.name, (topic,), (str(patch_file),), key=str(patch_file.resolve()))


def apply_work(directory: Path, work: Work, wish: Wish, *, identify: Identify) -> Applied:
    """Bring the checkout into the state that is asked for, in one step, and prove it by reading it back."""
    for topic, source in zip(work.topics, work.sources, strict=True):
        refuse_faults(topic.patch, name=source)
    _refuse_unknown_topics(work, wish)
    checkout = find_checkout(directory)
    if wish.dry_run or not is_writable(checkout.state):
        return _only_plan(checkout, work, wish, identify)
    with hold(checkout.state) as recovered:
        plan = make_plan(checkout, work, wish, identify=identify)
        if plan.replacements:
            replace_files(checkout.state, tuple(plan.replacements.values()), plan.documents)
            _prove(checkout, plan)
    return _result(checkout, work, wish, plan, recovered)


def make_plan(checkout: Checkout, work: Work, wish: Wish, *, identify: Identify) -> Plan:
    """Decide what is to be done; nothing is written."""
    record = read_record(checkout.state)
    revision = work.revision
    layer = record.of(work.record_key, revision)
    key = layer.label if layer else work.record_key
    paths = dict.fromkeys([*series_paths(work.topics), *(layer.files if layer else ())])
    disk = {path: read_on_disk(checkout, path) for path in paths}
    situation = find_situation(checkout, work, record, disk, identify=identify)
    topics = _wished_topics(work, wish, situation)
    if _holds(work, wish, situation, topics):
        return Plan(situation, topics, Composition({}), {}, {})
    if situation.base is None:
        raise ConfigError(
            f"nothing proves that {work.label} was applied here, so it is not taken out",
            where=str(checkout.given),
            found="its hunks are there, but the files are not those that its index lines name",
            kept=UNCHANGED,
        )
    _refuse_covered(record, key, disk)
    chosen = tuple(topic for topic in work.topics if topic.topic in topics)
    base = {path: file.content for path, file in situation.base.items()}
    composition = compose(chosen, base)
    if not composition.ok:
        raise conflict(work, composition, f"this {_kind(work)} does not apply")
    after = {path: _after(path, situation.base, composition, checkout) for path in disk}
    replacements = {
        path: Replacement(checkout.locate(path) or "", file.content, after[path].content, after[path].mode, file.mode)
        for path, file in disk.items()
        if (file.content, file.mode) != (after[path].content, after[path].mode)
        and (file.content, after[path].content) != (None, None)
    }
    new_layer = Layer(key, revision, topics, _changes(situation.base, after))
    others = record if situation.layer else record.without(key)
    new_record = others.with_layer(new_layer) if topics else record.without(key)
    contents = [(blob_id(file.content), file.content) for file in situation.base.values() if file.content is not None]
    return Plan(situation, topics, composition, replacements, record_documents(checkout.state, new_record, contents))


# -- what is there --------------------------------------------------------------------------------------------


def find_situation(
    checkout: Checkout, work: Work, record: Record, disk: Mapping[str, OnDisk], *, identify: Identify
) -> Situation:
    """Return the one verdict for the whole series: by our record where it holds, else by ids, else by content.

    Raises: ConfigError or ConflictError where the checkout is neither upstream's nor ours.
    """
    layer = record.of(work.record_key, work.revision)
    if layer is not None:
        situation = _recorded(checkout, work, record, layer, disk)
        if situation is not None:
            return situation
    files = {path: file.content for path, file in disk.items()}
    executable = {path: bool(file.mode & 0o100) for path, file in disk.items() if file.content is not None}
    standing = find_standing(work.topics, files, executable=executable)
    match standing.verdict:
        case Verdict.PRISTINE:
            return Situation(standing.verdict, (), disk)
        case Verdict.APPLIED | Verdict.PARTLY | Verdict.OLDER:
            return _without_record(work, standing, files, disk)
        case Verdict.MIXED:
            raise _mixed(work, standing)
        case Verdict.UNKNOWN:
            _refuse_another_layer(work, record, standing)
            if work.exact:
                raise _not_at_pin(checkout, work, standing, files, identify)
            return _by_content(work, files, disk)


def _recorded(
    checkout: Checkout, work: Work, record: Record, layer: Layer, disk: Mapping[str, OnDisk]
) -> Situation | None:
    """Return the situation as our record has it; None if somebody else has put everything back."""
    present = {path: _blob(disk[path]) for path in layer.files}
    expected = {path: sides[1].blob for path, sides in layer.files.items()}
    for upper in record.above(layer.label):
        if _still_holds(upper, disk):
            expected |= {path: after.blob for path, (_, after) in upper.files.items() if path in expected}
    if present == expected:
        base = dict(disk)
        for path, (before, _) in layer.files.items():
            base[path] = OnDisk(read_saved(checkout.state, before.blob) if before.blob else None, before.mode)
        verdict = Verdict.OLDER
        if layer.revision == work.revision:
            verdict = Verdict.APPLIED if len(layer.topics) == len(work.topics) else Verdict.PARTLY
        return Situation(verdict, layer.topics, base, layer)
    if all(present[path] == before.blob for path, (before, _) in layer.files.items()):
        return None
    changed = [path for path in layer.files if present[path] != expected[path]]
    raise ConfigError(
        f"{_count(len(changed), 'file was', 'files were')} changed since {layer.label} was applied",
        where="\n".join(changed),
        found="\n".join(f"{path} is {_short(present[path])}, was left as {_short(expected[path])}" for path in changed),
        kept=UNCHANGED,
        hint="put the edit aside (git stash, or a copy), then try again",
    )


def _still_holds(layer: Layer, disk: Mapping[str, OnDisk]) -> bool:
    """Whether the files that both have are as the layer left them: somebody may have taken it out by other means."""
    return all(_blob(disk[path]) == after.blob for path, (_, after) in layer.files.items() if path in disk)


def _without_record(
    work: Work, standing: Standing, files: Mapping[str, bytes | None], disk: Mapping[str, OnDisk]
) -> Situation:
    """Return the situation that the ids prove, with the pristine files made by taking the topics out again."""
    inside = work.topics[: standing.topics]
    out = take_out(inside, files)
    pristine = {file.path: file.pristine for file in standing.files}
    proven = out.ok and find_standing(work.topics, out.files).verdict is Verdict.PRISTINE and all(pristine.values())
    base = {
        path: OnDisk(out.files[path], _with_bit(file.mode, out.executable.get(path))) for path, file in disk.items()
    }
    return Situation(standing.verdict, tuple(topic.topic for topic in inside), base if proven else None)


def _by_content(work: Work, files: Mapping[str, bytes | None], disk: Mapping[str, OnDisk]) -> Situation:
    """Return the situation of a patch file whose index lines name other files than these.

    Raises: ConflictError where its hunks are neither all absent nor all there; ConfigError where they seem both.
    """
    forwards, backwards = compose(work.topics, files), take_out(work.topics, files)
    if forwards.ok and backwards.ok:
        raise ConfigError(
            f"{work.label} could be applied here, and could be taken out as well: nothing tells which",
            found="the files are not those that its index lines name",
            kept=UNCHANGED,
            hint="make the patch for these files again, with `git diff --full-index`",
        )
    if forwards.ok:
        return Situation(Verdict.PRISTINE, (), disk)
    if backwards.ok:
        return Situation(Verdict.APPLIED, tuple(topic.topic for topic in work.topics), None)
    raise conflict(work, forwards, "this patch does not apply")


def stated_release(checkout: Checkout, _present: Mapping[str, str]) -> str:
    """Return the release that the checkout calls itself, for messages."""
    version = stated_version(checkout)
    return f"v{version} by its own word" if version else ""


def release_by_ids(access: "Callable[[], Access]", checkout: Checkout, present: Mapping[str, str]) -> str:
    """Return the release whose blobs the touched files are, among those in the cache; else what it calls itself."""
    from patchkit.releases import find_release

    version = stated_version(checkout)
    stated = {path: blob for path, blob in present.items() if blob != ABSENT and path.startswith(SOURCE_PREFIX)}
    try:
        best = find_release(stated, replace(access(), offline=True), labels=[version]).belonging.best
    except CommandError:
        best = None  # no git, or no cache: what it calls itself is better than nothing
    if best is None:
        return stated_release(checkout, present)
    count = f"{len(best.same)} of {len(stated)} touched files"
    return f"v{best.version} by the blob ids of {count}"


# -- what is wished -------------------------------------------------------------------------------------------


def _refuse_unknown_topics(work: Work, wish: Wish) -> None:
    names = [topic.topic for topic in work.topics]
    unknown = [topic for topic in wish.topics if topic not in names]
    if unknown:
        raise ConfigError(f"{work.label} has no topic {unknown[0]}", found=f"topics: {', '.join(names)}")


def _wished_topics(work: Work, wish: Wish, situation: Situation) -> tuple[str, ...]:
    """Return the topics that are to be in at the end, in series order."""
    everything = tuple(topic.topic for topic in work.topics)
    asked = wish.topics or everything
    if wish.reverse:
        kept = [] if not wish.topics else situation.topics
        return tuple(topic for topic in kept if topic not in asked)
    return tuple(topic for topic in everything if topic in asked or topic in situation.topics)


def _holds(work: Work, wish: Wish, situation: Situation, topics: tuple[str, ...]) -> bool:
    """Whether what is wished is there already."""
    if situation.verdict is Verdict.OLDER and topics:
        return False
    return set(topics) == set(situation.topics)


def _refuse_another_layer(work: Work, record: Record, standing: Standing) -> None:
    """Raise if what makes the files unknown is another pin's series that is applied here."""
    unknown = {file.path: file.present for file in standing.unknown}
    for layer in record.layers if work.exact else ():
        ours = {path for path, (_, after) in layer.files.items() if unknown.get(path) == (after.blob or ABSENT)}
        if ours:
            raise ConfigError(
                f"{layer.label} is applied here; {work.label} cannot be applied on top of it",
                where="\n".join(sorted(ours)),
                kept=UNCHANGED,
                hint=f"take {layer.label} out first (apply --reverse)",
            )


def _refuse_covered(record: Record, label: str, disk: Mapping[str, OnDisk]) -> None:
    for layer in record.above(label):
        shared = sorted(set(disk) & set(layer.files))
        if shared and _still_holds(layer, disk):
            raise ConfigError(
                f"{layer.label} was applied on top of {label}",
                where="\n".join(shared),
                kept=UNCHANGED,
                hint=f"take {layer.label} out first (apply --reverse)",
            )


def _after(path: str, base: Mapping[str, OnDisk], composition: Composition, checkout: Checkout) -> OnDisk:
    """Return the file as it is to be: modes stay, but for the executable bit where a topic changes it."""
    content = composition.files.get(path)
    executable = composition.executable.get(path)
    source = base[composition.sources.get(path, path)]
    mode = source.mode
    if source.content is None and content is not None:
        mode = _mode_of_new_file(checkout.locate(path) or "")
    return OnDisk(content, _with_bit(mode, executable))


def _with_bit(mode: int, executable: bool | None) -> int:
    """Return the mode with the executable bit set, for those who may read, or cleared; None: as it is."""
    if executable is None:
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def _mode_of_new_file(place: str) -> int:
    """Return what the folder's own mode lets read and write: the umask of an image build is no guide."""
    for folder in Path(place).parents:
        if folder.is_dir():
            return stat.S_IMODE(folder.stat().st_mode) & 0o666
    return 0o644


def _changes(base: Mapping[str, OnDisk], after: Mapping[str, OnDisk]) -> dict[str, tuple[Side, Side]]:
    return {path: (_side(base[path]), _side(file)) for path, file in after.items() if base[path] != file}


# -- doing and telling ----------------------------------------------------------------------------------------


def _only_plan(checkout: Checkout, work: Work, wish: Wish, identify: Identify) -> Applied:
    if is_interrupted(checkout.state):
        raise ConfigError(
            "a command was interrupted here",
            where=str(checkout.given),
            hint="run it again: it is finished or undone first",
        )
    plan = make_plan(checkout, work, wish, identify=identify)
    if plan.replacements and not wish.dry_run:
        raise CommandError("the checkout cannot be written", where=str(checkout.given), kept=UNCHANGED)
    return _result(checkout, work, wish, plan, "")


def _prove(checkout: Checkout, plan: Plan) -> None:
    """Read back what was written."""
    for path, item in plan.replacements.items():
        if read_on_disk(checkout, path).content != item.after:
            raise VerifyError(
                f"{path} is not what was written", where=item.place, hint="is another program writing here?"
            )


def _result(checkout: Checkout, work: Work, wish: Wish, plan: Plan, recovered: str) -> Applied:
    return Applied(
        checkout=str(checkout.given),
        label=work.label,
        verdict=plan.situation.verdict,
        topics_before=plan.situation.topics,
        topics=plan.topics,
        series=tuple(topic.topic for topic in work.topics),
        reverse=wish.reverse,
        dry_run=wish.dry_run,
        files=tuple(_changed_file(path, item) for path, item in plan.replacements.items()),
        hunks=plan.composition.hunks,
        offsets={hunk.name: offset for hunk, offset in plan.composition.offsets},
        recovered=recovered,
    )


def _changed_file(path: str, item: Replacement) -> AppliedFile:
    return AppliedFile(path, id_of(item.before), id_of(item.after))


def conflict(work: Work, composition: Composition, what: str, *, found: str = "", hint: str = "") -> ConflictError:
    """Return the error that lists every hunk without a place."""
    sources = dict(zip((topic.topic for topic in work.topics), work.sources, strict=True))
    misses = composition.misses
    lost = sum(1 if miss.hunk else len(miss.section.hunks) for miss in misses)
    count = f"{lost} of {_count(composition.hunks, 'hunk has', 'hunks have')} no place"
    return ConflictError(
        f"{what}: {count}",
        where="\n".join(f"{miss.name} ({sources[miss.topic]}:{miss.patch_line})" for miss in misses),
        found="\n".join([*([found] if found else []), *(f"{miss.name}: {miss.reason}" for miss in misses)]),
        kept=UNCHANGED,
        hint=hint,
    )


def _mixed(work: Work, standing: Standing) -> ConfigError:
    def told(file: FileStanding) -> str:
        last = max(file.after)
        return f"{file.path}: " + (f"as after topic {work.topics[last - 1].topic}" if last else "pristine")

    return ConfigError(
        f"the checkout is mixed: some files have {work.label}, some have not",
        where="\n".join(file.path for file in standing.files),
        found="\n".join(told(file) for file in standing.files),
        kept=UNCHANGED,
        hint="put the files back as upstream has them (git checkout -- FILE, or install the wheel again)",
    )


def _not_at_pin(
    checkout: Checkout, work: Work, standing: Standing, files: Mapping[str, bytes | None], identify: Identify
) -> ConfigError | ConflictError:
    """Return the error of a checkout that is another release, or the right one with a foreign edit."""
    if all(file.present == ABSENT for file in standing.files):
        return ConfigError(
            f"none of the {len(standing.files)} files that {work.label} changes is here",
            where=str(checkout.given),
            kept=UNCHANGED,
            hint="name a checkout of sglang, a site-packages folder or the sglang package itself",
        )
    foreign = [
        f"{file.path} is {_short(file.present)}, {work.label} has {_short(file.pristine)}" for file in standing.unknown
    ]
    if len(standing.unknown) * 2 <= len(standing.files):
        return ConfigError(
            f"{_count(len(foreign), 'file is', 'files are')} neither upstream's nor ours",
            where="\n".join(file.path for file in standing.unknown),
            found="\n".join(foreign),
            kept=UNCHANGED,
            hint="put the edit aside (git stash, or a copy), then try again",
        )
    commit = read_head(checkout)
    release = identify(checkout, {file.path: file.present for file in standing.files})
    composition = compose(work.topics, files)
    known = release or "no release that is known here"
    known += f", at commit {commit}" if commit else ""
    found = f"the checkout is {known}; {len(foreign)} of {len(standing.files)} files differ"
    version = release.split(" ")[0]
    hint = (
        f"patchkit rebase --from {work.label} --onto {version}"
        if version
        else "patchkit identify " + str(checkout.given)
    )
    if not composition.ok:
        what = f"series {work.label} does not apply to {version or 'this checkout'}"
        return conflict(work, composition, what, found=found, hint=hint)
    return ConfigError(
        "the checkout is not at its pin",
        where=str(checkout.given),
        found=f"{found}; that every hunk finds a place proves nothing",
        kept=UNCHANGED,
        hint=hint,
    )


def _kind(work: Work) -> str:
    return "series" if work.exact else "patch"


def _side(file: OnDisk) -> Side:
    return Side(_blob(file), file.mode)


def _blob(file: OnDisk) -> str:
    return "" if file.content is None else blob_id(file.content)


def _short(blob: str) -> str:
    return blob[:12] if blob.strip("0") else "missing"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
