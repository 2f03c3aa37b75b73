"""How `report` is shown: a few lines, or one static page without script and without network."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from patchkit.errors import ConfigError
from patchkit.model import Topic
from patchkit.render import printable, table
from patchkit.render.glance import BREAKS, PROBLEM, at_a_glance, breaks_at
from patchkit.results.report import PinPage, Report, ReportedHunk

_TEMPLATE = Path(__file__).with_name("report.html.j2")
_GITHUB = "https://github.com"
_UPSTREAM = "sgl-project/sglang"
_SHORT = {"fails without, passes with": "mended", "passes on both": "not needed"}


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


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line of a hunk as the page shows it. kind: around, context, added or removed; number: where it stands."""

    kind: str
    number: int
    text: str


def html(result: Report) -> str:
    """Return the page. Patch text is hostile: controls become visible, and Jinja escapes every value.

    Raises: ConfigError when a document of the evidence is not as its verb writes it.
    """
    from jinja2 import Environment, StrictUndefined, UndefinedError

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    hunks = {pin.pin: pin.hunks for pin in result.pins}
    upstream = {topic.name: topic.upstream for topic in result.topics}
    environment.globals.update(
        BREAKS=BREAKS,
        PROBLEM=PROBLEM,
        SHORT=_SHORT,
        anchor=_anchor,
        at_a_glance=at_a_glance,
        breaks_at=breaks_at,
        cell=_cell,
        findings=_findings,
        hunk_at=lambda pin, path, line: _hunk_at(pin, hunks.get(pin, ()), path, line),
        link=_link,
        needs_person=lambda told: told.endswith(("suspect)", "unresolved")),
        read_lines=read_lines,
        smoke_counts=_smoke_counts,
        smoke_rows=_smoke_rows,
        source_of=_source_of,
        turning_points=_turning_points,
        upstream_of=lambda topics: sorted({name for topic in topics for name in upstream.get(topic, ())}),
    )
    try:
        fates = _fates(result.documents("rebase"))
        page = environment.from_string(_TEMPLATE.read_text("utf-8")).render(report=result, fates=fates)
    except (UndefinedError, KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise ConfigError("a document of the evidence is not as its verb writes it", found=str(exc)) from exc
    return page.lstrip() + "\n"


def read_lines(hunk: ReportedHunk) -> list[ReadLine]:
    """Return the hunk with upstream's lines around it, each with its number after the change (removed: before)."""
    old, new = hunk.old_line, hunk.line
    lines = [ReadLine("around", at, f" {text}") for at, text in enumerate(hunk.above, new - len(hunk.above))]
    for text in hunk.lines:
        kind = {"+": "added", "-": "removed"}.get(text[:1], "context")
        lines.append(ReadLine(kind, old if kind == "removed" else new, text))
        old += kind != "added"
        new += kind != "removed"
    return lines + [ReadLine("around", at, f" {text}") for at, text in enumerate(hunk.below, new)]


def matrix(result: Report) -> str:
    """Return the table pin x smoke test as Markdown; a fault that a release has mended is "not needed"."""
    pins = [pin.pin for pin in result.pins]
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
        cells = [_SHORT.get(told := row.cells.get(pin, "-"), told) for pin in pins]
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


def _source_of(pin: PinPage, hunk: ReportedHunk) -> str:
    """Return the address of the hunk's place in upstream's repository; "" for a file that upstream has not."""
    at = pin.commit or pin.pin
    return f"{_GITHUB}/{_UPSTREAM}/blob/{quote(f'{at}/{hunk.path}')}#L{hunk.old_line}" if hunk.old_line else ""


def _hunk_at(pin: str, hunks: Sequence[ReportedHunk], path: str, line: int) -> str:
    """Return the anchor of the hunk that a line of the patched file is in, or is next after; "" for none."""
    of_file = [hunk for hunk in hunks if hunk.path == path]
    reached = [hunk for hunk in of_file if hunk.line <= line] or of_file[:1]
    return _anchor(pin, reached[-1].path, reached[-1].number) if reached else ""


def _turning_points(topics: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the first and the last column, and those at which the state of any topic is another than before."""
    rows = list(zip(*(topic["states"] for topic in topics), strict=True))
    return [at for at, row in enumerate(rows) if at in (0, len(rows) - 1) or row != rows[at - 1]]


def _fates(documents: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Return by pin and topic which stages carried its hunks there, as ["8 merge", "2 follow"]."""
    told = {}
    for document in documents:
        for topic in document["topics"]:
            stages = Counter(_stage(hunk) for hunk in topic["hunks"])
            told[document["target"], topic["topic"]] = _counted(stages)
    return told


def _stage(hunk: Mapping[str, Any]) -> str:
    carried = hunk["action"] in ("carried", "moved", "shrunk")
    return f"{hunk['stage']}{' (suspect)' if hunk['suspect'] else ''}" if carried else str(hunk["action"])


def _anchor(*parts: object) -> str:
    """Return an id for a part of the page; two parts never share one."""
    return "-".join(quote(str(part), errors="surrogateescape") for part in parts)


def _smoke_rows(documents: Sequence[Mapping[str, Any]]) -> list[SmokeRow]:
    """Return every smoke test with what it showed at each pin."""
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for document in documents:
        for test in document["tests"]:
            key = (test["topic"], test["fault"], test["name"].rpartition("::")[2])
            rows.setdefault(key, {})[document["pin"]] = _smoke_told(test)
    return [SmokeRow(*key, cells) for key, cells in sorted(rows.items())]


def _smoke_counts(rows: Sequence[SmokeRow], topics: Sequence[Topic]) -> list[tuple[str, dict[str, list[str]]]]:
    """Return each topic, in the order of the series, with what its tests showed at each pin, counted."""
    counted: dict[str, dict[str, Counter[str]]] = {topic.name: {} for topic in topics}
    for row in rows:
        for pin, told in row.cells.items():
            counts = counted.setdefault(row.topic, {}).setdefault(pin, Counter())
            counts[_SHORT.get(told, told.partition(":")[0])] += 1
    return [
        (topic, {pin: [f"{count} {what}" for what, count in sorted(counts.items())] for pin, counts in of.items()})
        for topic, of in counted.items()
        if of
    ]


def _counted(counts: Counter[str]) -> list[str]:
    """Return ["8 merge", "2 follow"]: what was counted, the most frequent first."""
    return [f"{count} {what}" for what, count in counts.most_common()]


def _smoke_told(test: Mapping[str, Any]) -> str:
    if test["problem"]:
        return f"{PROBLEM}: {test['problem']}"
    if test["with_series"] == "skipped":
        return "not run"
    if test["without"] == "fault":
        return "fails without, passes with"
    return "passes on both" if test["without"] else "passes"


def _findings(documents: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return what the newest document of verify says of each pin."""
    return {subject["name"]: subject for document in documents for subject in document["subjects"]}
