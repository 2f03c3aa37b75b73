"""`import`: bring an existing patch folder under patchkit, with an account of what is wrong with it."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.adopt import troubles
from patchkit.adopt.arrange import LATEST, arrange_files, versions_in
from patchkit.adopt.dockerfile import Dockerfile, read_dockerfile
from patchkit.adopt.folder import Project, read_git_range, read_project
from patchkit.adopt.judging import Judged, judge_set
from patchkit.adopt.naming import series_text, topic_tables
from patchkit.adopt.parting import part_by_file, part_by_plan, read_plan
from patchkit.errors import ConfigError, ConflictError
from patchkit.inplace import LAYOUT, layout_text
from patchkit.model import CommitId, Pin, Series
from patchkit.patch.headers import Head
from patchkit.patch.hunks import SOURCE_PREFIX, TopicPatch
from patchkit.results.adopt import ADOPTED, Adopt, AdoptedPin, AdoptedTopic, Trouble, TroubleKind
from patchkit.series.files import open_series, split_series
from patchkit.series.generated import generate
from patchkit.series.partial import take_placed
from patchkit.store import (
    PATCHES,
    pin_folder,
    pin_names,
    pin_text,
    read_series_names,
    read_topics,
    replace_file,
    write_new_pin,
)
from patchkit.upstream.access import Access
from patchkit.upstream.bring import source_of
from patchkit.versions import is_release

_TOPICS_HEAD = """\
# Every topic once. Which pins carry it, and how, is in the pins' folders.
# guards: rule ids of patches/guards/. smoke: folders of patches/smoke/. since: the first release looked at that
# has a fault of the topic. fixed_in: the first that has none. until: what ends it.
"""


@dataclass(frozen=True, slots=True)
class _Plan:
    """One set that becomes, or does not become, a pin. files: of the pin's folder, by name.

    left_out: the names of those that hold what has no place.
    """

    judged: Judged
    pin: Pin | None
    files: Mapping[str, bytes]
    reason: str = ""
    left_out: tuple[str, ...] = ()


def adopt_folder(
    paths: Sequence[Path],
    root: Path,
    access: Access,
    *,
    version: str | None = None,
    base: Path | None = None,
    dry_run: bool = False,
    in_place: bool = False,
    split_by: str = "",
    partial: bool = False,
) -> Adopt:
    """Adopt every set of patches below the paths, each as the series of its own pin.

    in_place: leave every patch where it is, and let the pins' folders lead there. split_by: "file", or the path of a
    plan: what a set with a single patch is taken apart by. partial: leave the hunks out that have no place.

    version: the pin, where blob ids cannot tell; only for a single set. base: a clone or a directory with the upstream
    that the patches are written for; with a clone, version may be a commit. dry_run: report, write nothing.
    """
    _refuse_store(paths)
    command = f"patchkit import {f'--upstream {base} ' if base else ''}{' '.join(map(str, paths))}"
    project = read_project(paths)
    if in_place:
        command = f"{command} --in-place"
        _refuse_in_place(project, paths, root)
    return _adopt(
        project, root, access, version=version, base=base, dry_run=dry_run, command=command,
        in_place=paths[0].resolve().relative_to(root.resolve()).as_posix() if in_place else "", split_by=split_by,
        partial=partial,
    )  # fmt: skip


def adopt_branch(
    repository: Path, revisions: str, root: Path, access: Access, *, version: str | None = None, dry_run: bool = False
) -> Adopt:
    """Adopt the commits of a branch on top of an upstream tag or commit: one topic a commit."""
    found = read_git_range(repository, revisions)
    command = f"patchkit import --from-git {revisions} {repository}"
    return _adopt(
        found.project, root, access, version=version, dry_run=dry_run, command=command, labels=found.labels,
        commit=found.commit,
    )  # fmt: skip


def _adopt(
    project: Project,
    root: Path,
    access: Access,
    *,
    version: str | None,
    dry_run: bool,
    command: str,
    base: Path | None = None,
    labels: Sequence[str] = (),
    commit: str = "",
    in_place: str = "",
    split_by: str = "",
    partial: bool = False,
) -> Adopt:
    """Judge each set of the project, and write what can be a pin. commit: the base's, where git has said it."""
    dockerfiles = [read_dockerfile(text, shown=path) for path, text in sorted(project.dockerfiles.items())]
    sets = arrange_files(project.files, project.series)
    if version and len(sets) > 1:
        raise ConfigError(
            f"--pin names one release, and here are {len(sets)} sets of patches",
            where=", ".join(paths_of.label for paths_of in sets),
            hint=f"patchkit import --pin {version} {sets[0].files[0].folder}",
        )
    judged = []
    for patch_set in sets:
        access.progress(f"looking at {patch_set.label or patch_set.files[0].shown}")
        judged.append(
            judge_set(
                patch_set,
                access,
                dockerfiles=dockerfiles,
                documents=project.documents,
                version=version,
                labels=labels,
                based_on=base,
            )
        )
    taken = [take_placed(each) if partial else (each, {}) for each in judged]
    plans = _plan(taken, root, dockerfiles, commit if labels else "")
    found = [*_project_troubles(project, dockerfiles, judged), *(t for each in judged for t in each.troubles)]
    written = [] if dry_run else _write(plans, root, project, in_place)
    if split_by and not dry_run:
        written += _split(plans, root, access, split_by)
    return Adopt(
        sets=tuple(_told(plan, written=not dry_run) for plan in plans),
        troubles=tuple(dict.fromkeys(found)),
        written=tuple(written),
        dry_run=dry_run,
        next_step=_next_step(plans, command, dry_run=dry_run),
        notes=tuple(dict.fromkeys(note for each in judged for note in each.notes)),
    )


