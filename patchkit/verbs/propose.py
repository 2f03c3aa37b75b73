"""`propose`: the branch, the patch and the text of an upstream pull request for one topic; no network."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import ConfigError, ConflictError
from patchkit.patch.hunks import LineKind, Place
from patchkit.patch.letters import Letter, author_parts, git_date, read_letter, write_letter
from patchkit.patch.patchtext import read_patch, reverse_section, split_lines
from patchkit.patch.place import place_hunks
from patchkit.process import run
from patchkit.proposal import Touch, upstream_letter, write_proposal
from patchkit.results.propose import Propose
from patchkit.series.drafts import Draft, rebuild
from patchkit.series.files import OpenSeries, open_series, series_names
from patchkit.source.scopes import scopes
from patchkit.store import PATCHES, own_folder, pin_names, read_topics, replace_file
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_version, kept_versions
from patchkit.upstream.objects import SEALED
from patchkit.versions import order

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A topic alone on its pin, ready to be sent."""

    opened: OpenSeries
    draft: Draft
    letter: Letter
    diff: bytes


def propose_topic(
    root: Path,
    topic: str,
    access: Access,
    *,
    pin: str | None = None,
    output: Path | None = None,
    repository: Path | None = None,
) -> Propose:
    """Write the topic's patch and pull request text below output, and its branch into a clone if one is named.

    The topic must apply to its pin without the others, and the newest upstream that is here must lack it.
    pin: by default the newest that carries the topic. repository: a clone of upstream; no file of its worktree changes.
    """
    topics = read_topics(root)
    carrying = [name for name in pin_names(root) if topic in series_names(root, name)]
    if topic not in topics or not carrying:
        raise ConfigError(f"no pin carries a topic {topic}", found=f"topics: {', '.join(topics)}")
    opened = open_series(root, pin or carrying[-1], access)
    proposal = _alone(opened, topic)
    looked_at = _refuse_upstreamed(proposal, topics[topic].fixed_in, access)
    folder = output or own_folder(root) / "propose" / topic
    base = f"v{opened.series.pin.version}" + (f" ({opened.series.pin.commit})" if opened.series.pin.commit else "")
    smoke = {name: _smoke_files(root, name) for name in topics[topic].smoke}
    text = write_proposal(topics[topic], proposal.letter, _touches(proposal), base=base, smoke=smoke)
    branch = _write_branch(proposal, topic, repository) if repository is not None else ""
    folder.mkdir(parents=True, exist_ok=True)
    patch = folder / f"0001-{topic}.patch"
    replace_file(patch, write_letter(proposal.letter) + proposal.diff)
    replace_file(folder / "pull-request.md", text.encode())
    return Propose(
        topic=topic,
        pin=opened.name,
        patch=str(patch),
        text=str(folder / "pull-request.md"),
        branch=branch,
        repository=str(repository or ""),
        looked_at=looked_at,
        todos=text.count("TODO"),
    )


def _alone(opened: OpenSeries, topic: str) -> _Proposal:
    """Return the topic applied to the bare pin. Raises: ConflictError that names the topics that it needs first."""
    draft = opened.draft(topic)
    if draft.has_outside:
        raise ConfigError(
            f"{topic} changes files outside of python/sglang/, which this pin has not",
            where=f"{PATCHES}/{opened.name}/{topic}.patch",
            hint="write that part of the branch by hand",
        )
    try:
        (alone,) = rebuild([draft], opened.upstream, what=topic)
    except ConflictError as error:
        before = opened.drafts[: opened.drafts.index(draft)]
        needed = [each.topic for each in before if each.changes & draft.changes]
        raise ConflictError(
            f"{topic} does not apply to {opened.name} without the topics before it",
            where=error.where,
            found=f"on the same files: {', '.join(needed)}",
            hint=f"patchkit propose {needed[0]}    (or fold the two: patchkit topic fold)" if needed else "",
        ) from error
    letter = upstream_letter(read_letter(draft.preamble, topic=topic), topic)
    return _Proposal(opened, alone, letter, opened.upstream.objects.diff(alone.before, alone.after))


