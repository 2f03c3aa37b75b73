"""Read, order and write upstream versions and nightly tags; the only "v" on/off switch."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import total_ordering
from typing import Self

from patchkit.errors import ConfigError

# Between releases: the release before it, then "+g" and a commit id, or "+d" and the tree id of a directory.
_UPSTREAM = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:rc(\d+))?(?:\.post(\d+))?(?:\+([gd][0-9a-f]{7,40}))?")
_NIGHTLY = re.compile(r"nightly-dev-(\d{4})(\d{2})(\d{2})([a-z])")
_FINAL = 1 << 30  # a final release comes after each of its release candidates


def bare(name: str) -> str:
    """Return the upstream version without the leading "v" of a tag or folder; refuse anything else."""
    version = name.removeprefix("v")
    if not _UPSTREAM.fullmatch(version):
        raise ConfigError(f"'{name}' is not an upstream version", found="expected something like v0.5.15.post1")
    return version


def is_version(name: str) -> bool:
    """Whether the text is an upstream version, with or without the leading "v"."""
    return _UPSTREAM.fullmatch(name.removeprefix("v")) is not None


def is_release(name: str) -> bool:
    """Whether the text is the version of a release, and not of a commit or a directory between two."""
    return is_version(name) and "+" not in name


def release_of(version: str) -> str:
    """Return the release that a version is, or that it comes after."""
    return bare(version).partition("+")[0]


def order(version: str) -> tuple[int, int, int, int, int, str]:
    """Return the sort key of an upstream version: rc before final before post releases, then what comes after each."""
    match = _UPSTREAM.fullmatch(bare(version))
    assert match is not None
    major, minor, micro, candidate, post, local = match.groups()
    stage = _FINAL if candidate is None else int(candidate)
    return int(major), int(minor), int(micro), stage, int(post or 0), local or ""


@total_ordering
@dataclass(frozen=True, slots=True)
class NightlyTag:
    """`nightly-dev-YYYYMMDD[a-z]`; the letter counts the releases of that day from "a"."""

    day: date
    letter: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Read one tag; refuse a malformed one and a day that no calendar has."""
        match = _NIGHTLY.fullmatch(text)
        if not match:
            raise ConfigError(
                f"'{text}' is not a nightly tag", found="expected nightly-dev-YYYYMMDD and a letter a to z"
            )
        try:
            day = date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError as exc:
            raise ConfigError(f"'{text}' names a day that does not exist") from exc
        return cls(day, match[4])

    def __str__(self) -> str:
        return f"nightly-dev-{self.day:%Y%m%d}{self.letter}"

    def __lt__(self, other: Self) -> bool:
        return (self.day, self.letter) < (other.day, other.letter)


def plan_bump(published: Iterable[NightlyTag], today: date) -> NightlyTag:
    """Return the first tag of `today` that comes after every published one.

    Never lower, never reused: a tag of a later day, or the letter z of today, is refused.
    """
    newest = max(published, default=None)
    if newest is None or newest.day < today:
        return NightlyTag(today, "a")
    if newest.day > today:
        raise ConfigError(
            f"the next nightly tag would go backwards: {newest} is published, and today is {today}",
            kept="version.txt and every pin site unchanged",
            hint=f"date -u, or wait until that day; to go on from that tag: patchkit bump --date {newest.day}",
        )
    if newest.letter == "z":
        raise ConfigError(
            f"no nightly tag is left for {today}: {newest} is published",
            kept="version.txt and every pin site unchanged",
            hint="bump again tomorrow (UTC)",
        )
    return NightlyTag(today, chr(ord(newest.letter) + 1))
