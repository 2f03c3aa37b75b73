"""`rebase`: make the series of a new pin out of an old one, topic by topic; stop where a person must settle."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from patchkit.carry.nouns import Carried, Settle
from patchkit.errors import ConfigError
from patchkit.model import GitSource, UntilVerdict
from patchkit.patch.patchtext import read_patch
from patchkit.rebasing.doubts import doubts, is_proposed, report_with
from patchkit.rebasing.finish import TopicResult, pin_files, pin_of, report_text, write_pin
from patchkit.rebasing.ledger import Acceptance, Entry, read_accepted, read_ledger, replay, write_entry
from patchkit.rebasing.marks import resolutions
from patchkit.rebasing.refusals import refuse_unsettled
from patchkit.rebasing.resolver import propose
from patchkit.rebasing.settled import settled_report, skipped_report, untouched_doubts
from patchkit.rebasing.state import (
    RebaseState,
    find_state,
    folder_of,
    keep_result,
    read_results,
    read_state,
    remove_state,
    series_id,
    write_state,
)
from patchkit.rebasing.steps import Move, as_files, carry_topic, contents, patch_of
from patchkit.rebasing.telling import tell_stopped, tell_topics
from patchkit.rebasing.work import Stop, Stopped, read_work, write_work
from patchkit.repository import find_repository, hold_lock
from patchkit.results.rebase import Rebase, RebasedTopic
from patchkit.rules.compose import NamedPatch
from patchkit.series.drafts import Draft, read_drafts, result_of
from patchkit.store import PATCHES, chosen_pin, pin_folder, read_pin, read_series, read_topics
from patchkit.until import judge_until
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream, bring_git, bring_pin, bring_version
from patchkit.upstream.clones import describe_commit, is_clone, location_of
from patchkit.upstream.index import listed_versions
from patchkit.upstream.trees import LayeredTree, UpstreamTree
from patchkit.versions import bare, is_release, is_version, order


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for. through: step through the releases between. accept_suspects: do not stop for them.

    upstream: a git repository whose tags are the releases; a clone also gives what is between them: onto is then a
    commit, a branch or a tag of it.
    """

    onto: str
    source: str | None = None
    through: bool = False
    accept_suspects: bool = False
    resolver: str = ""
    upstream: str = ""


@dataclass(frozen=True, slots=True)
class Settling:
    """How a topic was settled by hand. why: goes into the ledger."""

    today: date
    why: str = ""


def begin_rebase(root: Path, access: Access, wish: Wish) -> Rebase:
    """Begin to carry the series of a pin, the latest one by default, to another release."""
    with hold_lock(root, "rebase", wait_s=0):
        if find_state(root) is not None:
            raise ConfigError(
                "a rebase is under way already",
                where=f"{PATCHES}/.rebase",
                hint="patchkit rebase --status, then --continue, --skip or --abort",
            )
        source = chosen_pin(root, wish.source)
        target, commit = _target(wish)
        if target == source:
            raise ConfigError(
                f"the series is at {source} already",
                where=f"{PATCHES}/{source}",
                hint=f"patchkit verify {source}",
            )
        if pin_folder(root, target).is_dir():
            raise ConfigError(
                f"pin {target} exists already",
                where=f"{PATCHES}/{target}",
                hint=f"to carry anew, take the folder away first: git rm -r {PATCHES}/{target}",
            )
        legs = _legs(source, target, wish.upstream, access) if wish.through else (source, target)
        state = RebaseState(
            legs,
            accept_suspects=wish.accept_suspects,
            resolver=wish.resolver,
            upstream=wish.upstream,
            commit=commit,
            series=series_id(read_series(root, source)),
        )
        job = _Job(root, access)
        job.prove(state)
        remove_state(root)  # what a kill at the end of the former rebase left
        write_state(root, state)
        return job.go_on(state)


def _target(wish: Wish) -> tuple[str, str]:
    """Return the pin to carry to, and its commit where it is no release."""
    if is_version(wish.onto):
        return f"v{bare(wish.onto)}", ""
    clone = Path(wish.upstream)
    if not (wish.upstream and clone.is_dir() and is_clone(clone)):
        raise ConfigError(
            f"{wish.onto} is no release",
            hint="patchkit rebase --onto v0.5.16; for a commit: patchkit rebase --onto COMMIT --upstream CLONE",
        )
    found = describe_commit(clone, wish.onto, {})
    return f"v{found.match.version}", "" if is_release(found.match.version) else found.commit


def _bring(state: RebaseState, pin: str, access: Access) -> Upstream:
    """Return the upstream of a leg of this rebase."""
    if not state.upstream:
        return bring_version(bare(pin), access)
    commit = state.commit if pin == state.legs[-1] else ""
    found = bring_git(state.upstream, commit or pin, access)
    path = Path(state.upstream)
    location = location_of(path) if path.is_dir() else state.upstream
    return replace(found, version=bare(pin), source=GitSource(location))


def continue_rebase(root: Path, access: Access, settling: Settling) -> Rebase:
    """Take the files that a person has settled, record the resolutions, and go on."""
    with hold_lock(root, "rebase", wait_s=0):
        state = read_state(root)
        job = _Job(root, access)
        if state.stopped:
            state = job.take_settled(state, settling)
        return job.go_on(state)


