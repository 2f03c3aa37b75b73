"""One frozen record for the outcome of each verb, with its JSON schema version.

A record's class says which verb it belongs to and which version its JSON document has; `exit_code` is what the
process ends with after the record was shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from patchkit.applied import Applied as Applied
from patchkit.model import Finding, Outcome, Severity, SmokeVerdict, Topic, UntilVerdict


class Result(Protocol):
    """What every record offers to the command line."""

    verb: ClassVar[str]  # the module of patchkit.render that shows it
    schema: ClassVar[int]  # raised when a field changes its meaning or goes away

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        ...


class TopicState(StrEnum):
    """What an export of an edit makes of one topic."""

    UNCHANGED = "unchanged"
    REFRESHED = "refreshed only"  # other line numbers, context or ids; it adds and removes the same lines
    REWORDED = "reworded"  # other author, date or message; it adds and removes the same lines
    EDITED = "edited"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic of a series that was, or would be, written again."""

    topic: str
    state: TopicState


@dataclass(frozen=True, slots=True)
class Refresh:
    """`refresh`: which files of a pin were, or would be, written again.

    topics: where an edit was taken over, or patches were made canonical. edit: the worktree that it came from.
    """

    verb: ClassVar[str] = "refresh"
    schema: ClassVar[int] = 1

    pin: str
    changed: tuple[str, ...]
    check: bool
    topics: tuple[TopicChange, ...] = ()
    edit: str = ""

    @property
    def exit_code(self) -> int:
        """4 when a check found a file that is not current."""
        return 4 if self.check and self.changed else 0


@dataclass(frozen=True, slots=True)
class Edit:
    """`edit`: the worktree in which a series can be changed.

    commits: each topic with its commit, in order. at: the topic whose commit is to be amended now; empty: all of
    them are there, the last on top. created: whether it was made now. aside: where a former edit was put.
    """

    verb: ClassVar[str] = "edit"
    schema: ClassVar[int] = 1

    pin: str
    folder: str
    commits: tuple[tuple[str, str], ...]
    at: str
    created: bool
    unfinished: tuple[str, ...] = ()
    aside: str = ""
    closed: bool = False

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be done raises."""
        return 0


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that doctor looked at. hint: the line that mends it."""

    name: str
    ok: bool
    found: str
    hint: str = ""
    needed: bool = True  # False: only some verbs want it


@dataclass(frozen=True, slots=True)
class Doctor:
    """`doctor`: what is here, what is missing."""

    verb: ClassVar[str] = "doctor"
    schema: ClassVar[int] = 1

    probes: tuple[Probe, ...]

    @property
    def exit_code(self) -> int:
        """6 when something that is needed is missing."""
        return 6 if any(probe.needed and not probe.ok for probe in self.probes) else 0


@dataclass(frozen=True, slots=True)
class PinStatus:
    """One pin of the store. files, hunks: of its sglang.patch; 0 where the manifest was not generated yet."""

    pin: str
    topics: tuple[str, ...]
    files: int
    hunks: int
    upstream_cached: bool


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """One topic, and the pins that carry it."""

    topic: Topic
    pins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """`status`: pins, topics, staleness, and the next step. topic: the one that was asked for; empty: all.

    edits: the pins whose edit holds work. todos: the topics with a TODO in topics.toml. until: what became of each
    topic's `until` at the release judged_at, the newest that is here.
    """

    verb: ClassVar[str] = "status"
    schema: ClassVar[int] = 1

    topic: str
    version: str
    latest: str
    newest_upstream: str  # empty where it was not asked or not reached
    pins: tuple[PinStatus, ...]
    topics: tuple[TopicStatus, ...]
    next_step: str
    edits: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    until: tuple[UntilVerdict, ...] = ()
    judged_at: str = ""

    @property
    def exit_code(self) -> int:
        """Always 0: status tells, it does not judge."""
        return 0


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the main job. note: what it showed, in a few words."""

    name: str
    ok: bool
    seconds: float
    note: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A PatchkitError that ended a step, as a value."""

    what: str
    where: str
    found: str
    kept: str
    hint: str


@dataclass(frozen=True, slots=True)
class Job:
    """The main job of one pin.

    artifact: the image's digest, or the folder of the virtual environment.
    failed_with: the exit code of the step that failed, 0 if none did. failure: what it said, or its result.
    """

    pin: str
    engine: str
    steps: tuple[Step, ...]
    artifact: str
    failed_with: int
    failure: "Failure | Verify | Smoke | None"
    next_step: str


