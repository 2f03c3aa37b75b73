"""What is wrong with a patch folder, told from values alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from patchkit.adopt.arrange import LATEST, labels_of, versions_in
from patchkit.adopt.dockerfile import Dockerfile
from patchkit.adopt.nouns import Parsed, PatchSet
from patchkit.adopt.tags import bad_steps
from patchkit.model import Finding, Severity
from patchkit.patch.hunks import SOURCE_PREFIX, ChangeKind, Place
from patchkit.patch.patchtext import blob_id, reverse_section, split_lines
from patchkit.patch.place import place_hunk
from patchkit.results.adopt import Trouble, TroubleKind
from patchkit.rules.compose import Composed
from patchkit.rules.subject import Step
from patchkit.upstream.belonging import Belonging

_TELLING = 8  # characters added; a shorter text may stand there for another reason
_KINDS = {
    "PK301": TroubleKind.NO_PLACE,
    "PK302": TroubleKind.NO_PLACE,
    "PK303": TroubleKind.OFFSET,
    "PK304": TroubleKind.CHANGED,
    "PK402": TroubleKind.MISPLACED,
    "PK404": TroubleKind.MISPLACED,
    "PK202": TroubleKind.NO_PLACE,
    "PK203": TroubleKind.NO_PLACE,
    "PK204": TroubleKind.NO_INDEX,
    "PK501": TroubleKind.TWICE,
    "PK502": TroubleKind.TWICE,
    "PK505": TroubleKind.TWICE,
}


def label_troubles(
    patch_set: PatchSet, belonging: Belonging, dockerfiles: Sequence[Dockerfile], documents: Mapping[str, str]
) -> Iterator[Trouble]:
    """Yield each name that claims another release than the blob ids say."""
    best = belonging.best
    if best is None:
        return
    fitting = {best.version, *belonging.ties}
    counts = {match.version: len(match.same) for match in belonging.matches}
    total = len(best.same) + len(best.other)
    for where, claimed in _claims(patch_set, dockerfiles, documents):
        if claimed in fitting or (claimed not in counts and not best.is_whole):
            continue
        theirs = f"v{claimed} has {counts[claimed]}" if claimed in counts else f"v{claimed} was not looked at"
        yield Trouble(
            TroubleKind.WRONG_LABEL,
            where,
            f"it says v{claimed}, the patch is written for v{best.version}",
            found=f"v{best.version} has {len(best.same)} of {total} preimage blobs, {theirs}",
            hint=f"the set becomes patches/v{best.version}; correct the name where others read it",
        )


def _claims(
    patch_set: PatchSet, dockerfiles: Sequence[Dockerfile], documents: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield (where, version) for each place that says which release the set is for."""
    folder = patch_set.files[0].folder
    for version in labels_of(patch_set)[:1]:
        yield folder if patch_set.label in folder else patch_set.files[0].shown, version
    if patch_set.label == LATEST:
        for dockerfile in dockerfiles:
            if LATEST in dockerfile.arguments.values() or any(f"/{LATEST}/" in f"{c}/" for c in dockerfile.copied):
                for line, image in dockerfile.images:
                    for version in versions_in(image)[:1] if "sglang" in image else ():
                        yield f"{dockerfile.shown}:{line}", version
    for path, text in documents.items():
        about_sglang = "sglang" in text[:4000].lower()
        for number, text_line in enumerate(text.splitlines(), start=1):
            cells = text_line.replace("`", " ").replace("|", " ").split()
            if patch_set.label and patch_set.label in cells:
                claimed = [version for version in versions_in(text_line) if f"v{version}" != patch_set.label]
                if len(claimed) == 1 and claimed[0] != patch_set.label and about_sglang:
                    yield f"{path}:{number}", claimed[0]


def belonging_troubles(patch_set: PatchSet, belonging: Belonging, stated: int) -> Iterator[Trouble]:
    """Yield that a set is of no release as a whole."""
    best = belonging.best
    where = patch_set.files[0].folder or patch_set.files[0].shown
    if best is None or not best.other:
        return
    elsewhere = {
        match.version: sum(path in match.same for path in best.other) for match in belonging.matches if match != best
    }
    also = [f"v{version} has {count} of the rest" for version, count in elsewhere.items() if count]
    yield Trouble(
        TroubleKind.MIXED,
        where,
        f"its base is nothing that was looked at; the nearest is v{best.version}",
        found=f"v{best.version} has {len(best.same)} of {stated} preimage blobs"
        + (f"; {', '.join(also[:2])}" if also else "; the others are of no release"),
        hint="the clone or directory that it was made on can be its pin: patchkit import --upstream CLONE",
    )


def unapplied(patch_set: PatchSet, parsed: Sequence[Parsed], dockerfiles: Sequence[Dockerfile]) -> list[Parsed]:
    """Return the patches that nothing applies, where something says which of the set are applied.

    A `series` file says so, and a Dockerfile that applies any file of the set, be it one for another project. A
    Dockerfile that applies none of them may leave it to a script, so it says nothing.
    """
    if patch_set.listed:
        return [each for each in parsed if each.file.name not in patch_set.listed]
    applying = _applying(patch_set, dockerfiles)
    return [each for each in parsed if applying and not any(d.applied_at(each.file) for d in applying)]


def _applying(patch_set: PatchSet, dockerfiles: Sequence[Dockerfile]) -> list[Dockerfile]:
    return [each for each in dockerfiles if any(each.applied_at(file) for file in patch_set.files)]