def skip_topic(root: Path, access: Access) -> Rebase:
    """Leave the topic out that the rebase stopped at, and go on."""
    with hold_lock(root, "rebase", wait_s=0):
        state = read_state(root)
        if not state.stopped:
            raise ConfigError("the rebase has not stopped at a topic", hint="patchkit rebase --continue")
        job = _Job(root, access)
        return job.go_on(job.leave_out(state))


def abort_rebase(root: Path) -> Rebase:
    """End the rebase; the store is as it was before."""
    with hold_lock(root, "rebase", wait_s=0):
        try:
            state = read_state(root)
        except ConfigError:
            if not folder_of(root).is_dir():
                raise
            remove_state(root)  # damaged, or half removed by a kill: nobody can go on from it
            return Rebase("unknown", "unknown", "aborted", (), next_step="patchkit rebase --onto PIN")
        remove_state(root)
        return _told(state, "aborted", (), next_step=f"patchkit rebase --onto {state.legs[-1]}")


def rebase_status(root: Path, access: Access) -> Rebase:
    """Tell where the rebase stands."""
    state = read_state(root)
    return _Job(root, access).tell(state, "stopped" if state.stopped else "interrupted")


@dataclass(frozen=True, slots=True)
class _Job:
    """The work on one rebase."""

    root: Path
    access: Access

    def prove(self, state: RebaseState) -> None:
        """Raise what would keep the rebase from its first step, while there is no state yet."""
        self._side(state)

    def go_on(self, state: RebaseState) -> Rebase:
        """Carry topic after topic until one needs a person or all are done."""
        while True:
            side = self._side(state)
            if state.done == len(side.topics):
                if state.is_last_leg:
                    return self._finish(state)
                state = replace(state, leg=state.leg + 1, done=0)
                write_state(self.root, state)
                continue
            if state.stopped:
                return self.tell(state, "stopped")
            move = side.carry(state, self._settle(state), self.access)
            accepted = read_accepted(self.root)
            found = doubts(move, side.new_tree(state))
            report = report_with(move, found, accepted)
            asked = [one for one in found if one.name not in accepted]
            if move.unresolved or any(map(is_proposed, asked)) or (asked and not state.accept_suspects):
                write_work(self.root, Stop(move, state.source, side.new_tree(state), report, found))
                state = replace(state, stopped=True)
                write_state(self.root, state)
                return self.tell(state, "stopped")
            state = keep_result(self.root, state, move.former.topic, patch_of(move, side.target), report)

    def take_settled(self, state: RebaseState, settling: Settling) -> RebaseState:
        """Make the topic's patch of the files in work/ and record how its conflicts were settled."""
        stopped = read_work(self.root)
        side = self._side(state)
        draft, new = side.topics[state.done], side.new_tree(state)
        refuse_unsettled(self.root, stopped, new)
        before, after = as_files(stopped.texts, new, draft)
        settled = Move(draft, Carried(stopped.texts, stopped.texts, ()), before, after)
        accepted = self._record(stopped, settling, state)
        report = settled_report(stopped, accepted, after.keys())
        return keep_result(self.root, state, draft.topic, patch_of(settled, side.target), report)

    def leave_out(self, state: RebaseState) -> RebaseState:
        """Write an empty result for the topic."""
        draft = self._side(state).topics[state.done]
        return keep_result(self.root, state, draft.topic, b"", skipped_report(draft))

    def tell(self, state: RebaseState, what: str) -> Rebase:
        """Return where the rebase stands, with the topics that are done and the one that waits."""
        topics = tell_topics(self._by_leg(state))
        work = ""
        if state.stopped:
            work = str(folder_of(self.root).relative_to(self.root) / "work")
            stopped = read_work(self.root)
            topics = tell_stopped(topics, stopped.topic, state.target, stopped.report)
        next_step = "patchkit rebase --continue" if what != "written" else f"patchkit verify {state.target}"
        return _told(state, what, tuple(topics), work=work, next_step=next_step)

    def _side(self, state: RebaseState) -> "_Side":
        former = read_series(self.root, state.legs[0])
        if state.series != series_id(former):
            raise ConfigError(
                f"series {state.legs[0]} is no longer as it was when the rebase began",
                where=f"{PATCHES}/{state.legs[0]}",
                kept="the rebase is where it was",
                hint=f"bring the series back, or: patchkit rebase --abort, then --onto {state.legs[-1]}",
            )
        target = _bring(state, state.target, self.access)
        if state.leg == 0:
            source = bring_pin(former.pin, self.access)
            patches = [NamedPatch(one.topic, f"{one.topic}.patch", one.patch) for one in former.topics]
        else:
            source = _bring(state, state.source, self.access)
            count = len(former.topics)
            earlier = replace(state, leg=state.leg - 1, done=count)
            results = self._leg_results(earlier)
            patches = [NamedPatch(name, f"{name}.patch", read_patch(text)) for name, text, _ in results if text]
        topics = read_drafts(patches, source, what=f"series {state.source}")
        names = [draft.topic for draft in topics]
        results = read_results(self.root, state, names)
        done = [NamedPatch(name, f"{name}.patch", read_patch(text)) for name, text, _ in results if text]
        return _Side(source, target, tuple(topics), tuple(read_drafts(done, target, what=f"series {state.target}")))

    def _leg_results(self, state: RebaseState, *, is_done: bool = True) -> list[TopicResult]:
        """Return all results of a finished leg, in the order of the series; those there are of one under way."""
        names = [topic.topic for topic in read_series(self.root, state.legs[0]).topics]
        for leg in range(state.leg):
            kept = {name for name, text, _ in self._leg_results(replace(state, leg=leg)) if text}
            names = [name for name in names if name in kept]
        return read_results(self.root, replace(state, done=len(names)) if is_done else state, names)

    def _by_leg(self, state: RebaseState) -> dict[str, list[TopicResult]]:
        """Return what is done of each leg, this one included, by the pin that the leg goes to."""
        legs = enumerate(state.legs[1 : state.leg + 2])
        return {pin: self._leg_results(replace(state, leg=leg), is_done=leg < state.leg) for leg, pin in legs}

    def _settle(self, state: RebaseState) -> list[Settle]:
        found = [replay(read_ledger(self.root))]
        if state.resolver:
            found.append(propose(state.resolver, self.root, timeout_s=self.access.deadline_s))
        return found

    def _record(self, stopped: Stopped, settling: Settling, state: RebaseState) -> list[Acceptance]:
        """Write what was settled and what was accepted into the ledger; return what was accepted, now or before."""
        repository = find_repository(self.root)
        signed: dict[str, Any] = {
            "by": repository.identity()[0] if repository else "unknown",
            "when": settling.today.isoformat(),
            "why": settling.why,
            "topic": stopped.topic,
            "onto": state.target,
        }
        for conflict, result in resolutions(stopped.report["conflicts"], stopped.shown, stopped.texts):
            own = {name: conflict[name] for name in ("path", "scope", "base", "ours", "theirs")}
            write_entry(self.root, Entry(**own, result=result, **signed), spool_in=folder_of(self.root))
        known = read_accepted(self.root)
        accepted = []
        for doubt in untouched_doubts(stopped):
            if doubt.name not in known:
                known[doubt.name] = replace(doubt, **signed)
                write_entry(self.root, known[doubt.name], spool_in=folder_of(self.root))
            accepted.append(known[doubt.name])
        return accepted

    def _finish(self, state: RebaseState) -> Rebase:
        target = _bring(state, state.target, self.access)
        by_leg = self._by_leg(state)
        results = by_leg[state.target]
        pin = pin_of(target, read_pin(self.root, state.legs[0]))
        write_pin(self.root, pin, pin_files(pin, target, results, report_text(state.legs, by_leg)))
        shown = _told(
            state,
            "written",
            tuple(tell_topics(by_leg)),
            written=f"{PATCHES}/{pin.name}",
            next_step=f"patchkit verify {pin.name}",
        )
        remove_state(self.root)
        return replace(shown, until=tuple(self._until(target, results)))

    def _until(self, target: Upstream, results: Sequence[TopicResult]) -> Iterator[UntilVerdict]:
        """Judge, at the new pin, what should end each topic that is carried there."""
        carried = {topic for topic, patch, _ in results if patch}
        topics = [topic for name, topic in read_topics(self.root).items() if name in carried]
        today = datetime.now(UTC).date()
        return judge_until(topics, target.version, today, lambda path: target.read([path])[path])


