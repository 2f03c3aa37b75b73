"""How `report` is shown: a few lines, or one static page without script and without network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.model import Topic
from patchkit.render import printable, table
from patchkit.results.report import Report

_TEMPLATE = Path(__file__).with_name("report.html.j2")
_GITHUB = "https://github.com"


@dataclass(frozen=True, slots=True)
class SmokeRow:
    """One smoke test over all pins. cells: by pin."""

    topic: str
    fault: str
    test: str
    cells: Mapping[str, str]


def text(result: Report) -> str:
    """Return the size of each pin's patch, and which evidence was found."""
    rows = [("pin", "topics", "hunks", "added", "removed")]
    rows += [(p.pin, str(len(p.topics)), str(len(p.hunks)), str(p.added), str(p.removed)) for p in result.pins]
    found = [f"{entry.file} ({entry.verb})" for entry in result.evidence] or ["none"]
    return f"{table(rows)}\n\nevidence: {', '.join(found)}"


def html(result: Report) -> str:
    """Return the page. Patch text is hostile: controls become visible, and Jinja escapes every value."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        cell=_cell,
        link=_link,
        smoke_rows=_smoke_rows,
        findings=_findings,
        kind=_line_kind,
        anchor=_anchor,
    )
    return environment.from_string(_TEMPLATE.read_text("utf-8")).render(report=result) + "\n"


def matrix(result: Report) -> str:
    """Return the table pin x smoke test as Markdown; a fault that a release has mended is "not needed"."""
    pins = [pin.pin for pin in result.pins]
    short = {
        "fails without, passes with": "mended",
        "passes on both": "not needed",
        "passes": "passes",
    }
    lines = [
        "# Smoke tests by pin",
        "",
        "Written by `patchkit report --matrix`. mended: fails without the series, passes with it. not needed: the",
        "release passes by itself. -: the release has nothing to test here.",
        "",
        f"| topic | fault | test | {' | '.join(pins)} |",
        f"|---|---|---|{'---|' * len(pins)}",
    ]
    for row in _smoke_rows(result.documents("smoke")):
        cells = [short.get(told := row.cells.get(pin, "-"), told) for pin in pins]
        lines.append(f"| {' | '.join([row.topic, row.fault or '-', row.test.replace('|', '/'), *cells])} |")
    return "\n".join(lines) + "\n"


def _cell(topic: Topic, pin: str, carried: Sequence[str]) -> str:
    """Return what the matrix says of a topic at a pin."""
    from patchkit.versions import bare, order

    if topic.name in carried:
        return "carried"
    if topic.fixed_in and order(bare(pin)) >= order(topic.fixed_in):
        return f"not needed since {topic.fixed_in}"
    return "-"


def _link(reference: str) -> str:
    """Return the address of an issue or pull request that is named as "owner/project#number"."""
    project, _, number = reference.partition("#")
    return f"{_GITHUB}/{project}/issues/{number}" if number.isdigit() else ""


def _line_kind(line: str) -> str:
    return {"+": "added", "-": "removed"}.get(line[:1], "context")


def _anchor(*parts: object) -> str:
    """Return an id for a part of the page: what is no letter or digit becomes a dash."""
    return "-".join("".join(char if char.isalnum() else "-" for char in str(part)) for part in parts)


def _smoke_rows(documents: Sequence[Mapping[str, Any]]) -> list[SmokeRow]:
    """Return every smoke test with what it showed at each pin."""
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for document in documents:
        for test in document["tests"]:
            key = (test["topic"], test["fault"], test["name"].rpartition("::")[2])
            rows.setdefault(key, {})[document["pin"]] = _smoke_told(test)
    return [SmokeRow(*key, cells) for key, cells in sorted(rows.items())]


def _smoke_told(test: Mapping[str, Any]) -> str:
    if test["problem"]:
        return f"PROBLEM: {test['problem']}"
    if test["with_series"] == "skipped":
        return "not run"
    if test["without"] == "fault":
        return "fails without, passes with"
    return "passes on both" if test["without"] else "passes"


def _findings(documents: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return what the newest document of verify says of each pin."""
    return {subject["name"]: subject for document in documents for subject in document["subjects"]}