# -- plan -------------------------------------------------------------------------------------------------


def _refuse_store(paths: Sequence[Path]) -> None:
    for path in paths:
        if (path / "topics.toml").is_file():
            raise ConfigError("this folder is under patchkit already", where=str(path), hint="patchkit status")


def _refuse_in_place(project: Project, paths: Sequence[Path], root: Path) -> None:
    """Raise where patches cannot stay where they are: one folder of the project, and a file for each topic."""
    if len(paths) != 1 or not paths[0].is_dir() or not paths[0].resolve().is_relative_to(root.resolve()):
        raise ConfigError(
            "--in-place takes one folder of the project that the store is in",
            where=", ".join(map(str, paths)),
            found=f"the store is in {root / PATCHES}",
        )
    for patch_set in arrange_files(project.files, project.series):
        for file in patch_set.files:
            if not (project.base / file.path).is_file():
                raise ConfigError(
                    "a mailbox cannot stay in place: a topic needs a file of its own",
                    where=file.shown,
                    hint=f"patchkit import {paths[0]}",
                )


def _plan(
    judged: Sequence[tuple[Judged, Mapping[str, bytes]]], root: Path, dockerfiles: Sequence[Dockerfile], commit: str
) -> list[_Plan]:
    """Decide what is written for each set. The first set of a pin is taken; `latest` comes last, so a name wins."""
    there = set(pin_names(root)) if (root / PATCHES).is_dir() else set()
    plans: list[_Plan] = []
    taken: dict[str, Judged] = {}
    for each, left_out in judged:
        if not each.parsed:
            plans.append(_Plan(each, None, {}, "no patch for sglang in it that can be read"))
        elif each.upstream is None:
            plans.append(_Plan(each, None, {}, "its release is not known; name it: --pin VERSION"))
        else:
            pin = _pin_of(each, dockerfiles, commit)
            files = _files_of(each, pin)
            reason = ""
            if pin.name in taken:
                reason = f"{taken[pin.name].patch_set.label} has the same pin"
            elif pin.name in there:
                is_same = _is_adopted(root, pin.name, files)
                reason = ADOPTED if is_same else f"patches/{pin.name} exists already, and has other patches"
            taken.setdefault(pin.name, each)
            plans.append(_Plan(each, pin, {**files, **left_out}, reason, tuple(left_out)))
    return plans


def _is_adopted(root: Path, name: str, files: Mapping[str, bytes]) -> bool:
    """Whether the pin's folder has these very patches, in this order: the folder was adopted before."""
    listed = [line for line in files["series"].decode().split() if line.endswith(".patch")]
    folder = pin_folder(root, name)
    try:
        return read_series_names(root, name) == listed and all(
            (folder / patch).read_bytes() == files[patch] for patch in listed
        )
    except (ConfigError, OSError):
        return False


