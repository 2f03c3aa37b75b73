"""docs/topics.md: every topic on one page, from topics.toml and the pins."""

from collections.abc import Sequence

from patchkit.model import Topic, Variable
from patchkit.render.status import releases
from patchkit.results.status import TopicStatus

_HEAD = """\
# Topics

What the shipped series mends, topic by topic. Made from patches/topics.toml by
`patchkit status --markdown > docs/topics.md`; edit the former."""


def markdown(topics: Sequence[TopicStatus], pins: Sequence[str]) -> str:
    """Return the page, with its final line feed.

    pins: every pin of the store, oldest first.
    """
    parts = [_HEAD, _table(topics, pins), *(_section(entry) for entry in topics)]
    return "\n\n".join(parts) + "\n"


def _table(topics: Sequence[TopicStatus], pins: Sequence[str]) -> str:
    rows = [("topic", *pins), ("---",) * (len(pins) + 1)]
    rows += [
        (f"[{entry.topic.name}](#{entry.topic.name})", *("carried" if pin in entry.pins else "" for pin in pins))
        for entry in topics
    ]
    return "\n".join(_row(row) for row in rows)


def _section(entry: TopicStatus) -> str:
    topic = entry.topic
    facts = [
        ("Why", topic.why),
        ("A client sees", topic.client),
        ("Upstream", ", ".join(_link(reference) for reference in topic.upstream) or "none"),
        ("Releases", releases(entry)),
        ("Lifecycle", _lifecycle(topic)),
        ("Smoke", ", ".join(f"`patches/smoke/{folder}`" for folder in topic.smoke)),
        ("Guards", ", ".join(topic.guards)),
    ]
    lines = [f"- {name}: {fact}" for name, fact in facts if fact]
    parts = [f"## {topic.name}", f"{topic.title[:1].upper()}{topic.title[1:]}. {topic.fault}", "\n".join(lines)]
    return "\n\n".join([*parts, *(_variable(variable) for variable in topic.environment)])


def _lifecycle(topic: Topic) -> str:
    return f"{topic.lifecycle} ({_link(topic.until)})" if topic.until else topic.lifecycle


def _variable(variable: Variable) -> str:
    rows = [
        (f"`{variable.name}`", variable.meaning),
        ("---", "---"),
        ("default", f"{variable.default} {variable.unit}"),
        ("0", variable.zero),
        ("negative", variable.negative),
        ("anything else", variable.garbage),
    ]
    return "\n".join(_row(row) for row in rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _link(reference: str) -> str:
    repository, _, number = reference.partition("#")
    return f"[{reference}](https://github.com/{repository}/issues/{number})" if number else reference