def order_troubles(
    patch_set: PatchSet, left: Sequence[Parsed], dockerfiles: Sequence[Dockerfile], *, taken: bool
) -> Iterator[Trouble]:
    """Yield each patch that nothing applies, and each line of a series that has no file.

    taken: whether those patches are in the new series all the same.
    """
    applying = _applying(patch_set, dockerfiles)
    patterns = dict.fromkeys(pattern for each in applying for apply in each.applies for pattern in apply.patterns)
    found = f"{', '.join(each.shown for each in applying)} applies {', '.join(patterns)}"
    for each in left:
        yield Trouble(
            TroubleKind.NEVER_APPLIED,
            each.file.shown,
            "the series file does not list this patch" if patch_set.listed else "no Dockerfile applies this patch",
            found=f"listed: {', '.join(patch_set.listed)}" if patch_set.listed else found,
            hint="it is in the series now: patchkit topic drop, if it was left out on purpose"
            if taken
            else "it was left out of the series here too",
        )
    there = {file.name for file in patch_set.files}
    for name in patch_set.listed:
        if name.rsplit("/", 1)[-1] not in there:
            where = patch_set.files[0].folder
            yield Trouble(TroubleKind.UNREADABLE, f"{where}/series", f"{name} is listed and has no file")


def dockerfile_troubles(dockerfiles: Iterable[Dockerfile]) -> Iterator[Trouble]:
    """Yield each place where a patch may fail, or land elsewhere, without a word."""
    for dockerfile in dockerfiles:
        for apply in dockerfile.applies:
            if apply.tolerance:
                yield Trouble(
                    TroubleKind.TOLERANT,
                    f"{dockerfile.shown}:{apply.line}",
                    f"a patch can fail here and the build goes on: {apply.tolerance}",
                    hint="patchkit apply: all or nothing, proven by blob ids",
                )


def tag_troubles(version_file: str, history: Sequence[tuple[str, str]]) -> Iterator[Trouble]:
    """Yield each tag in the history of the version file that is older than one before it."""
    for step in bad_steps(history):
        what = f"tag {step.tag} was used before" if step.reused else f"tag {step.tag} follows {step.former}"
        yield Trouble(
            TroubleKind.BACKWARDS,
            f"{version_file} ({step.commit})",
            what,
            hint="whoever pulls by order gets the older image; patchkit bump never goes back",
        )


def outside_troubles(parsed: Iterable[Parsed]) -> Iterator[Trouble]:
    """Yield each patch that changes files which no wheel holds."""
    for each in parsed:
        outside = sorted({section.path for section in each.patch.files if not section.path.startswith(SOURCE_PREFIX)})
        if outside:
            yield Trouble(
                TroubleKind.OUTSIDE,
                each.file.shown,
                f"{len(outside)} of its files are outside python/sglang",
                found=", ".join(outside[:5]) + (" ..." if len(outside) > 5 else ""),
                hint="they stay in the topic's patch; sglang.patch and verify leave them out",
            )


def finding_troubles(findings: Sequence[Finding], composed: Composed) -> Iterator[Trouble]:
    """Yield what the rules of verify find, and which of it is there upstream already."""
    known = {(step.patch_file, step.result.section.path): list(_upstreamed(step)) for step in composed.steps}
    for hunks in known.values():
        yield from hunks
    covered = {(trouble.where, trouble.kind) for hunks in known.values() for trouble in hunks}
    other_base = {(finding.patch_file, finding.patch_line) for finding in findings if finding.rule == "PK201"}
    for finding in findings:
        kind = _KINDS.get(finding.rule)
        where = f"{finding.patch_file}:{finding.patch_line}" if finding.patch_line else finding.patch_file
        if kind is None or (kind is TroubleKind.NO_PLACE and (where, TroubleKind.UPSTREAM) in covered):
            continue
        if finding.rule == "PK304" and (finding.patch_file, finding.patch_line) in other_base:
            continue  # another base gives another result: that is told once, for the set
        if finding.rule == "PK402" and finding.severity is not Severity.ERROR:
            kind = TroubleKind.REPEATED
        if finding.rule == "PK502" and "upstream already has it" in finding.message:
            kind = TroubleKind.UPSTREAM
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        scope = f" ({finding.scope})" if finding.scope else ""
        yield Trouble(kind, where, finding.message, f"{place}{scope}: {finding.found}", finding.hint, finding.rule)


def _upstreamed(step: Step) -> Iterator[Trouble]:
    """Yield each hunk without a place whose result stands in the file already, whole and in order."""
    section, before = step.result.section, step.result.before
    if step.result.ok or before is None:
        return
    if section.kind is ChangeKind.CREATE:
        if section.postimage_id and blob_id(before).startswith(section.postimage_id):
            yield _upstream_trouble(step, section.patch_line, "the file that it creates")
        return
    lines = split_lines(before)
    for hunk, placement, undo in zip(
        section.hunks, step.result.placements, reverse_section(section).hunks, strict=False
    ):
        if placement.place is not Place.NOWHERE or sum(len(line.strip()) for line in hunk.added) < _TELLING:
            continue
        if place_hunk(undo, lines).at is not None:
            yield _upstream_trouble(step, hunk.patch_line, hunk.name)


def _upstream_trouble(step: Step, line: int, what: str) -> Trouble:
    return Trouble(
        TroubleKind.UPSTREAM,
        f"{step.patch_file}:{line}",
        f"upstream has {what} already",
        found=f"{step.result.section.path} holds its result, so it has no place",
        hint="drop the hunk: patchkit edit",
    )