def _pin_of(judged: Judged, dockerfiles: Sequence[Dockerfile], commit: str) -> Pin:
    upstream = judged.upstream
    assert upstream is not None
    images = [image for each in dockerfiles for _, image in each.images if upstream.version in versions_in(image)]
    return Pin(
        version=upstream.version,
        commit=upstream.commit or CommitId(commit),
        tree=upstream.tree,
        source=source_of(upstream),
        base_images=tuple(dict.fromkeys(images)) or _base_images(upstream.version),
    )


def _base_images(version: str) -> tuple[str, ...]:
    """Return the image of a release; none is published of a commit between two."""
    return (f"lmsysorg/sglang:v{version}",) if is_release(version) else ()


def _files_of(judged: Judged, pin: Pin) -> dict[str, bytes]:
    """Return the files of the pin's folder; the generated ones only where the series composes."""
    files = {"pin.toml": pin_text(pin), "series": series_text(judged.topics).encode()}
    topics = []
    for name, parsed in zip(judged.topics, judged.parsed, strict=True):
        files[f"{name}.patch"] = parsed.patch.raw
        topics.append(TopicPatch(name, parsed.patch))
    assert judged.upstream is not None
    try:
        files |= generate(Series(pin, tuple(topics)), judged.upstream, judged.composed).files()
    except ConflictError:
        return files  # told as a trouble of each hunk; verify fails until it is mended
    return files


# -- tell -------------------------------------------------------------------------------------------------


def _project_troubles(
    project: Project, dockerfiles: Sequence[Dockerfile], judged: Sequence[Judged]
) -> Iterator[Trouble]:
    yield from _copies(judged)
    yield from troubles.dockerfile_troubles(dockerfiles)
    yield from troubles.tag_troubles(project.version_file, project.tags)


def _copies(judged: Sequence[Judged]) -> Iterator[Trouble]:
    """Yield each set that has the pin of another: a copy, or a second patch for the same release."""
    first: dict[str, Judged] = {}
    for each in judged:
        if each.upstream is None:
            continue
        other = first.setdefault(each.upstream.version, each)
        if other is each:
            continue
        texts = {parsed.file.name: parsed.file.raw for parsed in other.parsed}
        differing = [parsed.file.name for parsed in each.parsed if texts.get(parsed.file.name) != parsed.file.raw]
        where = each.patch_set.files[0].folder or each.patch_set.files[0].shown
        if not differing and len(texts) == len(each.parsed):
            hint = "patches/latest names the newest pin; delete the copy once the builds read that"
            yield Trouble(TroubleKind.COPY, where, f"a copy of {other.patch_set.label}, byte for byte", hint=hint)
        else:
            yield Trouble(
                TroubleKind.SAME_PIN,
                where,
                f"written for v{each.upstream.version} as {other.patch_set.label} is, and not the same",
                found=f"other content: {', '.join(differing) or 'fewer files'}",
                hint=f"only {other.patch_set.label} was taken; import this one elsewhere: patchkit --root DIR import",
            )


def _told(plan: _Plan, *, written: bool) -> AdoptedPin:
    judged = plan.judged
    best = judged.belonging.best
    return AdoptedPin(
        label=judged.patch_set.label or judged.patch_set.files[0].shown,
        pin=plan.pin.name if plan.pin else "",
        same=len(best.same) if best else 0,
        blobs=judged.stated,
        ties=judged.belonging.ties,
        order=judged.reason.value,
        topics=tuple(_topic_told(name, judged, at) for at, name in enumerate(judged.topics)),
        composes=judged.composes,
        written=written and plan.pin is not None and not plan.reason,
        reason=plan.reason,
        left_out=plan.left_out,
    )


def _topic_told(name: str, judged: Judged, at: int) -> AdoptedTopic:
    parsed = judged.parsed[at]
    inside = [section for section in parsed.patch.files if section.path.startswith(SOURCE_PREFIX)]
    return AdoptedTopic(
        topic=name,
        source=parsed.file.shown,
        files=len(inside),
        hunks=sum(len(section.hunks) for section in inside),
        outside=len(parsed.patch.files) - len(inside),
    )


