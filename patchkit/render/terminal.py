"""Text as a terminal shows it: broken to its width with hanging indents, verdicts and rule ids in colour. Pure."""

import re
from collections.abc import Iterator

NARROWEST = 24  # columns; a hanging indent leaves at least these for the text

_RED, _GREEN, _YELLOW, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
_GAP = re.compile(r"\S {2,}(?=\S)")
_FIELD = re.compile(r" +\w{2,10}: +")
_GOOD = ("ok", "verified", "applied", "passed", "carried", "published", "written", "clean")
_BAD = ("failed", "unresolved", "conflict", "missing", "stopped", "drifted")
_DOUBTFUL = ("suspect", "not run", "skipped", "stale")
_COLOURS = {
    **dict.fromkeys(_GOOD, _GREEN),
    **dict.fromkeys(_BAD, _RED),
    **dict.fromkeys(_DOUBTFUL, _YELLOW),
}
# a verdict stands alone in its cell, or after the colon at the end of what it judges
_VERDICT = re.compile(rf"(?:(?<=  )|(?<=: )|(?<=, )|(?<=^)|(?<=\n))({'|'.join(_COLOURS)})(?=  |, | \(|\n|$)")
_RULE = re.compile(r"\bPK\d{3}\b")
_ERROR = re.compile(r"^(error:)", re.MULTILINE)


def fit(text: str, width: int) -> str:
    """Return the text with every line broken to the width where it has spaces to break at.

    What follows a break is indented to the last column of a table, or a little more than its line.
    """
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def paint(text: str) -> str:
    """Return the text in colours: verdicts, rule ids and the word "error" alone; nothing is told by colour only."""
    text = _VERDICT.sub(lambda found: f"{_COLOURS[found[1]]}{found[1]}{_PLAIN}", text)
    text = _RULE.sub(lambda found: f"{_BOLD}{found[0]}{_PLAIN}", text)
    return _ERROR.sub(f"{_RED}\\1{_PLAIN}", text)


def _broken(line: str, width: int) -> Iterator[str]:
    if len(line) <= width:
        yield line
        return
    hang = " " * _hang(line, width)
    while len(line) > width:
        at = line.rfind(" ", len(hang) + 1, width + 1)
        if at <= len(hang) or not line[:at].strip():
            at = line.find(" ", width)
            if at == -1:
                break
        yield line[:at].rstrip()
        line = hang + line[at:].lstrip()
    yield line


def _hang(line: str, width: int) -> int:
    """Return where the text of a line goes on: below its field, its last column, or its first letter."""
    field = _FIELD.match(line)
    if field:
        return field.end()
    columns = [gap.end() for gap in _GAP.finditer(line) if gap.end() <= width - NARROWEST]
    return columns[-1] if columns else min(len(line) - len(line.lstrip()) + 2, width - NARROWEST)
