"""Topic names out of file names, and the text of pin.toml, series and topics.toml for what was adopted."""

import json
import re
from collections.abc import Mapping, Sequence

from patchkit.adopt.arrange import natural_key, versions_in
from patchkit.patch.headers import Head, read_lifecycle

MONOLITH = "downstream"  # sglang.patch is the name of the generated file, so it cannot be a topic's

_NUMBER = re.compile(r"^\d{1,4}[-_.]")
_OWN_NAME = re.compile(r"^sglang(?:[-_.]|$)", re.IGNORECASE)


def name_topics(file_names: Sequence[str]) -> list[str]:
    """Return a topic name for each patch file, unlike any other of the set.

    A leading number goes: it is the series that says the order, and it would give a topic another name at each pin.
    """
    names: list[str] = []
    for file_name in file_names:
        name = wanted = _topic_name(file_name)
        count = 1
        while name in names:
            count += 1
            name = f"{wanted}-{count}"
        names.append(name)
    return names


def _topic_name(file_name: str) -> str:
    stem = _OWN_NAME.sub("", _NUMBER.sub("", file_name.rsplit(".", 1)[0]))
    if versions_in(stem) and not re.search(r"[a-z]{4}", stem):
        stem = ""
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return MONOLITH if name in ("", "sglang", "manifest") else name


def topic_tables(heads: Mapping[str, Head], known: Sequence[str]) -> str:
    """Return the tables of topics.toml for the topics that are not known yet, with TODOs where only a person knows."""
    return "".join(_topic_table(name, head) for name, head in heads.items() if name not in known)


def _topic_table(name: str, head: Head) -> str:
    lifecycle = read_lifecycle(head)
    smoke_note = "  # TODO: name its smoke tests (patches/smoke/) and guards (patches/guards/)"
    lines = [
        f"\n[{name}]",
        f"title = {_quoted(head.subject or f'TODO: what {name} does, in one line')}",
        f"fault = {_quoted('TODO: what goes wrong without it, in one sentence that an operator understands')}",
        f"why = {_quoted(head.message or head.first('Description') or 'TODO: why it is needed')}",
        f"upstream = [{', '.join(map(_quoted, head.upstream))}]"
        + ("" if head.upstream else "  # TODO: issues and PRs"),
        f"lifecycle = {_quoted(lifecycle.name)}" + (f"  # {_comment(lifecycle.told_by)}" if lifecycle.told_by else ""),
    ]
    if lifecycle.until:
        lines.append(f"until = {_quoted(lifecycle.until)}")
    return "\n".join([*lines, f"smoke = []{smoke_note}", ""])


def series_text(topics: Sequence[str]) -> str:
    """Return the quilt series of these topics."""
    return "".join(f"{topic}.patch\n" for topic in topics)


def newest(names: Sequence[str]) -> str:
    """Return the newest of pin names, or nothing."""
    return max(names, key=natural_key, default="")


def _quoted(text: str) -> str:
    """Return the text as a TOML basic string."""
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return json.dumps(readable, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    return "".join(char for char in text if char.isprintable())
