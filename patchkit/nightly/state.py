"""One night's work as a value: what was decided, which steps are done, how it ended. Written to state.json."""

import json
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from patchkit.errors import ConfigError, PatchkitError

SCHEMA = "patchkit/night/1"


class StepName(StrEnum):
    """The steps, in order. All but RESOLVE and PUBLISH work in the scratch clone."""

    RESOLVE = "resolve"
    REBASE = "rebase"
    VERIFY = "verify"
    BUMP = "bump"
    BUILD = "build"
    SMOKE = "smoke"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True)
class Author:
    """Who the commit and the tag are by. when: seconds since 1970, the start of the night: resumed, the same."""

    name: str
    email: str
    when: int

    @property
    def line(self) -> str:
        """Return it as git writes it into an object."""
        return f"{self.name} <{self.email}> {self.when} +0000"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a step failed, as the error said it."""

    exit_code: int
    what: str
    where: str = ""
    found: str = ""
    kept: str = ""
    hint: str = ""

    @classmethod
    def of(cls, error: PatchkitError) -> "Failure":
        """Return what an error says."""
        return cls(error.exit_code, error.what, error.where, error.found, error.kept, error.hint)


@dataclass(frozen=True, slots=True)
class StepDone:
    """One step that ended. note: what it showed, in a few words."""

    name: StepName
    seconds: float
    note: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Night:
    """One night's work.

    day: of the tag, as "2026-08-10". head: the commit that it starts from. tag, pin_from, pin_to, branch: empty
    until resolved. tree: of the scratch clone after the last step that is done. commit, tag_id: made by the bump,
    published at the end. push: the remote, or empty. listed, registry: where more published tags are, or empty.
    upstream: the git repository that releases come from, or empty for the package index. reason: why there is
    something to do. accept_suspects: they go to the pull request and do not end the night. leftover: a command that
    removes the image, once it is built.
    """

    day: str
    head: str
    author: Author
    onto: str = "newest"
    listed: str = ""
    registry: str = ""
    upstream: str = ""
    engine: str = "auto"
    base: str = ""
    push: str = ""
    accept_suspects: bool = False
    reason: str = ""
    tag: str = ""
    pin_from: str = ""
    pin_to: str = ""
    branch: str = ""
    tree: str = ""
    commit: str = ""
    tag_id: str = ""
    steps: tuple[StepDone, ...] = ()
    published: bool = False
    notes: tuple[str, ...] = field(default=())
    leftover: str = ""

    @property
    def failure(self) -> Failure | None:
        """Why it failed; None while it has not."""
        return self.steps[-1].failure if self.steps else None

    @property
    def carried(self) -> bool:
        """Whether the night carries the series to another pin."""
        return self.pin_to != self.pin_from

    @property
    def next_step(self) -> StepName | None:
        """The step that comes next: the one that failed, or the first that is not done."""
        done = {step.name for step in self.steps if step.failure is None}
        return next((name for name in StepName if name not in done), None)

    def with_step(self, step: StepDone) -> "Night":
        """Return the night with one more step; one that failed before is replaced."""
        kept = tuple(each for each in self.steps if each.failure is None and each.name is not step.name)
        return replace(self, steps=(*kept, step))


def write_night(night: Night) -> bytes:
    """Return state.json."""
    return (json.dumps({"schema": SCHEMA, **asdict(night)}, indent=1) + "\n").encode()


def read_night(text: bytes, *, where: str) -> Night:
    """Read state.json."""
    try:
        table: dict[str, Any] = json.loads(text)
        if table.pop("schema") != SCHEMA:
            raise ConfigError(
                "the night was begun by another version of patchkit", where=where, hint="patchkit nightly"
            )
        steps = tuple(_step(each) for each in table.pop("steps"))
        author, notes = Author(**table.pop("author")), tuple(table.pop("notes"))
        return Night(**table, author=author, steps=steps, notes=notes)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise ConfigError(
            "the state of the night is damaged", where=where, found=str(exc), hint="patchkit nightly"
        ) from exc


def _step(table: dict[str, Any]) -> StepDone:
    failure = Failure(**table["failure"]) if table["failure"] else None
    return StepDone(StepName(table["name"]), table["seconds"], table["note"], failure)