@dataclass(frozen=True, slots=True)
class _Side:
    """Both sides of a leg: the upstreams, all topics of the old one, and those done of the new one."""

    source: Upstream
    target: Upstream
    topics: tuple[Draft, ...]
    carried: tuple[Draft, ...]

    def carry(self, state: RebaseState, settle: Sequence[Settle], access: Access) -> Move:
        """Carry the next topic."""
        draft = self.topics[state.done]
        access.progress(f"rebase: {draft.topic} to {state.target}")
        sides = (self.topics[: state.done], self.carried)
        return carry_topic(draft, sides, (self.source, self.target), settle)

    def new_tree(self, state: RebaseState) -> LayeredTree:
        """Return the new upstream with the topics that are done."""
        return LayeredTree(UpstreamTree(self.target), contents(result_of(self.carried)))


def _legs(source: str, target: str, upstream: str, access: Access) -> tuple[str, ...]:
    """Return the pins to step through: the releases between, as the package index or the repository lists them."""
    low, high = sorted((order(source), order(target)))
    between = {
        f"v{bare(one)}" for one in listed_versions(access, upstream) if is_version(one) and low < order(one) < high
    }
    return (source, *sorted(between, key=order, reverse=order(source) == high), target)


def _told(
    state: RebaseState,
    what: str,
    topics: tuple[RebasedTopic, ...],
    *,
    written: str = "",
    work: str = "",
    next_step: str = "",
) -> Rebase:
    return Rebase(state.legs[0], state.legs[-1], what, topics, written, work, next_step, legs=state.legs)
