"""How `status` is shown."""

import textwrap
from collections.abc import Collection, Sequence
from itertools import groupby

from patchkit.model import Variable
from patchkit.render import table
from patchkit.results.status import Status, TopicStatus

_WIDTH = 80


def text(result: Status) -> str:
    """Return pins, topics x pins, and the next step; all about one topic when it is the only one."""
    if result.topic:
        return _one_topic(result.topics[0])
    newest = result.newest_upstream or "not known (the package index was not asked, or did not answer)"
    pins = [("pin", "files", "hunks", "upstream")]
    pins += [
        (pin.pin, str(pin.files), str(pin.hunks), "cached" if pin.upstream_cached else "to be downloaded")
        for pin in result.pins
    ]
    names = [pin.pin for pin in result.pins]
    topics = [("topic", "carried at", "releases")]
    topics += [(entry.topic.name, spans(names, entry.pins) or "no pin", releases(entry)) for entry in result.topics]
    return "\n".join(
        [
            f"version {result.version or 'not set yet'}, latest pin {result.latest}, newest upstream {newest}",
            "",
            table(pins),
            "",
            table(topics),
            "",
            *_notes(result),
            f"next: {result.next_step}",
        ]
    )


def _notes(result: Status) -> list[str]:
    """Return what a person should know beside the tables, and an empty line below it."""
    lines = [f"edit of {pin} holds work that the series has not" for pin in result.edits]
    if result.todos:
        lines.append(f"topics.toml has TODOs for {', '.join(result.todos)}")
    lines += [
        f"{verdict.topic}: until {verdict.until}: {verdict.met.value} at v{result.judged_at} ({verdict.evidence})"
        for verdict in result.until
    ]
    return [*lines, ""] if lines else []


def _one_topic(entry: TopicStatus) -> str:
    topic = entry.topic
    facts = [
        ("fault", topic.fault),
        ("why", topic.why),
        ("client", topic.client),
        ("upstream", ", ".join(topic.upstream) or "none"),
        ("releases", releases(entry)),
        ("lifecycle", f"{topic.lifecycle} {topic.until}".strip()),
        ("pins", ", ".join(entry.pins) or "none"),
        ("smoke", ", ".join(f"patches/smoke/{folder}" for folder in topic.smoke)),
        ("guards", ", ".join(topic.guards)),
    ]
    lines = [f"{topic.name}: {topic.title}"]
    for name, fact in facts:
        lines += _fact(name, fact)
    for variable in topic.environment:
        lines += ["", variable.name, *_variable(variable)]
    return "\n".join(lines)


def spans(pins: Sequence[str], chosen: Collection[str]) -> str:
    """Return which of the pins are chosen, neighbours as one span: "v0.5.12 to v0.5.16, v0.5.20"."""
    told = []
    for is_chosen, run in groupby(pins, key=lambda pin: pin in chosen):
        names = list(run)
        if is_chosen:
            told.append(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}")
    return ", ".join(told)


def releases(entry: TopicStatus) -> str:
    """Return which upstream releases have a fault of the topic."""
    if not entry.topic.since:
        return ""
    fixed = f"mended in {entry.topic.fixed_in}" if entry.topic.fixed_in else "not mended in any release yet"
    return f"faulty since {entry.topic.since}, {fixed}"


def _variable(variable: Variable) -> list[str]:
    facts = [
        ("meaning", variable.meaning),
        ("default", f"{variable.default} {variable.unit}"),
        ("0", variable.zero),
        ("negative", variable.negative),
        ("garbage", variable.garbage),
    ]
    return [line for name, fact in facts for line in _fact(name, fact)]


def _fact(name: str, fact: str) -> list[str]:
    if not fact:
        return []
    return textwrap.wrap(f"  {name + ':':<11}{fact}", width=_WIDTH, subsequent_indent=" " * 13, break_on_hyphens=False)
