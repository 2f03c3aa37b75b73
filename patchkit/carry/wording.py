"""What a line of Python says, apart from how it is laid out."""

import re
from collections.abc import Iterable
from functools import lru_cache

_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z_]\w+")
_CHAIN = re.compile(r"\bself\.([A-Za-z_]\w*)")
# an argument has no spaces around its "=": it names a parameter of something else
_TARGETS = re.compile(r"\s*([\w\s,()*.]+?)(?::\s[^=]+)? [-+*/|&]?=\s")
_BOUND = re.compile(r"\b(?:def|class)\s+(\w+)|\bfor\s+([\w\s,()]+?)\s+in\b|\b(?:as|import)\s+([\w\s,]+)")
_SAYS = re.compile(r"\w\w")
_KEY = re.compile(
    r"""(?P<definition>(?:async )?def \w+|class \w+)"""
    r"""|(?P<member>\w+:) [^=]+(?:=.*)?$"""  # a field or parameter, with or without a default
    r"""|(?P<name>[\w.]+)(?P<sets> ?=)(?!=)"""
    r"""|(?P<flag>"--[\w-]+")"""
)
_TRIVIAL = frozenset(
    {"else:", "try:", "finally:", "return", "return None", "pass", "break", "continue", "return True", "return False"}
)


@lru_cache(maxsize=65536)
def plain(line: str) -> str:
    """Return a line without what a formatter may change: indentation, spacing, kinds of quotes, a last comma."""
    return _SPACE.sub(" ", line.strip()).replace("'", '"').removesuffix(",")


@lru_cache(maxsize=65536)
def tells(line: str) -> str:
    """Return a line made plain if it says something; "" for blanks, comments, lone brackets and bare keywords."""
    said = plain(line)
    return said if len(said) > 3 and said[0] != "#" and said not in _TRIVIAL and _SAYS.search(said) else ""


def telling(lines: Iterable[str]) -> list[str]:
    """Return the lines that say something, made plain."""
    return [said for said in map(tells, lines) if said]


def words(lines: Iterable[str]) -> frozenset[str]:
    """Return the identifiers of some lines, in code, strings and comments alike."""
    return frozenset(_WORD.findall("\n".join(lines)))


def chains(lines: Iterable[str]) -> frozenset[str]:
    """Return the attributes of self that some lines use."""
    return frozenset(_CHAIN.findall("\n".join(lines)))


def bound_names(code: Iterable[str]) -> frozenset[str]:
    """Return the names that some lines bind as targets of assignments, loops, imports or `as`."""
    found: set[str] = set()
    for line in code:
        target = _TARGETS.match(line)
        if target:
            found |= words([target[1]])
        for match in _BOUND.finditer(line):
            found |= words([match[1] or match[2] or match[3]])
    return frozenset(found)


@lru_cache(maxsize=8192)
def key_of(line: str) -> str:
    """Return what a line sets: "x =" a variable, "x=" an argument, "x:" a member, or a flag; "" for nothing."""
    match = _KEY.match(line)
    if match is None:
        return ""
    return match["definition"] or match["member"] or match["flag"] or match["name"] + match["sets"]