def _next_step(plans: Sequence[_Plan], command: str, *, dry_run: bool) -> str:
    taken = [plan for plan in plans if plan.pin is not None and not plan.reason]
    if not taken and all(plan.pin is not None for plan in plans):
        return "patchkit status"
    if not taken:
        return "patchkit import --pin VERSION PATH, if you know the release"
    if dry_run:
        return command
    broken = [(plan.pin.name, plan.judged) for plan in taken if plan.pin and not plan.judged.composes]
    if not broken:
        return "patchkit verify --all"
    name, judged = broken[0]
    if judged.belonging.best and judged.belonging.best.other:
        again = command.replace("patchkit import", "patchkit import --upstream CLONE")
        return f"rm -r {PATCHES}/{name} && {again}, if you have what it was made on; else patchkit verify {name}"
    return f"patchkit verify {name}"


# -- write ------------------------------------------------------------------------------------------------


def _write(plans: Sequence[_Plan], root: Path, project: Project, in_place: str) -> list[str]:
    """Write each pin's folder, then topics.toml and latest; where one fails, what was written goes again.

    in_place: the project's patch folder, relative to the root; empty where the patches are copied.
    """
    taken = [plan for plan in plans if plan.pin is not None and not plan.reason]
    if not taken:
        return []
    store = root / PATCHES
    store.mkdir(parents=True, exist_ok=True)
    known = read_topics(root) if (store / "topics.toml").is_file() else {}
    former = (store / "topics.toml").read_bytes() if known else _TOPICS_HEAD.encode()
    made: list[Path] = []
    try:
        for plan in taken:
            assert plan.pin is not None
            homes = _homes(plan, project) if in_place else {}
            made.append(write_new_pin(root, plan.pin.name, plan.files, homes=homes))
        tables = topic_tables(_heads(taken), list(known))
        if tables or not known:
            replace_file(store / "topics.toml", former.rstrip(b"\n") + b"\n" + tables.encode())
    except BaseException:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    written = [f"{PATCHES}/{folder.name}" for folder in made] + ([f"{PATCHES}/topics.toml"] if tables else [])
    if in_place:
        replace_file(store / LAYOUT, layout_text(in_place))
        written.append(f"{PATCHES}/{LAYOUT}")
    newest = pin_names(root)[-1]
    if not (store / LATEST).is_file() or not pin_folder(root, (store / LATEST).read_text().strip()).is_dir():
        replace_file(store / LATEST, f"{newest}\n".encode())
        written.append(f"{PATCHES}/{LATEST}")
    return written


def _split(plans: Sequence[_Plan], root: Path, access: Access, split_by: str) -> list[str]:
    """Take the single topic of each written pin apart, and return what was written for it."""
    written: list[str] = []
    for plan in plans:
        if plan.pin is None or plan.reason or len(plan.judged.topics) != 1 or not plan.judged.composes:
            continue
        topic = plan.judged.topics[0]
        opened = open_series(root, plan.pin.name, access)
        former = opened.draft(topic).former
        assert former is not None
        parting = part_by_file(former)
        if split_by != "file":
            text = Path(split_by).read_text()
            parting = part_by_plan(former, read_plan(text, where=split_by), topic=topic, where=split_by)
        written += split_series(opened, topic, parting, dry_run=False).changed
    return written


def _homes(plan: _Plan, project: Project) -> dict[str, Path]:
    """Return where each topic's patch is in the project."""
    pairs = zip(plan.judged.topics, plan.judged.parsed, strict=True)
    return {f"{topic}.patch": project.base / parsed.file.path for topic, parsed in pairs}


def _heads(plans: Sequence[_Plan]) -> dict[str, Head]:
    """Return each topic's header; where several pins have it, that of the newest, which comes last."""
    heads: dict[str, Head] = {}
    for plan in plans:
        for name, parsed in zip(plan.judged.topics, plan.judged.parsed, strict=True):
            if parsed.head.subject or name not in heads:
                heads[name] = parsed.head
    return heads
