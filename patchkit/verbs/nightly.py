"""`nightly`: resolve, rebase, verify, bump, build, smoke, publish, in order; a failure leaves nothing but a report."""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from patchkit.counting import count
from patchkit.errors import ConfigError, PatchkitError
from patchkit.model import Met
from patchkit.nightly.head import Head
from patchkit.nightly.machine import REPORT, Machine, Resolved, Steps, Told, begin_folder, find_night
from patchkit.nightly.plan import NEWEST, Nothing, choose_target, plan_work
from patchkit.nightly.report import SMOKE_JUNIT, Surroundings, result_of, tell, what_is_open, write_report
from patchkit.nightly.state import Author, Failure, Night, StepDone, StepName
from patchkit.render import render_text
from patchkit.render.json import text as render_json
from patchkit.repository import PublishedElsewhere, Repository, find_repository, hold_lock, published_tags
from patchkit.results.nightly import Nightly
from patchkit.store import PATCHES, pin_names, read_pin, read_series_names, read_topics, replace_file
from patchkit.upstream.access import Access
from patchkit.upstream.index import listed_versions
from patchkit.versions import bare, plan_bump

OUT = "out"
_SUBJECT_LENGTH = 72


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for. day: of the tag. when: the time of the commit, seconds since 1970."""

    day: date
    when: int
    author: tuple[str, str] | None = None
    onto: str = NEWEST
    engine: str = "auto"
    base: str = ""
    push: str = ""
    accept_suspects: bool = False
    listed: Path | None = None
    registry: str = ""
    upstream: str = ""
    dry_run: bool = False
    resume: bool = False


def run_nightly(
    root: Path, access: Access, wish: Wish, surroundings: Surroundings, *, steps: Steps | None = None
) -> Nightly:
    """Do one night's work, or what is left of one, and tell the CI system and the hook how it ended."""
    repository = find_repository(root)
    if repository is None:
        raise ConfigError("nightly needs a git repository: it publishes a commit and a tag", where=str(root))
    job = _Job(repository, root, access, steps or RealSteps(repository, root, access))
    if wish.dry_run:
        return job.plan(wish)
    with hold_lock(root, "nightly", wait_s=0):
        result = job.resume() if wish.resume else job.begin(wish)
    problem = tell(result, surroundings)
    return replace(result, notes=(*result.notes, problem)) if problem else result


@dataclass(frozen=True, slots=True)
class _Job:
    """One call of the verb."""

    repository: Repository
    root: Path
    access: Access
    steps: Steps

    def plan(self, wish: Wish) -> Nightly:
        """Return what would be done."""
        night = _new_night(self.repository, wish)
        resolved = self.steps.resolve(night)
        if isinstance(resolved.work, Nothing):
            return _nothing(resolved.work)
        planned = _with_resolved(night, resolved, 0.0)
        return replace(result_of(planned, Path()), outcome="planned", folder="", steps=(), next_step="patchkit nightly")

    def begin(self, wish: Wish) -> Nightly:
        """Begin a night and go through it."""
        night = _new_night(self.repository, wish)
        started = time.monotonic()
        self.access.progress("nightly: resolve")
        try:
            resolved = self.steps.resolve(night)
        except PatchkitError as error:
            folder = begin_folder(self.root / OUT, f"nightly-{wish.day:%Y%m%d}")
            failed = StepDone(StepName.RESOLVE, round(time.monotonic() - started, 3), error.what, Failure.of(error))
            result = replace(result_of(night.with_step(failed), folder), next_step="patchkit nightly")
            write_report(result, folder)
            return result
        if isinstance(resolved.work, Nothing):
            return _nothing(resolved.work)
        night = _with_resolved(night, resolved, time.monotonic() - started)
        return self._go_on(begin_folder(self.root / OUT, night.tag), night)

    def resume(self) -> Nightly:
        """Go on with the night that was begun last."""
        folder, night = find_night(self.root / OUT)
        head = self.repository.resolve("HEAD")
        if head != night.head:
            raise ConfigError(
                "the repository moved on since the night began",
                where=str(folder),
                found=f"HEAD is {head}, the night began at {night.head}",
                kept="nothing was changed",
                hint="patchkit nightly",
            )
        return self._go_on(folder, night)

    def _go_on(self, folder: Path, night: Night) -> Nightly:
        store = self.root.resolve().relative_to(self.repository.root.resolve())
        (folder / REPORT).unlink(missing_ok=True)  # of the failure that is tried again
        machine = Machine(
            self.repository, store, folder, self.steps, self.access.progress, push_timeout_s=self.access.deadline_s
        )
        result = result_of(machine.run(night), folder)
        write_report(result, folder)
        return result


