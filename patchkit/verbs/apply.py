"""apply: write a series, or one patch file, into a checkout, or take it out again; all of it or nothing."""

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from patchkit.checkout.directory import Checkout, OnDisk, find_checkout, read_files, stated_version
from patchkit.checkout.journal import Replacement, hold, is_interrupted, replace_files
from patchkit.checkout.lock import is_writable
from patchkit.checkout.record import RECORD, Layer, Record, Side, read_record, record_document
from patchkit.checkout.situation import (
    UNCHANGED,
    Identify,
    Situation,
    blob_of,
    conflict,
    find_situation,
    still_holds,
    with_executable_bit,
)
from patchkit.errors import CommandError, ConfigError, VerifyError
from patchkit.patch.composing import Composition, Work, compose
from patchkit.patch.hunks import SOURCE_PREFIX, TopicPatch, Verdict
from patchkit.patch.patchtext import blob_id, read_patch
from patchkit.patch.standing import ABSENT, id_of, series_paths
from patchkit.results.apply import Applied, AppliedFile
from patchkit.rules.text import refuse_faults

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.upstream.access import Access


class Wish(NamedTuple):
    """What the user asks for. topics: only these; empty: all."""

    reverse: bool = False
    topics: tuple[str, ...] = ()
    dry_run: bool = False


class Plan(NamedTuple):
    """What would be done. replacements: by path; empty: nothing is to be done."""

    situation: Situation
    topics: tuple[str, ...]
    composition: Composition
    replacements: Mapping[str, Replacement]
    documents: Mapping[str, bytes | None]


def apply_series(
    checkout: "Path | str", root: "Path", pin: str | None, wish: Wish, access: "Callable[[], Access] | None" = None
) -> Applied:
    """Write a pin's series into a checkout, or take it out again.

    access: how to reach the object store; asked only where the checkout is not at its pin, to say what it is.
    """
    identify = partial(release_by_ids, access) if access else stated_release
    return apply_work(checkout, series_work(root, pin), wish, identify=identify)


def apply_patch(checkout: "Path | str", patch_file: "Path | str", wish: Wish) -> Applied:
    """Write one patch file into a checkout, or take it out again."""
    return apply_work(checkout, patch_work(patch_file), wish, identify=stated_release)


def series_work(root: "Path", pin: str | None) -> Work:
    """Return a pin's series as work to be applied."""
    from patchkit.store import PATCHES, chosen_pin, read_series

    name = chosen_pin(root, pin)
    series = read_series(root, name)
    sources = tuple(f"{PATCHES}/{name}/{topic.topic}.patch" for topic in series.topics)
    return Work(name, series.topics, sources, exact=True)


def patch_work(patch_file: "Path | str") -> Work:
    """Return one patch file, or what comes on stdin (`-`), as work to be applied."""
    given = os.fspath(patch_file)
    if given == "-":
        raw = sys.stdin.buffer.read()
        return Work("stdin", (TopicPatch("stdin", read_patch(raw, name="stdin")),), ("stdin",), key=blob_id(raw))
    try:
        with open(given, "rb") as stream:
            raw = stream.read()
    except OSError as exc:
        raise ConfigError("the patch file cannot be read", where=given, found=exc.strerror or "") from exc
    name = os.path.basename(given)
    topic = TopicPatch(os.path.splitext(name)[0], read_patch(raw, name=given))
    return Work(name, (topic,), (given,), key=os.path.realpath(given))


def apply_work(directory: "Path | str", work: Work, wish: Wish, *, identify: Identify) -> Applied:
    """Bring the checkout into the state that is asked for, in one step, and prove it by reading it back."""
    for topic, source in zip(work.topics, work.sources, strict=True):
        refuse_faults(topic.patch, name=source)
    _refuse_unknown_topics(work, wish)
    checkout = find_checkout(directory)
    if wish.dry_run or not is_writable(checkout.state):
        return _only_plan(checkout, work, wish, identify)
    with hold(checkout.site) as recovered:
        plan = make_plan(checkout, work, wish, identify=identify)
        if plan.replacements:
            replace_files(checkout.site, tuple(plan.replacements.values()), plan.documents)
            _prove(checkout, plan)
    return _result(checkout, work, wish, plan, recovered)


