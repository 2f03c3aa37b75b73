"""Which patch files belong together: a folder a version, a file a version, a numbered series, or loose files."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from patchkit.adopt.nouns import PatchFile, PatchSet
from patchkit.patch.letters import read_letter
from patchkit.versions import is_version

PATCH_SUFFIXES = (".patch", ".diff")
LATEST = "latest"

_MAIL = re.compile(rb"(?m)^From [0-9a-f]{40} [A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]{8} \d{4}\n(?=[A-Za-z-]+: )")
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:rc\d+)?(?:\.post\d+)?)(?![\d.])")


def versions_in(text: str) -> list[str]:
    """Return each upstream version that the text names, without the leading "v"."""
    return [version for version in _VERSION.findall(text) if is_version(version)]


def arrange_files(files: Iterable[PatchFile], series_files: Mapping[str, str]) -> list[PatchSet]:
    """Return the sets of patch files, those named by a version first, oldest version first, `latest` last.

    series_files: the text of a `series` file by its folder.
    """
    by_folder: dict[str, list[PatchFile]] = defaultdict(list)
    for file in files:
        by_folder[file.folder].append(file)
    sets: list[PatchSet] = []
    for folder, members in by_folder.items():
        listed = listed_in(series_files.get(folder, ""))
        labelled, others = _file_a_version(members)
        sets += labelled
        if others:
            ordered = sorted(others, key=lambda file: natural_key(file.name))
            sets.append(PatchSet(_label(folder), tuple(ordered), listed))
    sets = [replace(each, files=split_mails(each.files[0])) if len(each.files) == 1 else each for each in sets]
    return sorted(sets, key=lambda each: (each.label == LATEST, natural_key(each.label)))


def split_mails(file: PatchFile) -> tuple[PatchFile, ...]:
    """Return the mails of a file that `git format-patch --stdout` wrote as one patch file each; else the file."""
    starts = [match.start() for match in _MAIL.finditer(file.raw)]
    if len(starts) < 2 or starts[0] != 0:
        return (file,)
    mails = [file.raw[start:end] for start, end in zip(starts, [*starts[1:], len(file.raw)], strict=True)]
    return tuple(
        replace(file, name=f"{number:04d}-{_slug(mail)}.patch", shown=f"{file.shown}, mail {number}", raw=mail)
        for number, mail in enumerate(mails, start=1)
    )


def _slug(mail: bytes) -> str:
    """Return a file name's middle from a mail's subject, as git format-patch makes it."""
    subject = read_letter(mail.partition(b"\n\n")[0] + b"\n\n", topic="patch").message
    return re.sub(r"[^A-Za-z0-9._]+", "-", subject)[:52].strip("-.") or "patch"


def listed_in(series: str) -> tuple[str, ...]:
    """Return the names in a quilt series file, in order; options and comments are left out."""
    lines = (re.split(r"(?:^|\s)#", line)[0].split() for line in series.splitlines())
    return tuple(words[0] for words in lines if words)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key in which 0.5.9 stands before 0.5.10."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", text))


def labels_of(patch_set: PatchSet) -> list[str]:
    """Return the versions that a set's own name claims."""
    return versions_in(patch_set.label)


def _file_a_version(files: Sequence[PatchFile]) -> tuple[list[PatchSet], list[PatchFile]]:
    """Take out each file whose name is a version, as v0.5.14.patch or sglang-v0.5.14.patch."""
    sets, others = [], []
    for file in files:
        stem = file.name.rsplit(".", 1)[0]
        bare = re.sub(r"^sglang[-_]", "", stem)
        if is_version(bare):
            sets.append(PatchSet(bare, (file,)))
        else:
            others.append(file)
    return sets, others


def _label(folder: str) -> str:
    """Return the innermost folder name that is a version or `latest`; else the innermost."""
    parts = [part for part in folder.split("/") if part]
    for part in reversed(parts):
        if part == LATEST or versions_in(part):
            return part
    return parts[-1] if parts else ""
