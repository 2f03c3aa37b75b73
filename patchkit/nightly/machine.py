"""From step to step: each in a scratch repository, each recorded before the next, nothing published before the end.

A kill at any instant leaves state.json as after the last step that ended; `resume` goes on from there and comes to
the same commit and tag, since all that enters them (files, author, time) is in the state or in git.
"""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, assert_never

from patchkit.errors import ConfigError, PatchkitError
from patchkit.nightly.plan import Nothing, Work
from patchkit.nightly.state import Failure, Night, StepDone, StepName, read_night, write_night
from patchkit.repository import Repository
from patchkit.store import replace_file

STATE = "state.json"
REPORT = "report.json"  # written last of all
WORK = "work"
_TAGS = "nightly-dev-*"


@dataclass(frozen=True, slots=True)
class Told:
    """What a step has to tell. exit_code: 0, or why the night ends here. document: JSON text. files: for the folder.

    notes: what a person should know. leftover: a command that removes what the step has made outside of the night's
    folder, should the night fail after it.
    """

    note: str
    exit_code: int = 0
    hint: str = ""
    document: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    leftover: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What there is to do. notes: what a person should know about it."""

    tag: str
    work: Work | Nothing
    notes: tuple[str, ...] = ()


class Steps(Protocol):
    """What the night consists of. root: of the store in the scratch repository."""

    def resolve(self, night: Night) -> Resolved:
        """Return what there is to do, by looking at the repository and at upstream."""
        ...

    def rebase(self, root: Path, night: Night) -> Told:
        """Write the series of the new pin."""
        ...

    def verify(self, root: Path, night: Night) -> Told:
        """Prove the series."""
        ...

    def bump(self, root: Path, night: Night) -> Told:
        """Write the tag and whatever names it."""
        ...

    def build(self, root: Path, night: Night) -> Told:
        """Build the image."""
        ...

    def smoke(self, root: Path, night: Night) -> Told:
        """Run the smoke tests with and without the series."""
        ...

    def message(self, root: Path, night: Night) -> str:
        """Return the message of the commit."""
        ...


@dataclass(slots=True)
class Machine:
    """One night in one folder. store: the store's root relative to the repository's."""

    repository: Repository
    store: Path
    folder: Path
    steps: Steps
    talk: Callable[[str], None]
    push_timeout_s: float = 900.0

    def run(self, night: Night) -> Night:
        """Do every step that is left; stop at the first that fails. Returns the night as it ended."""
        self._keep(night)
        while (name := night.next_step) is not None:
            if name is StepName.REBASE and not night.carried:
                night = self._keep(night.with_step(StepDone(name, 0.0, f"not needed: {night.pin_to} is here")))
                continue
            self.talk(f"nightly: {name}")
            night = self._keep(self._do(name, night))
            if night.failure:
                return night
        self._remove_work()
        return night

    def _do(self, name: StepName, night: Night) -> Night:
        started = time.monotonic()
        try:
            night, told = self._step(name, night)
            failure = Failure(told.exit_code, told.note, hint=told.hint) if told.exit_code else None
        except PatchkitError as error:
            told, failure = Told(error.what), Failure.of(error)
        for file, content in {**told.files, f"{name}.json": told.document.encode()}.items():
            if content:
                replace_file(self.folder / file, content)
        notes = tuple(dict.fromkeys((*night.notes, *told.notes)))
        night = replace(night, notes=notes, leftover=told.leftover or night.leftover)
        return night.with_step(StepDone(name, round(time.monotonic() - started, 3), told.note, failure))

    def _step(self, name: StepName, night: Night) -> tuple[Night, Told]:
        match name:
            case StepName.RESOLVE:
                raise AssertionError("resolved before the machine starts")
            case StepName.REBASE | StepName.BUMP:
                work = self._work(night)
                call = self.steps.rebase if name is StepName.REBASE else self.steps.bump
                told = call(work.root / self.store, night)
                if told.exit_code:
                    return night, told
                night = replace(night, tree=work.write_tree())
                return (self._commit(work, night) if name is StepName.BUMP else night), told
            case StepName.VERIFY:
                return night, self.steps.verify(self._work(night).root / self.store, night)
            case StepName.BUILD:
                return night, self.steps.build(self._work(night).root / self.store, night)
            case StepName.SMOKE:
                return night, self.steps.smoke(self._work(night).root / self.store, night)
            case StepName.PUBLISH:
                return self._publish(night)
            case _:
                assert_never(name)

    def _commit(self, work: Repository, night: Night) -> Night:
        """Commit before the build: the image is then labelled with the very commit that is published."""
        message = self.steps.message(work.root / self.store, night)
        commit = work.write_commit(night.tree, night.head, message, night.author.line)
        subject = message.splitlines()[0]
        return replace(night, commit=commit, tag_id=work.write_tag(night.tag, commit, subject, night.author.line))

    def _publish(self, night: Night) -> tuple[Night, Told]:
        refs = {f"refs/heads/{night.branch}": night.commit, f"refs/tags/{night.tag}": night.tag_id}
        if any(self.repository.resolve(ref) != value for ref, value in refs.items()):
            self.repository.take(self._work(night), [night.commit, night.tag_id], known=night.head)
            self.repository.create_refs(refs)
        where = f"{night.commit[:12]} on {night.branch}"
        if night.push:
            self.repository.push(night.push, list(refs), timeout_s=self.push_timeout_s)
            where += f", pushed to {night.push}"
        return replace(night, published=True), Told(where)

    def _work(self, night: Night) -> Repository:
        """Return the scratch repository with the files as after the last step that is done."""
        folder = self.folder / WORK
        if not folder.is_dir():
            fresh = self.folder / f"{WORK}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            self.repository.make_scratch(fresh, night.head, tags=_TAGS)
            fresh.rename(folder)
        work = Repository(folder, folder / ".git")
        for lock in work.git_folder.glob("*.lock"):  # of a git that was killed; nobody else works here
            lock.unlink()
        if work.resolve(night.tree) is None:
            raise ConfigError("the scratch repository of the night is gone", where=str(folder), hint="patchkit nightly")
        work.restore(night.tree)
        work.move_head(night.commit or night.head)
        return work

    def _remove_work(self) -> None:
        shutil.rmtree(self.folder / WORK, ignore_errors=True)

    def _keep(self, night: Night) -> Night:
        replace_file(self.folder / STATE, write_night(night))
        return night


def find_night(out: Path) -> tuple[Path, Night]:
    """Return the folder and the state of the night that was begun last, if it is not published and reported yet."""
    states = [(path, read_night(path.read_bytes(), where=str(path))) for path in out.glob(f"nightly-*/{STATE}")]
    path, night = max(states, key=lambda each: (each[1].author.when, str(each[0])), default=(None, None))
    if path is None or night is None or (night.published and (path.parent / REPORT).is_file()):
        raise ConfigError("there is no night to resume", where=str(out), hint="patchkit nightly")
    return path.parent, night


def begin_folder(out: Path, name: str) -> Path:
    """Make the folder of a night; one of an earlier try is set aside, not deleted."""
    folder = out / name
    if folder.exists():
        number = 1
        while (aside := out / f"{name}.{number}").exists():
            number += 1
        folder.rename(aside)
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*\n")
    return folder
