"""PK2xx: the patch is written for this upstream: its preimage ids are the pin's."""

from collections.abc import Iterator, Mapping, Sequence

from patchkit.counting import count
from patchkit.model import Finding, Severity
from patchkit.patch.hunks import ChangeKind
from patchkit.patch.patchtext import blob_id
from patchkit.rules.subject import Step, Subject

_ABSENT = "the file does not exist"
_SOME = 5


def find(subject: Subject) -> Iterator[Finding]:
    """Yield each section whose file is not the one that its index line names."""
    for step in subject.steps:
        section = step.result.section
        if section.kind is ChangeKind.CREATE and step.result.before is not None:
            yield _finding("PK203", subject, step, "the patch creates a file that is there already")
        elif section.kind is not ChangeKind.CREATE and step.result.before is None:
            yield _finding("PK202", subject, step, "the patch changes a file that is not there")
        elif not section.preimage_id and section.hunks:
            yield _finding("PK204", subject, step, "no index line: nothing says for which upstream this is written")
        elif not _is_same(section.preimage_id, step.result.before) and section.hunks:
            yield _finding("PK201", subject, step, "the file is not the one that the patch is written for")


def _is_same(stated: str, content: bytes | None) -> bool:
    if not stated.strip("0"):
        return content is None
    return content is not None and blob_id(content).startswith(stated)


def _finding(rule: str, subject: Subject, step: Step, message: str) -> Finding:
    section, before = step.result.section, step.result.before
    present = f"blob {blob_id(before)[:10]}" if before is not None else _ABSENT
    stated = section.preimage_id[:10] or "nothing"
    pin = subject.pin.name if subject.pin else "this upstream"
    return Finding(
        rule,
        Severity.WARNING if rule == "PK204" else Severity.ERROR,
        message,
        topic=step.topic,
        path=section.old_path,
        patch_file=step.patch_file,
        patch_line=section.patch_line,
        found=f"{pin} has {present}; the index line says {stated}",
        hint=f"patchkit identify {step.patch_file}",
    )


def find_in_checkout(subject: Subject, present: Mapping[str, bytes | None]) -> Iterator[Finding]:
    """Yield each touched file of a checkout that is not what the series gives. present: their content there."""
    pin = subject.pin.name if subject.pin else "PIN"
    for path, file in subject.files.items():
        wanted = file.after.text if file.after else None
        before = file.before.text if file.before else None
        if present[path] == wanted:
            continue
        found = "it is the pin's: the series is not applied to it" if present[path] == before else "it is neither's"
        ids = f"{_shown(present[path])}; the series gives {_shown(wanted)}"
        yield Finding(
            "PK205", Severity.ERROR, "a file of the checkout is not what the series gives", path=path,
            found=f"{found}, {ids}", hint=f"patchkit apply CHECKOUT --pin {pin}",
        )  # fmt: skip


def find_beside(differing: Sequence[str], pin: str) -> Iterator[Finding]:
    """Yield the files of a checkout that the series does not touch and that are not the pin's: one finding for all."""
    if differing:
        some = ", ".join(differing[:_SOME]) + (f" and {len(differing) - _SOME} more" if len(differing) > _SOME else "")
        many = count(len(differing), "file")
        yield Finding(
            "PK206", Severity.ERROR, f"{many} of the checkout beside the series: not the pin's",
            path=differing[0], found=some, hint=f"patchkit identify CHECKOUT; the series is proven on {pin} alone",
        )  # fmt: skip


def _shown(content: bytes | None) -> str:
    return "no file" if content is None else f"blob {blob_id(content)[:10]}"
