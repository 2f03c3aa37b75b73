"""What is in a checkout: by our record where it holds, else by blob ids, else by content; or the reason why not."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from patchkit.checkout.directory import Checkout, OnDisk, read_head
from patchkit.checkout.record import Layer, Record
from patchkit.counting import count
from patchkit.errors import ConfigError, ConflictError
from patchkit.patch.composing import Composition, Work, compose, take_out
from patchkit.patch.hunks import Verdict
from patchkit.patch.patchtext import blob_id, reverse_section
from patchkit.patch.place import apply_sections
from patchkit.patch.standing import ABSENT, FileStanding, Standing, find_standing

Identify = Callable[[Checkout, Mapping[str, str]], str]  # the checkout and blob ids by path -> "v0.5.13", or nothing
UNCHANGED = "checkout unchanged"


class Situation(NamedTuple):
    """What is in the checkout now, and what was there before any topic.

    base: the pristine files; None where nothing proves what they were.
    layer: our record of this work, if it still holds.
    """

    verdict: Verdict
    topics: tuple[str, ...]
    base: Mapping[str, OnDisk] | None
    layer: Layer | None = None


def find_situation(
    checkout: Checkout, work: Work, record: Record, disk: Mapping[str, OnDisk], *, identify: Identify
) -> Situation:
    """Return the one verdict for the whole series: by our record where it holds, else by ids, else by content.

    Raises: ConfigError or ConflictError where the checkout is neither upstream's nor ours.
    """
    layer = record.of(work.record_key, work.revision)
    if layer is not None:
        situation = _recorded(work, record, layer, disk)
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


def _recorded(work: Work, record: Record, layer: Layer, disk: Mapping[str, OnDisk]) -> Situation | None:
    """Return the situation as our record has it; None if it no longer speaks of what is here."""
    present = {path: blob_of(disk[path]) for path in layer.files}
    expected = {path: sides[1].blob for path, sides in layer.files.items()}
    for upper in record.above(layer.label):
        if still_holds(upper, disk):
            expected |= {path: after.blob for path, (_, after) in upper.files.items() if path in expected}
    if present == expected:
        base = dict(disk)
        for path, (before, _) in layer.files.items():
            base[path] = OnDisk(record.content(before.blob) if before.blob else None, before.mode)
        verdict = Verdict.OLDER
        if layer.revision == work.revision:
            verdict = Verdict.APPLIED if len(layer.topics) == len(work.topics) else Verdict.PARTLY
        return Situation(verdict, layer.topics, base, layer)
    if all(present[path] == before.blob for path, (before, _) in layer.files.items()):
        return None
    if len(present) > 1 and not any(present[path] == expected[path] for path in present):
        return None  # another release was checked out since
    changed = [path for path in layer.files if present[path] != expected[path]]
    raise ConfigError(
        f"{count(len(changed), 'file was', 'files were')} changed since {layer.label} was applied",
        where="\n".join(changed),
        found="\n".join(f"{path} is {_short(present[path])}, was left as {_short(expected[path])}" for path in changed),
        kept=UNCHANGED,
        hint="copy the file aside, undo the edit, then try again (git stash would take the series away too)",
    )


def still_holds(layer: Layer, disk: Mapping[str, OnDisk]) -> bool:
    """Whether the files that both have are as the layer left them: somebody may have taken it out by other means."""
    return all(blob_of(disk[path]) == after.blob for path, (_, after) in layer.files.items() if path in disk)


def _without_record(
    work: Work, standing: Standing, files: Mapping[str, bytes | None], disk: Mapping[str, OnDisk]
) -> Situation:
    """Return the situation that the ids prove, with the pristine files made by taking the topics out again."""
    inside = work.topics[: standing.topics]
    out = take_out(inside, files)
    pristine = {file.path: file.pristine for file in standing.files}
    proven = out.ok and find_standing(work.topics, out.files).verdict is Verdict.PRISTINE and all(pristine.values())
    base = {
        path: OnDisk(out.files[path], with_executable_bit(file.mode, out.executable.get(path)))
        for path, file in disk.items()
    }
    return Situation(standing.verdict, tuple(topic.topic for topic in inside), base if proven else None)


def with_executable_bit(mode: int, executable: bool | None) -> int:
    """Return the mode with the executable bit set, for those who may read, or cleared; None: as it is."""
    if executable is None:
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


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
    there = _already_there(work, files, forwards)
    if there:
        total = sum(len(topic.patch.files) for topic in work.topics)
        raise ConfigError(
            f"{work.label} is applied in part: {len(there)} of {count(total, 'file has', 'files have')} it already",
            where="\n".join(there),
            kept=UNCHANGED,
            hint="put these files back as they were before it (git checkout -- FILE), and try again",
        )
    raise conflict(work, forwards, "this patch does not apply")


def _already_there(work: Work, files: Mapping[str, bytes | None], forwards: Composition) -> list[str]:
    """Return the files whose section does not apply because its result is there."""
    missed = {miss.section.path for miss in forwards.misses}
    sections = [section for topic in work.topics for section in topic.patch.files if section.path in missed]
    return [section.path for section in sections if apply_sections((reverse_section(section),), files)[0].ok]


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


def conflict(work: Work, composition: Composition, what: str, *, found: str = "", hint: str = "") -> ConflictError:
    """Return the error that lists every hunk without a place, each with its reason."""
    sources = dict(zip((topic.topic for topic in work.topics), work.sources, strict=True))
    misses = composition.misses
    places = [f"{miss.name} ({sources[miss.topic]}:{miss.patch_line})" for miss in misses]
    reasons = [miss.reason for miss in misses]
    alone = len(misses) == 1
    lost = sum(1 if miss.hunk else len(miss.section.hunks) for miss in misses)
    told = f"{count(len(misses), 'file is', 'files are')} not as it expects"  # where no hunk is in question
    if lost:
        told = f"{lost} of {count(composition.hunks, 'hunk has', 'hunks have')} no place"
    return ConflictError(
        f"{what}: {told}",
        where="\n".join(places if alone else map(": ".join, zip(places, reasons, strict=True))),
        found="\n".join(part for part in (found, reasons[0] if alone else "") if part),
        kept=UNCHANGED,
        hint=_hint_of_line_endings(work, composition) or hint,
    )


def _hint_of_line_endings(work: Work, composition: Composition) -> str:
    """Return how to mend patches, or else files, whose every line ends with CR LF; nothing where that is not so."""
    pairs = zip(work.topics, work.sources, strict=True)
    saved = [source for topic, source in pairs if _is_crlf(topic.patch.raw)]
    if saved:
        return f"the patch was saved with CRLF line endings: sed -i 's/\\r$//' {' '.join(saved)}"
    missed = [composition.files.get(miss.section.old_path) for miss in composition.misses]
    if missed and all(content and _is_crlf(content) for content in missed):
        return "the checkout has CRLF line endings: check it out again with git's core.autocrlf=false"
    return ""


def _is_crlf(text: bytes) -> bool:
    """Whether every line ends with CR LF."""
    return text.count(b"\r\n") == text.count(b"\n") > 0


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
            f"not one of the files that {work.label} changes is here",
            where=checkout.given,
            kept=UNCHANGED,
            hint="name a checkout of sglang, a site-packages folder or the sglang package itself",
        )
    foreign = [
        f"{file.path} is {_short(file.present)}, {work.label} has {_short(file.pristine)}" for file in standing.unknown
    ]
    if len(standing.unknown) * 2 <= len(standing.files):
        return ConfigError(
            f"{count(len(foreign), 'file is', 'files are')} neither upstream's nor ours",
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
    found = f"the checkout is {known}; {len(foreign)} of {count(len(standing.files), 'file differs', 'files differ')}"
    version = release.split(" ")[0]
    hint = f"patchkit rebase --from {work.label} --onto {version}" if version else "patchkit identify " + checkout.given
    if not composition.ok:
        what = f"series {work.label} does not apply to {version or 'this checkout'}"
        return conflict(work, composition, what, found=found, hint=hint)
    return ConfigError(
        "the checkout is not at its pin",
        where=checkout.given,
        found=f"{found}; that every hunk finds a place proves nothing",
        kept=UNCHANGED,
        hint=hint,
    )


def blob_of(file: OnDisk) -> str:
    return "" if file.content is None else blob_id(file.content)


def _short(blob: str) -> str:
    return blob[:12] if blob.strip("0") else "missing"