def _refuse_upstreamed(proposal: _Proposal, fixed_in: str, access: Access) -> str:
    """Raise where the newest upstream that is here has the change; return which one was looked at."""
    newest = kept_versions(access.objects)[-1]
    if fixed_in and order(newest) >= order(fixed_in):
        raise ConfigError(f"upstream has this since {fixed_in}", where=f"{PATCHES}/topics.toml, fixed_in")
    sections = read_patch(proposal.diff).files
    contents = bring_version(newest, access).read([section.new_path for section in sections])
    present = 0
    for section in sections:
        content = contents[section.new_path]
        if content is None:
            return newest
        undo = place_hunks(reverse_section(section).hunks, split_lines(content))
        present += all(placement.place in (Place.EXACT, Place.OFFSET) for placement in undo)
    if present == len(sections):
        raise ConfigError(
            f"upstream v{newest} has every hunk of it already",
            found="each hunk can be taken back there",
            hint=f"patchkit topic drop PIN {proposal.draft.topic}",
        )
    return newest


def _touches(proposal: _Proposal) -> list[Touch]:
    touches = []
    for section in read_patch(proposal.diff).files:
        file = proposal.draft.after.get(section.path)
        known = scopes(file.content) if file is not None and section.path.endswith(".py") else None
        names: dict[str, None] = {}
        for hunk in section.hunks:
            line = hunk.new_start
            for each in hunk.lines:
                if each.kind is not LineKind.CONTEXT and known is not None:
                    names[known.at(max(line, 1))] = None
                line += each.kind is not LineKind.REMOVED
        added = sum(len(hunk.added) for hunk in section.hunks)
        removed = sum(len(hunk.removed) for hunk in section.hunks)
        touches.append(Touch(section.path, tuple(names), added, removed))
    return touches


def _write_branch(proposal: _Proposal, topic: str, repository: Path) -> str:
    """Write the commit on the pin's commit in the clone, by plumbing in an index of its own; return the branch."""
    pin = proposal.opened.series.pin
    branch = f"patchkit/{topic}"
    for base in filter(None, (pin.commit, f"refs/tags/v{pin.version}")):
        found = _git(repository, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}", allowed=(0, 1, 128))
        if found:
            break
    else:
        raise ConfigError(
            f"the clone has neither the commit nor the tag of {pin.name}",
            where=str(repository),
            hint=f"git -C {repository} fetch origin tag v{pin.version} --no-tags",
        )
    if _git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", allowed=(0, 1)):
        raise ConfigError(
            f"the clone has a branch {branch} already",
            where=str(repository),
            hint=f"git -C {repository} branch -m {branch} {branch}-old",
        )
    index = Path(_git(repository, "rev-parse", "--absolute-git-dir")) / f"patchkit-{uuid.uuid4().hex}"
    env = {"GIT_INDEX_FILE": str(index)}
    try:
        _git(repository, "read-tree", found, env=env)
        _git(repository, "apply", "--cached", "--whitespace=nowarn", stdin=proposal.diff, env=env)
        tree = _git(repository, "write-tree", env=env)
    finally:
        index.unlink(missing_ok=True)
    name, address = author_parts(proposal.letter.author)
    who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": git_date(proposal.letter.date)}
    committer = {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": address}
    message = proposal.letter.message.encode("utf-8", "surrogateescape") + b"\n"
    commit = _git(repository, "commit-tree", tree, "-p", found, stdin=message, env={**who, **committer})
    _git(repository, "update-ref", f"refs/heads/{branch}", commit, "0" * 40)
    return branch


def _smoke_files(root: Path, folder: str) -> list[str]:
    return sorted(path.name for path in (root / PATCHES / "smoke" / folder).glob("test_*.py"))


def _git(
    repository: Path,
    *arguments: str,
    stdin: bytes | None = None,
    env: dict[str, str] | None = None,
    allowed: Sequence[int] = (0,),
) -> str:
    done = run(
        ["git", *arguments], cwd=repository, timeout_s=_TIMEOUT_S, stdin=stdin, env={**SEALED, **(env or {})},
        allowed=allowed,
    )  # fmt: skip
    return done.stdout.decode().strip()
