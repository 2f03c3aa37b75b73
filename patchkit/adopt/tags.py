"""Image tags that went backwards or were used twice."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchkit.adopt.arrange import natural_key


@dataclass(frozen=True, slots=True)
class TagStep:
    """One change of a version file. commit: the one that made it."""

    commit: str
    former: str
    tag: str
    reused: bool


def bad_steps(history: Sequence[tuple[str, str]]) -> Iterator[TagStep]:
    """Yield each change to a tag that is older than one before it, or that was there before.

    Only tags of one shape are compared: `nightly-dev-20251209a` with others like it, not with `v0.5.9`.

    history: (commit, tag), oldest first.
    """
    highest: dict[str, str] = {}
    seen: set[str] = set()
    former = ""
    for commit, tag in history:
        if tag == former:
            continue
        top = highest.get(_shape(tag), "")
        if tag in seen:
            yield TagStep(commit, former, tag, reused=True)
        elif top and natural_key(tag) < natural_key(top):
            yield TagStep(commit, top, tag, reused=False)
        if not top or natural_key(tag) > natural_key(top):
            highest[_shape(tag)] = tag
        seen.add(tag)
        former = tag


def _shape(tag: str) -> str:
    """Return the tag with its numbers and a last letter taken out."""
    return re.sub(r"(?<=\d)[a-z]$", "", re.sub(r"\d+", "0", tag)) if re.search(r"\d", tag) else tag