def _new_night(repository: Repository, wish: Wish) -> Night:
    head = repository.resolve("HEAD^{commit}")
    tree = repository.resolve("HEAD^{tree}")
    if head is None or tree is None:
        raise ConfigError("nightly needs a commit to start from", where=str(repository.root), hint="git commit")
    name, email = wish.author or repository.identity()
    return Night(
        day=wish.day.isoformat(),
        head=head,
        tree=tree,
        author=Author(name, email, wish.when),
        onto=wish.onto if wish.onto == NEWEST else f"v{bare(wish.onto)}",
        listed=str(wish.listed.resolve()) if wish.listed else "",
        registry=wish.registry,
        upstream=_located(wish.upstream),
        engine=wish.engine,
        base=wish.base,
        push=wish.push,
        accept_suspects=wish.accept_suspects,
    )


def _located(upstream: str) -> str:
    """Return the repository by its full path, where it is a folder: the steps run elsewhere."""
    return str(Path(upstream).resolve()) if upstream and Path(upstream).is_dir() else upstream


def _with_resolved(night: Night, resolved: Resolved, seconds: float) -> Night:
    work = resolved.work
    assert not isinstance(work, Nothing)
    planned = replace(
        night,
        tag=resolved.tag,
        branch=f"nightly/{resolved.tag}",
        pin_from=work.pin_from,
        pin_to=work.pin_to,
        reason=work.reason,
        notes=resolved.notes,
    )
    return planned.with_step(StepDone(StepName.RESOLVE, round(seconds, 3), work.reason))


def _nothing(work: Nothing) -> Nightly:
    return Nightly("nothing", work.reason, "", "", "", "", "", (), 0, {}, "", (), "")


