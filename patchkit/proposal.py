"""The text of an upstream pull request for one topic, and the commit message that goes with it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from patchkit.model import Topic
from patchkit.patch.headers import UPSTREAM_PROJECT
from patchkit.patch.letters import Letter

# What a downstream says of its own upkeep; upstream has no use for it.
_OURS = ("origin", "forwarded", "applied-upstream", "last-update", "upstream-status", "lifecycle")


@dataclass(frozen=True, slots=True)
class Touch:
    """What the topic does to one file: the scopes in which it adds or removes lines, and how many."""

    path: str
    scopes: tuple[str, ...]
    added: int
    removed: int


def upstream_letter(letter: Letter, topic: str) -> Letter:
    """Return the letter as upstream wants it: without our topic's name before the subject and our upkeep fields."""
    subject, _, body = letter.message.partition("\n")
    plain = re.sub(r"^UPSTREAM:\s*[^:]*:\s*", "", subject.removeprefix(f"{topic}: "))
    kept: list[str] = []
    is_ours = False
    for line in body.split("\n"):
        match = re.match(r"([A-Za-z-]+):", line)
        if match:
            is_ours = match[1].lower() in _OURS
        elif not line.startswith((" ", "\t")):
            is_ours = False
        if is_ours:
            continue
        kept.append(_without_field_name(line))
        if line.startswith("Description:"):
            kept.append("")  # its first line is a summary
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    if text.partition("\n")[0].strip() == plain:
        text = text.partition("\n")[2].strip()
    return replace(letter, message=f"{plain}\n\n{text}".strip())


def _without_field_name(line: str) -> str:
    """Return a line of a DEP-3 description as prose."""
    line = re.sub(r"^Description: ?", "", line)
    return "" if line == " ." else re.sub(r"^ (?=\S)", "", line)


def write_proposal(
    topic: Topic, letter: Letter, touches: Sequence[Touch], *, base: str, smoke: Mapping[str, Sequence[str]]
) -> str:
    """Return the pull request's text, under the headings of sglang's own template.

    base: the release and commit that the branch is on. smoke: the test files of each smoke folder.
    """
    subject, _, body = letter.message.partition("\n")
    prose = re.sub(r"(?m)^[A-Za-z-]+(-by)?: .*$", "", body).strip()
    lines = [f"# {subject}", "", "## Motivation", ""]
    lines += [_todo(topic.fault, "what goes wrong without this"), "", _todo(topic.why, "why"), ""]
    lines += ["## Modifications", ""]
    lines += [prose, ""] if prose and prose != topic.why else []
    for touch in touches:
        scopes = f": {', '.join(f'`{scope}`' for scope in touch.scopes)}" if touch.scopes else ""
        lines.append(f"- `{touch.path}` (+{touch.added} -{touch.removed}){scopes}")
    if topic.environment:
        lines += ["", "| variable | unit | default | meaning |", "|---|---|---|---|"]
        lines += [f"| `{v.name}` | {v.unit} | {v.default} | {v.meaning} |" for v in topic.environment]
    if topic.client:
        lines += ["", f"What a client sees: {topic.client}"]
    lines += ["", "## Accuracy Tests", "", "No change to what is computed is meant. TODO: say so only if it holds.", ""]
    lines += ["## How it was tested", ""]
    for folder, files in smoke.items():
        names = ", ".join(f"`{file}`" for file in files)
        lines.append(f"- `{folder}`: {names} must fail without the change and pass with it")
    if smoke:
        lines += ["", "TODO: run them again on this branch (`patchkit smoke --control` runs them on the pin)."]
    else:
        lines.append("TODO: no smoke test is named for this topic.")
    lines += ["", "## Base and related work", "", f"Based on {base}."]
    since = f"Present since {topic.since}." if topic.since else ""
    lines += [since] if since else []
    lines += [f"- {reference.removeprefix(UPSTREAM_PROJECT)}" for reference in topic.upstream]
    return "\n".join(lines).rstrip() + "\n"


def _todo(text: str, what: str) -> str:
    return text if text and not text.startswith("TODO") else f"TODO: {what}"
