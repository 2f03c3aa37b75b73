"""Which hunk of a patch goes to which topic: by file, or by a plan that a person edits."""

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from patchkit.counting import count
from patchkit.errors import ConfigError
from patchkit.patch.hunks import SOURCE_PREFIX, ChangeKind, FilePatch, Hunk, LineKind, Patch

_TOPIC = re.compile(r"[a-z0-9][a-z0-9-]*")
_HEAD = """\
# Which hunk goes to which topic: the first word of each line is the topic, the second a hunk, a file or a glob.
# Change first words and give this file to `patchkit split {pin} {topic} --plan FILE`. The last line that matches
# a hunk counts. Topics become a series in the order in which they first stand here.
"""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One line of a plan. pattern: `path#n`, a path, or a glob; below python/sglang/ that prefix may be left out."""

    topic: str
    pattern: str
    line: int


@dataclass(frozen=True, slots=True)
class Parting:
    """The topics in order, and the topic of each hunk by (path, number); number 0 is a section without hunks."""

    topics: tuple[str, ...]
    of: dict[tuple[str, int], str]


def read_plan(text: str, *, where: str) -> list[Assignment]:
    """Read a plan; "#" at the start of a line is a comment."""
    assignments = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or line.lstrip().startswith("#"):
            continue
        if len(words) < 2 or not _TOPIC.fullmatch(words[0]):
            raise ConfigError(
                "this line is no assignment",
                where=f"{where}:{number}",
                found=line.strip(),
                hint="TOPIC PATH, as: abort-guards python/sglang/srt/managers/scheduler.py#2",
            )
        assignments.append(Assignment(words[0], words[1], number))
    return assignments


def write_plan(patch: Patch, *, pin: str, topic: str, scope_of: Callable[[Hunk], str]) -> str:
    """Return a plan in which every hunk is assigned to the topic that it is in, with what a person wants to know."""
    lines = [_HEAD.format(pin=pin, topic=topic)]
    for section in patch.files:
        if not section.hunks:
            lines.append(f"{topic} {section.path}#0    {section.kind.value}")
        for hunk in section.hunks:
            counts = f"+{len(hunk.added)} -{len(hunk.removed)}"
            first = next((line for line in hunk.lines if line.kind is not LineKind.CONTEXT and line.text.strip()), None)
            shown = first.text.decode("utf-8", "replace").strip()[:60] if first else ""
            mark = first.kind.value if first else ""
            lines.append(f"{topic} {hunk.name}    {counts}  {scope_of(hunk)}  {mark}{shown}".rstrip())
    return "\n".join(lines) + "\n"


def part_by_file(patch: Patch, name_of: Callable[[str], str] | None = None) -> Parting:
    """Give each file a topic of its own, named by its path below srt/."""
    name = name_of or _name_of_path
    of = {key: name(path) for path, key in _keys(patch)}
    return Parting(tuple(dict.fromkeys(of.values())), of)


def part_by_plan(patch: Patch, plan: Sequence[Assignment], *, topic: str, where: str) -> Parting:
    """Assign each hunk by the last line that matches it; what none matches stays in the topic that it is in.

    Raises: ConfigError for a line that matches nothing.
    """
    of: dict[tuple[str, int], str] = {}
    used: set[int] = set()
    for path, key in _keys(patch):
        of[key] = topic
        for assignment in plan:
            if _matches(assignment.pattern, path, key[1]):
                of[key] = assignment.topic
                used.add(assignment.line)
    unused = [assignment for assignment in plan if assignment.line not in used]
    if unused:
        raise ConfigError(
            f"{count(len(unused), 'line')} of the plan: no hunk is meant",
            where="\n".join(f"{where}:{assignment.line}: {assignment.pattern}" for assignment in unused),
            hint=f"patchkit split PIN {topic} --write-plan FILE lists every hunk",
        )
    named = [assignment.topic for assignment in plan]
    return Parting(tuple(name for name in dict.fromkeys([*named, topic]) if name in of.values()), of)


def _keys(patch: Patch) -> Iterator[tuple[str, tuple[str, int]]]:
    for section in patch.files:
        whole = not section.hunks or section.kind is not ChangeKind.MODIFY
        for number in [0] if whole else [hunk.number for hunk in section.hunks]:
            yield section.path, (section.path, number)


def is_whole(section: FilePatch) -> bool:
    """Whether a section goes to one topic as a whole: it creates, deletes, renames, or has no hunks."""
    return not section.hunks or section.kind is not ChangeKind.MODIFY


def _matches(pattern: str, path: str, number: int) -> bool:
    wanted, _, hunk = pattern.partition("#")
    if hunk and number and hunk != str(number):
        return False
    return any(fnmatch.fnmatchcase(path, each) for each in (wanted, SOURCE_PREFIX + wanted))


def _name_of_path(path: str) -> str:
    below = path.removeprefix(SOURCE_PREFIX).removeprefix("srt/").rsplit(".", 1)[0]
    return re.sub(r"[^a-z0-9]+", "-", below.lower()).strip("-") or "file"