@dataclass(frozen=True, slots=True)
class RealSteps:
    """The other verbs, as the steps of a night; each is loaded when it is needed: most nights have nothing to do."""

    repository: Repository
    root: Path
    access: Access

    def resolve(self, night: Night) -> Resolved:
        """Return what there is to do: the head's pins against what upstream has and what is published."""
        store = self.root.resolve().relative_to(self.repository.root.resolve())
        head = Head(self.repository, night.head, store)
        latest = head.latest()
        target = choose_target(latest, self.newest(night.upstream)) if night.onto == NEWEST else night.onto
        work = plan_work(latest, head.pins(), target, head.published(target))
        if isinstance(work, Nothing):
            return Resolved("", work)
        known = published_tags(self.root, _elsewhere(night))
        tag = plan_bump(known.valid | {head.version()}, date.fromisoformat(night.day))
        dirty = self.repository.uncommitted(head.image_paths())
        notes = (f"not committed, so not part of it: {', '.join(line[3:] for line in dirty)}",) if dirty else ()
        return Resolved(str(tag), work, notes)

    def newest(self, upstream: str = "") -> str:
        """Return the newest release that the package index serves, or that the git repository has a tag of."""
        known = listed_versions(self.access, upstream)
        if not known:
            raise ConfigError(
                "the git repository has no tag of a release", where=upstream, hint=f"git ls-remote {upstream}"
            )
        return f"v{known[0]}"

    def rebase(self, root: Path, night: Night) -> Told:
        """Carry the series from one pin to the other; the bake file then names both."""

        from patchkit.bake import BAKE, shipped_bake_text
        from patchkit.render.rebase import markdown
        from patchkit.verbs.rebase import Wish as Rebase
        from patchkit.verbs.rebase import begin_rebase

        result = begin_rebase(
            root,
            self.access,
            Rebase(night.pin_to, night.pin_from, accept_suspects=night.accept_suspects, upstream=night.upstream),
        )
        counts = Counter(hunk.action for topic in result.topics for hunk in topic.hunks)
        files = {"rebase.md": markdown(result).encode()}
        open_points = root / PATCHES / ".rebase" / "CONFLICTS.md"
        if open_points.is_file():
            files["CONFLICTS.md"] = open_points.read_bytes()
        if not result.exit_code and (bake := shipped_bake_text(root)) is not None:
            replace_file(root / BAKE, bake.encode())
        note = ", ".join(f"{number} {action}" for action, number in sorted(counts.items())) or "no hunk"
        if not result.exit_code:
            return Told(note, document=render_json(result), files=files)
        open_note, hint = what_is_open(result.topics[-1].hunks, night.pin_to)
        return Told(f"{result.topics[-1].topic}: {open_note}", result.exit_code, hint, render_json(result), files)

    def verify(self, root: Path, night: Night) -> Told:
        """Prove the series of the pin, and look which of its topics should have ended by now."""

        from patchkit.verbs.verify import verify_pins

        result = verify_pins(root, [night.pin_to], self.access)
        errors, warnings = sum(s.errors for s in result.subjects), sum(s.warnings for s in result.subjects)
        told = [count(number, word) for number, word in ((errors, "error"), (warnings, "warning")) if number]
        note = ", ".join(told) or "every rule holds"
        text = f"```\n{render_text(result)}\n```\n".encode()
        return Told(
            note, result.exit_code, f"{_patchkit_at(root, night)} verify {night.pin_to}", render_json(result),
            {"verify.md": text},
            notes=tuple(self._ended(root, night)),
        )  # fmt: skip

    def _ended(self, root: Path, night: Night) -> Iterator[str]:
        """Yield what is to be asked about each topic whose `until` is met at the pin."""
        from patchkit.until import judge_until
        from patchkit.upstream.bring import bring_pin

        topics = read_topics(root)
        carried = [topics[name] for name in _topics(root, night.pin_to) if name in topics and topics[name].until]
        if not carried:
            return
        upstream = bring_pin(read_pin(root, night.pin_to), self.access)
        day = date.fromisoformat(night.day)
        for verdict in judge_until(carried, upstream.version, day, lambda path: upstream.read([path])[path]):
            if verdict.met is Met.YES:
                yield f"to be dropped? {verdict.topic}: until {verdict.until}: met ({verdict.evidence})"

    def bump(self, root: Path, night: Night) -> Told:
        """Write the tag that was planned, and no other."""

        from patchkit.verbs.bump import bump_version

        result = bump_version(root, date.fromisoformat(night.day), published=_elsewhere(night))
        if result.tag != night.tag:
            raise ConfigError(
                f"{night.tag} was published meanwhile", found=f"next: {result.tag}", hint="patchkit nightly"
            )
        return Told(f"{result.tag} in {', '.join(result.files)}", document=render_json(result))

    def build(self, root: Path, night: Night) -> Told:
        """Build the image of the pin."""

        from patchkit.verbs.build import BuildOptions, build_images

        options = BuildOptions(base=night.base)
        result = build_images(root, [night.pin_to], self.access, engine=night.engine, options=options)
        image = result.images[0]
        remove = f"rm -r {image.image}" if image.engine == "venv" else f"{image.engine} rmi {image.tag}"
        return Told(f"{image.engine}: {image.tag}", result.exit_code, "", render_json(result), leftover=remove)

    def smoke(self, root: Path, night: Night) -> Told:
        """Run the smoke tests in the image and in its base."""

        from patchkit.verbs.smoke import run_smoke

        with tempfile.TemporaryDirectory(prefix="patchkit-nightly-") as folder:
            junit = Path(folder) / SMOKE_JUNIT
            result = run_smoke(root, night.pin_to, self.access, engine=night.engine, control=True, junit=junit)
            files = {SMOKE_JUNIT: junit.read_bytes(), "smoke.md": f"```\n{render_text(result)}\n```\n".encode()}
        good = sum(not verdict.problem for verdict in result.tests)
        note = f"{good} of {len(result.tests)} tests as they must be, without and with the series"
        hint = f"{_patchkit_at(root, night)} smoke {night.pin_to} --control"
        return Told(note, result.exit_code, hint, render_json(result), files)

    def message(self, root: Path, night: Night) -> str:
        """Return the commit message: what is carried and dropped, with the trailers of a change to patches/."""
        topics = read_topics(root)
        after = _topics(root, night.pin_to)
        before = _topics(root, night.pin_from)
        upstream = list(dict.fromkeys(name for topic in after if topic in topics for name in topics[topic].upstream))
        trailers = [f"Nightly: {night.tag}", f"Pin: {night.pin_to}", *(f"Topic: {topic}" for topic in after)]
        trailers += [f"Upstream: {', '.join(upstream) or 'none'}", f"Verified-by: patchkit verify {night.pin_to}"]
        body = [f"Carried from {night.pin_from}.", ""] if night.carried else []
        return "\n".join([_subject(night, after, [t for t in before if t not in after]), "", *body, *trailers])


def _patchkit_at(root: Path, night: Night) -> str:
    """Return the start of a command on the night's pin: what was carried is in the scratch repository alone."""
    if not night.carried:
        return "patchkit"
    return f"patchkit --root {root.relative_to(Path.cwd()) if root.is_relative_to(Path.cwd()) else root}"


def _elsewhere(night: Night) -> PublishedElsewhere:
    return PublishedElsewhere(Path(night.listed) if night.listed else None, night.registry)


def _topics(root: Path, pin: str) -> list[str]:
    return [name.removesuffix(".patch") for name in read_series_names(root, pin)] if pin in pin_names(root) else []


def _subject(night: Night, carried: list[str], dropped: list[str]) -> str:
    head = f"patches/{night.pin_to}:"
    if not night.carried:
        return f"{head} release as {night.tag}"
    told = f"{head} carry {', '.join(carried)}" + (f", drop {', '.join(dropped)}" if dropped else "")
    short = f"{head} carry {count(len(carried), 'topic')}" + (f", drop {len(dropped)}" if dropped else "")
    return told if len(told) <= _SUBJECT_LENGTH else short
