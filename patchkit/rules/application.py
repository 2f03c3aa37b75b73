"""PK3xx: each hunk has its place, the result is the one that the index line promises, and reverse restores."""

from collections.abc import Iterator

from patchkit.model import Finding, Severity
from patchkit.patch.hunks import Hunk, Place, Placement
from patchkit.patch.patchtext import blob_id, reverse_section
from patchkit.patch.place import apply_file
from patchkit.rules.subject import PatchedFile, Step, Subject


def find(subject: Subject) -> Iterator[Finding]:
    """Yield what does not apply, applies elsewhere than stated, or gives another result than promised."""
    for step in subject.steps:
        yield from _placements(step)
        if step.result.ok:
            yield from _postimage(step)
            yield from _reverse(step)
    if subject.combined is not None:
        yield from _combined(subject)
    if subject.steps and all(file.before == file.after for file in subject.files.values()):
        first = subject.steps[0]
        yield Finding("PK307", Severity.ERROR, "the series changes nothing", patch_file=first.patch_file)


def _placements(step: Step) -> Iterator[Finding]:
    result = step.result
    for hunk, placement in zip(result.section.hunks, result.placements, strict=False):
        match placement.place:
            case Place.EXACT:
                pass
            case Place.OFFSET:
                yield _at_hunk("PK303", step, hunk, placement, Severity.WARNING)
            case Place.NOWHERE:
                yield _at_hunk("PK301", step, hunk, placement, Severity.ERROR)
            case Place.AMBIGUOUS:
                yield _at_hunk("PK302", step, hunk, placement, Severity.ERROR)
    if result.fault and result.fault not in ("no such file", "the file exists already"):  # those are PK202, PK203
        yield _at_section("PK301", step, f"the section does not apply: {result.fault}")


def _at_hunk(rule: str, step: Step, hunk: Hunk, placement: Placement, severity: Severity) -> Finding:
    places = ", ".join(str(at + 1) for at in placement.candidates)
    match placement.place:
        case Place.NOWHERE:
            message = f"{hunk.name} has no place"
            found = _mismatch(hunk, step) if not places else f"its text stands at line {places}, above the hunk before"
            hint = "patchkit rebase, if the upstream is another one than the patch was written for"
        case Place.AMBIGUOUS:
            message = f"{hunk.name} fits several places equally well"
            found = f"its text stands at lines {places}; git would take one and say nothing"
            hint = "give the hunk more context: patchkit edit, then refresh"
        case Place.OFFSET | Place.EXACT:
            message = f"{hunk.name} lands {placement.offset or 0:+d} lines from where it says"
            found = f"stated for line {hunk.old_start}"
            hint = "patchkit refresh --canonical"
    at = (placement.at or 0) + 1 if placement.at is not None else hunk.old_start
    return Finding(
        rule, severity, message, topic=step.topic, path=hunk.path, line=at, patch_file=step.patch_file,
        patch_line=hunk.patch_line, found=found, hint=hint,
    )  # fmt: skip


def _mismatch(hunk: Hunk, step: Step) -> str:
    """Return the first line of the file that differs from the hunk's, at its stated place."""
    lines = (step.result.before or b"").split(b"\n")
    start = max(hunk.old_start - 1, 0)
    for number, wanted in enumerate(hunk.preimage):
        at = start + number
        present = lines[at] if at < len(lines) else None
        if present is None:
            return f"the file ends at line {len(lines)}, the patch expects {_quoted(wanted)}"
        if present != wanted.rstrip(b"\n"):
            return f"line {at + 1} is {_quoted(present)}, the patch expects {_quoted(wanted)}"
    return "its text does not stand below the hunk before it"


def _quoted(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return f'"{text[:80]}"'


def _postimage(step: Step) -> Iterator[Finding]:
    section, after = step.result.section, step.result.after
    stated = section.postimage_id
    if not stated or (after is None and not stated.strip("0")) or not _has_stated_base(step):
        return
    actual = blob_id(after) if after is not None else "0" * 40
    if not actual.startswith(stated):
        yield _at_section(
            "PK304", step, "the result is not the one that the index line promises",
            found=f"blob {actual[:10]}; the index line says {stated[:10]}", hint="patchkit refresh --canonical",
        )  # fmt: skip


def _has_stated_base(step: Step) -> bool:
    """Whether the file is the one that the index line names; if it is not, PK201 says so and the result must differ."""
    stated, before = step.result.section.preimage_id, step.result.before
    return not stated.strip("0") if before is None else blob_id(before).startswith(stated)


def _reverse(step: Step) -> Iterator[Finding]:
    result = step.result
    back = apply_file(reverse_section(result.section), result.after)
    if not back.ok or back.after != result.before:
        yield _at_section("PK305", step, "reverse does not restore the file", found=back.fault or "other bytes")


def _combined(subject: Subject) -> Iterator[Finding]:
    """Yield each file for which the generated sglang.patch and the series disagree."""
    assert subject.combined is not None
    changed = {path for path, file in subject.files.items() if _text(file, after=False) != _text(file, after=True)}
    sections = {section.path: section for section in subject.combined.files}
    for path in sorted(changed | set(sections)):
        file, section = subject.files.get(path), sections.get(path)
        wanted = _text(file, after=True) if file else None
        before = _text(file, after=False) if file else None
        if section is None or file is None:
            found = "only the series changes it" if section is None else "only the combined patch changes it"
        elif (result := apply_file(section, before)).ok and result.after == wanted:
            continue
        else:
            found = "the combined patch gives other bytes than the series"
        yield Finding(
            "PK306", Severity.ERROR, "sglang.patch is not what the series composes to", path=path,
            patch_file=subject.combined_file, patch_line=section.patch_line if section else 0, found=found,
            hint=f"patchkit refresh {subject.pin.name}" if subject.pin else "patchkit refresh",
        )  # fmt: skip


def _text(file: PatchedFile, *, after: bool) -> bytes | None:
    source = file.after if after else file.before
    return source.text if source else None


def _at_section(rule: str, step: Step, message: str, *, found: str = "", hint: str = "") -> Finding:
    section = step.result.section
    return Finding(
        rule, Severity.ERROR, message, topic=step.topic, path=section.path, patch_file=step.patch_file,
        patch_line=section.patch_line, found=found, hint=hint,
    )  # fmt: skip
