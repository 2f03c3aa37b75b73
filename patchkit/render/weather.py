"""weather as a person reads it, and as Markdown."""

from collections import Counter
from collections.abc import Iterator

from patchkit.counting import count
from patchkit.render import table
from patchkit.results.weather import Weather, WeatherChange, WeatherColumn, WeatherHunk, WeatherTopic

WIDEST = 130  # a wider table is told in words


def text(result: Weather) -> str:
    """Return the map, each change of a hunk with what brought it, and what is not known."""
    lines = [_title(result), ""]
    shown = table([tuple(row) for row in _grid(result)])
    if max(map(len, shown.split("\n"))) > WIDEST:
        shown = "\n".join(_in_words(result))
    lines.append(shown)
    changed = list(_changes(result))
    if changed:
        lines += ["", "first seen:"]
        for topic, course, names in changed:
            lines += [f"  {topic}: {course}", *(f"      {name}" for name in names)]
    lines += ["", *_remarks(result)]
    if result.next_step:
        lines.append(f"next: {result.next_step}")
    return "\n".join(lines).rstrip("\n")


def markdown(result: Weather) -> str:
    """Return the same as two tables."""
    head, *rows = _grid(result)
    lines = [f"## {_title(result)}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    changed = list(_changes(result))
    if changed:
        lines += ["", "### First seen", "", "| topic | hunks | course |", "|---|---|---|"]
        lines += [
            f"| {topic} | {'<br>'.join(f'`{name}`' for name in names)} | {course} |" for topic, course, names in changed
        ]
    if remarks := list(_remarks(result)):
        lines += ["", *(f"- {line}" for line in remarks)]
    return "\n".join(lines)


def _title(result: Weather) -> str:
    first, last = (_column(one) for one in (result.columns[0], result.columns[-1]))
    pins = ", ".join(dict.fromkeys(topic.pin for topic in result.topics))
    said = f"weather for the topics of {pins}, {first} to {last}"
    if result.columns[0].kind == "commit":
        commits = count(result.commits, "commit changes", "commits change")
        said += f": {commits} python/sglang, {result.touching} of them a file of the series"
    return said


def _grid(result: Weather) -> Iterator[list[str]]:
    yield [result.columns[0].kind, *(topic.topic for topic in result.topics)]
    for at, column in enumerate(result.columns):
        yield [_column(column), *(_cell(topic, at, result) for topic in result.topics)]


def _cell(topic: WeatherTopic, at: int, result: Weather) -> str:
    """Return the topic's state, with how many hunks have it where not all do."""
    state = topic.states[at]
    count = sum(hunk.states[at] == state for hunk in topic.hunks)
    said = state if count in (0, len(topic.hunks)) else f"{state} {count}/{len(topic.hunks)}"
    names = [column.name for column in result.columns]
    return f"({said}) ended" if topic.ended and at >= names.index(topic.ended) else said


def _in_words(result: Weather) -> Iterator[str]:
    for at, column in enumerate(result.columns):
        counts = Counter(topic.states[at] for topic in result.topics)
        yield f"{_column(column)}: {', '.join(f'{count} {state}' for state, count in counts.most_common())}"
        for state in ("conflict", "suspect", "partly upstreamed", "upstreamed"):
            names = [topic.topic for topic in result.topics if topic.states[at] == state]
            if names:
                yield f"    {state}: {', '.join(names)}"


def _changes(result: Weather) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each course that hunks of a topic take, with the names of these hunks."""
    for topic in result.topics:
        courses: dict[str, list[str]] = {}
        for hunk in topic.hunks:
            if len(hunk.changes) > 1:
                courses.setdefault(_course(hunk, result), []).append(_name(hunk))
        yield from ((topic.topic, course, names) for course, names in courses.items())


def _course(hunk: WeatherHunk, result: Weather) -> str:
    columns = {column.name: column for column in result.columns}
    first, *rest = hunk.changes
    return ", ".join([first.state, *(_step(change, columns[change.column]) for change in rest)])


def _step(change: WeatherChange, column: WeatherColumn) -> str:
    to = f" to {change.to}" if change.to else ""
    by = f" ({change.commit[:10]} {change.subject})" if change.commit and column.kind == "release" else ""
    by = f" ({change.subject})" if column.kind == "commit" else by
    return f"{change.state}{to} since {_column(column)}{by}"


def _name(hunk: WeatherHunk) -> str:
    scope = f" {hunk.scope}" if hunk.scope else ""
    return f"{hunk.path.removeprefix('python/sglang/')}#{hunk.number}{scope}"


def _column(column: WeatherColumn) -> str:
    return column.name if column.kind == "release" else f"{column.name[:10]} {column.day}"


def _remarks(result: Weather) -> Iterator[str]:
    for topic in result.topics:
        if topic.ended:
            yield f"{topic.topic}: its until ({topic.until}) is met since {topic.ended[:20]}"
    if result.missing:
        yield f"not here, so not looked at: {', '.join(result.missing)}"
    yield from result.notes