def make_plan(checkout: Checkout, work: Work, wish: Wish, *, identify: Identify) -> Plan:
    """Decide what is to be done; nothing is written."""
    record = read_record(checkout.state)
    revision = work.revision
    layer = record.of(work.record_key, revision)
    key = layer.label if layer else work.record_key
    paths = dict.fromkeys([*series_paths(work.topics), *(layer.files if layer else ())])
    disk = read_files(checkout, paths)
    situation = find_situation(checkout, work, record, disk, identify=identify)
    topics = _wished_topics(work, wish, situation)
    if _holds(work, wish, situation, topics):
        return Plan(situation, topics, Composition({}), {}, {})
    if situation.base is None:
        raise ConfigError(
            f"nothing proves that {work.label} was applied here, so it is not taken out",
            where=checkout.given,
            found="its hunks are there, but the files are not those that its index lines name",
            kept=UNCHANGED,
        )
    _refuse_covered(record, key, disk)
    chosen = tuple(topic for topic in work.topics if topic.topic in topics)
    base = {path: file.content for path, file in situation.base.items()}
    composition = compose(chosen, base)
    if not composition.ok:
        needed = _with_needed(work, topics, base)
        more = ", ".join(name for name in needed if name not in topics)
        hint = f"patchkit apply {checkout.given} --pin {work.label} {' '.join(f'--topic {name}' for name in needed)}"
        raise conflict(
            work,
            composition,
            f"this {_kind(work)} does not apply",
            found=f"it needs {more} before it" if more else "",
            hint=hint if more else "",
        )
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
    return Plan(situation, topics, composition, replacements, {RECORD: record_document(new_record, contents)})


def _with_needed(work: Work, topics: Sequence[str], base: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """Return these topics with those before them without which they do not apply; nothing if none help."""
    last = max((at for at, topic in enumerate(work.topics) if topic.topic in topics), default=-1)
    needed = list(work.topics[: last + 1])
    if not compose(needed, base).ok:
        return ()
    for topic in reversed(work.topics[:last]):
        fewer = [each for each in needed if each is not topic]
        if topic.topic not in topics and compose(fewer, base).ok:
            needed = fewer
    return tuple(topic.topic for topic in needed)


# -- what is there --------------------------------------------------------------------------------------------


def stated_release(checkout: Checkout, _present: Mapping[str, str]) -> str:
    """Return the release that the checkout calls itself, for messages."""
    version = stated_version(checkout)
    return f"v{version} by its own word" if version else ""


def release_by_ids(access: "Callable[[], Access]", checkout: Checkout, present: Mapping[str, str]) -> str:
    """Return the release whose blobs the touched files are, among those in the cache; else what it calls itself."""
    from patchkit.upstream.releases import find_release

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


def _refuse_covered(record: Record, label: str, disk: Mapping[str, OnDisk]) -> None:
    for layer in record.above(label):
        shared = sorted(set(disk) & set(layer.files))
        if shared and still_holds(layer, disk):
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
        mode = _mode_of_new_file(checkout.locate(path) or checkout.state)
    return OnDisk(content, with_executable_bit(mode, executable))


def _mode_of_new_file(place: str) -> int:
    """Return what the folder's own mode lets read and write: the umask of an image build is no guide."""
    folder = os.path.dirname(place)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return stat.S_IMODE(os.stat(folder).st_mode) & 0o666


def _changes(base: Mapping[str, OnDisk], after: Mapping[str, OnDisk]) -> dict[str, tuple[Side, Side]]:
    return {path: (_side(base[path]), _side(file)) for path, file in after.items() if base[path] != file}


# -- doing and telling ----------------------------------------------------------------------------------------


def _only_plan(checkout: Checkout, work: Work, wish: Wish, identify: Identify) -> Applied:
    if is_interrupted(checkout.state):
        raise ConfigError(
            "a command was interrupted here",
            where=checkout.given,
            hint="run it again: it is finished or undone first",
        )
    plan = make_plan(checkout, work, wish, identify=identify)
    if plan.replacements and not wish.dry_run:
        raise CommandError("the checkout cannot be written", where=checkout.given, kept=UNCHANGED)
    return _result(checkout, work, wish, plan, "")


def _prove(checkout: Checkout, plan: Plan) -> None:
    """Read back what was written."""
    for path, found in read_files(checkout, plan.replacements).items():
        item = plan.replacements[path]
        if found.content != item.after:
            raise VerifyError(
                f"{path} is not what was written", where=item.place, hint="is another program writing here?"
            )


def _result(checkout: Checkout, work: Work, wish: Wish, plan: Plan, recovered: str) -> Applied:
    return Applied(
        checkout=checkout.given,
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


def _kind(work: Work) -> str:
    return "series" if work.exact else "patch"


def _side(file: OnDisk) -> Side:
    return Side(blob_of(file), file.mode)