@dataclass(frozen=True, slots=True)
class Run:
    """`run`: apply, verify, build and smoke of each pin, in order."""

    verb: ClassVar[str] = "run"
    schema: ClassVar[int] = 1

    jobs: tuple[Job, ...]

    @property
    def exit_code(self) -> int:
        """That of the first step that failed."""
        return next((job.failed_with for job in self.jobs if job.failed_with), 0)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that pin.toml accepts. until: the last day on which it does, as "2027-01-31"."""

    finding: Finding
    reason: str
    until: str


@dataclass(frozen=True, slots=True)
class Verified:
    """One series that was looked at. not_run: what could not be looked at, and why; never silently less."""

    name: str
    topics: tuple[str, ...]
    files: int
    hunks: int
    findings: tuple[Finding, ...]
    accepted: tuple[Accepted, ...] = ()
    not_run: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def errors(self) -> int:
        """How many findings make verify fail."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings are told and do not make it fail."""
        return sum(finding.severity is Severity.WARNING for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Verify:
    """`verify`: what was proven of each series, and what was not."""

    verb: ClassVar[str] = "verify"
    schema: ClassVar[int] = 1

    subjects: tuple[Verified, ...]

    @property
    def exit_code(self) -> int:
        """4 when a rule or a guard fails."""
        return 4 if any(subject.errors for subject in self.subjects) else 0


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """One image as it was built. image: its digest, or the folder of a virtual environment; base_id: likewise."""

    pin: str
    engine: str
    image: str
    tag: str
    base: str
    base_id: str
    series: str  # sha256 of sglang.patch
    topics: tuple[str, ...]
    files: int
    seconds: float
    pushed: str = ""  # the digest that the registry knows it by


@dataclass(frozen=True, slots=True)
class Build:
    """`build`: the images, in the order that was asked for."""

    verb: ClassVar[str] = "build"
    schema: ClassVar[int] = 1

    images: tuple[BuiltImage, ...]

    @property
    def exit_code(self) -> int:
        """Always 0: a build that fails raises."""
        return 0


@dataclass(frozen=True, slots=True)
class Smoke:
    """`smoke`: every test with its verdict. seconds: of the whole; base: empty when no control run was made."""

    verb: ClassVar[str] = "smoke"
    schema: ClassVar[int] = 1

    pin: str
    engine: str
    image: str
    base: str
    control: bool
    remembered: bool  # the control run is an earlier one: the same tests in the same base
    tests: tuple[SmokeVerdict, ...]
    seconds: float
    kept: tuple[str, ...]  # containers that were asked to be kept

    @property
    def exit_code(self) -> int:
        """5 when a test is not as it must be, or when all of them were skipped."""
        ran = any(test.with_series is not Outcome.SKIPPED for test in self.tests)
        return 5 if not ran or any(test.problem for test in self.tests) else 0


@dataclass(frozen=True, slots=True)
class Stray:
    """One file that is not the nearest release's. versions: the releases that have this content."""

    path: str
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identify:
    """`identify`: the release that a patch or a tree belongs to. same: how many of `blobs` are its own.

    ties: releases that fit exactly as well. notes: what could not be looked at.
    """

    verb: ClassVar[str] = "identify"
    schema: ClassVar[int] = 1

    path: str
    version: str  # empty where no blob is of any release
    same: int
    blobs: int
    mixed: bool
    ties: tuple[str, ...]
    strays: tuple[Stray, ...]
    looked_at: int
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """2 when it is of no release; else 0: a nearest release is an answer."""
        return 0 if self.version else 2


@dataclass(frozen=True, slots=True)
class Bump:
    """`bump`: the next nightly tag. published: how many tags it had to come after. malformed: passed over."""

    verb: ClassVar[str] = "bump"
    schema: ClassVar[int] = 1

    previous: str
    tag: str
    published: int
    malformed: tuple[str, ...]
    files: tuple[str, ...]
    dry_run: bool

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be bumped raises."""
        return 0


@dataclass(frozen=True, slots=True)
class Nightly:
    """`nightly`: what became of it. outcome: published, nothing, planned or failed; folder: with the report.

    failure: what the failed step said, as it prints an error: what, where, found, kept, hint.
    """

    verb: ClassVar[str] = "nightly"
    schema: ClassVar[int] = 1

    outcome: str
    reason: str
    tag: str
    pin_from: str
    pin_to: str
    branch: str
    commit: str
    steps: tuple[Step, ...]
    failed_with: int
    failure: Mapping[str, str]
    folder: str
    notes: tuple[str, ...]
    next_step: str

    @property
    def exit_code(self) -> int:
        """That of the step that failed."""
        return self.failed_with


@dataclass(frozen=True, slots=True)
class ReportedHunk:
    """One hunk of a pin's sglang.patch, to be read. line: where it stands after the change; lines: with markers."""

    path: str
    number: int
    line: int
    scope: str
    topics: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PinPage:
    """One pin as the report shows it. sha256: of sglang.patch; added, removed: lines of it."""

    pin: str
    commit: str
    tree: str
    sha256: str
    topics: tuple[str, ...]
    added: int
    removed: int
    hunks: tuple[ReportedHunk, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A JSON document that a verb wrote. file: below the folder that was given."""

    verb: str
    file: str
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """`report`: the store, and what the verbs have shown of it."""

    verb: ClassVar[str] = "report"
    schema: ClassVar[int] = 1

    version: str
    latest: str
    made: str
    topics: tuple[Topic, ...]
    pins: tuple[PinPage, ...]
    evidence: tuple[Evidence, ...]

    def documents(self, verb: str) -> tuple[Mapping[str, Any], ...]:
        """Return the documents of one verb, in the order of their file names."""
        return tuple(entry.document for entry in self.evidence if entry.verb == verb)

    @property
    def exit_code(self) -> int:
        """Always 0: a report tells, it does not judge."""
        return 0


class TroubleKind(StrEnum):
    """What is wrong with a patch folder as it was found."""

    UNREADABLE = "cannot be read"
    WRONG_LABEL = "wrong label"
    MIXED = "written for no release"
    NO_INDEX = "no index lines"
    NO_PLACE = "does not apply"
    UPSTREAM = "already upstream"
    TWICE = "defined or applied twice"
    MISPLACED = "in the wrong place"
    REPEATED = "its text stands in other places too"
    OFFSET = "line numbers are off"
    CHANGED = "other result than promised"
    NEVER_APPLIED = "never applied"
    TOLERANT = "applied without proof"
    COPY = "copy of another folder"
    SAME_PIN = "second set for one pin"
    BACKWARDS = "tag went backwards"
    OUTSIDE = "not verifiable from a wheel"
    FOREIGN = "not for sglang"
    REWRITTEN = "paths rewritten"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that a person should know before the folder is trusted. rule: as `patchkit explain` knows it."""

    kind: TroubleKind
    where: str
    what: str
    found: str = ""
    hint: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class AdoptedTopic:
    """One patch file that became a topic. paths outside python/sglang are carried and not counted in files."""

    topic: str
    source: str
    files: int
    hunks: int
    outside: int


@dataclass(frozen=True, slots=True)
class AdoptedPin:
    """One set of patch files. pin: empty where none was found. reason: why it was not, or would not be, written."""

    label: str
    pin: str
    same: int
    blobs: int
    ties: tuple[str, ...]
    order: str
    topics: tuple[AdoptedTopic, ...]
    composes: bool
    written: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Adopt:
    """`import`: what was adopted, and what is wrong with it."""

    verb: ClassVar[str] = "adopt"
    schema: ClassVar[int] = 1

    sets: tuple[AdoptedPin, ...]
    troubles: tuple[Trouble, ...]
    written: tuple[str, ...]
    dry_run: bool
    next_step: str
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """2 when not one set could be adopted; troubles alone are a report, not a failure."""
        return 0 if any(each.pin and not each.reason for each in self.sets) else 2


@dataclass(frozen=True, slots=True)
class Reshape:
    """`split`, `squash`, `topic ...`: a series whose topics changed, and whose result did not unless one was dropped.

    same_result: every file ends as before, by blob id. plan: the text of a plan to edit, where that was asked for.
    """

    verb: ClassVar[str] = "reshape"
    schema: ClassVar[int] = 1

    pin: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    changed: tuple[str, ...]
    same_result: bool
    dry_run: bool = False
    plan: str = ""
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be done raises."""
        return 0


@dataclass(frozen=True, slots=True)
class WhyHunk:
    """One hunk that made a line what it is. line: of the patched file, where its change begins."""

    topic: str
    title: str
    why: str
    hunk: str
    patch_file: str
    patch_line: int
    line: int
    scope: str
    upstream: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """`why`: what brought a line. line: 0 for the whole file. upstream_line: at the pin, if it is upstream's line."""

    verb: ClassVar[str] = "why"
    schema: ClassVar[int] = 1

    pin: str
    path: str
    line: int
    text: str
    hunks: tuple[WhyHunk, ...]
    upstream_line: int = 0

    @property
    def exit_code(self) -> int:
        """Always 0: a line of upstream is an answer."""
        return 0


@dataclass(frozen=True, slots=True)
class Propose:
    """`propose`: what was written for upstream. looked_at: the newest upstream that was found to lack the topic."""

    verb: ClassVar[str] = "propose"
    schema: ClassVar[int] = 1

    topic: str
    pin: str
    patch: str
    text: str
    branch: str
    repository: str
    looked_at: str
    todos: int

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be proposed raises."""
        return 0


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One file that is not as it must be."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class LabelProblem:
    """One label that says something else than what is there; what is there counts."""

    label: str
    says: str
    found: str


@dataclass(frozen=True, slots=True)
class Inspect:
    """`inspect`: what an image or a directory carries, told by its files.

    verdict: unmodified, modified, upstream (no series), unknown, or foreign: as its own record says, but no series of
    the store. pin: whose series it is, or comes nearest to. in_store: whether that series is the store's.
    """

    verb: ClassVar[str] = "inspect"
    schema: ClassVar[int] = 1

    target: str
    engine: str  # empty for a directory
    id: str
    verdict: str
    pin: str
    stated_version: str
    series: str
    topics: tuple[str, ...]
    in_store: bool
    touched: int
    compared: int
    problems: tuple[FileProblem, ...]
    lies: tuple[LabelProblem, ...]
    labels: Mapping[str, str]
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 for an unmodified series that is labelled as it is; 2 where none is known; else 4."""
        if self.verdict in ("upstream", "unknown"):
            return 2
        return 4 if self.verdict != "unmodified" or self.lies else 0


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One image to verify, build and smoke."""

    name: str
    pin: str
    variant: str
    base: str
    platform: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """`matrix`: the cells, and the document for the engine. written: files and folders; empty: the text is shown."""

    verb: ClassVar[str] = "matrix"
    schema: ClassVar[int] = 1

    format: str
    cells: tuple[MatrixCell, ...]
    text: str
    written: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Always 0: what cannot be split raises."""
        return 0


@dataclass(frozen=True, slots=True)
class RebasedHunk:
    """Where one hunk ended. action: carried, moved, shrunk, dropped or unresolved. stage: what decided it."""

    path: str
    number: int
    action: str
    stage: str = ""
    to: str = ""
    suspect: bool = False
    cause: str = ""
    scope: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RebasedTopic:
    """One topic. state: carried, dropped, skipped or stopped; empty for a patch file. counts: hunks by action."""

    topic: str
    state: str
    counts: Mapping[str, int]
    hunks: tuple[RebasedHunk, ...]


@dataclass(frozen=True, slots=True)
class Rebase:
    """`rebase`: what became of every hunk. state: written, stopped, interrupted or aborted."""

    verb: ClassVar[str] = "rebase"
    schema: ClassVar[int] = 1

    source: str
    target: str
    state: str
    topics: tuple[RebasedTopic, ...]
    written: str = ""
    work: str = ""
    next_step: str = ""
    until: tuple[UntilVerdict, ...] = ()

    @property
    def exit_code(self) -> int:
        """3 when a person must settle something."""
        unresolved = any(hunk.action == "unresolved" for topic in self.topics for hunk in topic.hunks)
        return 3 if unresolved or self.state == "stopped" else 0


@dataclass(frozen=True, slots=True)
class Explained:
    """`explain`: one rule of verify."""

    verb: ClassVar[str] = "explain"
    schema: ClassVar[int] = 1

    rule: str
    family: str
    title: str
    why: str
    mend: str

    @property
    def exit_code(self) -> int:
        """Always 0."""
        return 0


@dataclass(frozen=True, slots=True)
class Resolution:
    """One recorded resolution of a conflict."""

    name: str
    path: str
    scope: str
    topic: str
    onto: str
    by: str
    when: str
    why: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """`ledger`: the recorded resolutions."""

    verb: ClassVar[str] = "ledger"
    schema: ClassVar[int] = 1

    resolutions: tuple[Resolution, ...]
    dropped: str = ""

    @property
    def exit_code(self) -> int:
        """Always 0: to show is to succeed."""
        return 0


@dataclass(frozen=True, slots=True)
class ComparedHunk:
    """One hunk of two versions. change: unchanged, refreshed, edited, new or gone. old, new: `path#number`."""

    topic: str
    change: str
    old: str
    new: str
    section: str


@dataclass(frozen=True, slots=True)
class Diff:
    """`diff`: what changed between two versions of a series."""

    verb: ClassVar[str] = "diff"
    schema: ClassVar[int] = 1

    old: str
    new: str
    hunks: tuple[ComparedHunk, ...]

    @property
    def exit_code(self) -> int:
        """Always 0: a difference is an answer."""
        return 0
