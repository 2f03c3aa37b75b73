"""Where the nightly tag and the pin are written a second time, and how such a place is rewritten."""

import re
from dataclasses import dataclass

from patchkit.errors import ConfigError
from patchkit.versions import NightlyTag, bare

# Each takes any value of its kind, also one that somebody wrote by hand and got wrong: that is what bump mends.
_VALUES = {
    "{tag}": rb"nightly-dev-\w*",
    "{pin}": rb"v\d+(?:\.(?:post)?\d+|rc\d+)+(?!\w)",
    "{version}": rb"\d+(?:\.(?:post)?\d+|rc\d+)+(?!\w)",
}
_PLACEHOLDER = re.compile("|".join(map(re.escape, _VALUES)))


@dataclass(frozen=True, slots=True)
class PinSite:
    """One place in one file, which must be there exactly once.

    file: relative to the root. text: as it stands there, with {tag}, {pin} or {version} for the values.
    """

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class PinValues:
    """What the sites shall say. pin: with the leading "v"; empty where no site asks for it."""

    tag: NightlyTag
    pin: str = ""

    def of(self, placeholder: str) -> str:
        """Return the value that stands for "{tag}", "{pin}" or "{version}"."""
        return {"{tag}": str(self.tag), "{pin}": self.pin, "{version}": bare(self.pin) if self.pin else ""}[placeholder]


def names_pin(site: PinSite) -> bool:
    """Whether the site says which pin is the latest."""
    return "{pin}" in site.text or "{version}" in site.text


def refuse_unusable(site: PinSite, *, where: str) -> None:
    """Refuse a site that names no value or that could reach outside of the root."""
    if not _PLACEHOLDER.search(site.text):
        raise ConfigError(
            "a pin site holds no value", where=where, found=f"expected {', '.join(_VALUES)} in: {site.text}"
        )
    parts = site.file.split("/")
    if not site.file or site.file.startswith("/") or ".." in parts:
        raise ConfigError(f"a pin site lies outside of the root: {site.file}", where=where)


def rewrite_site(content: bytes, site: PinSite, values: PinValues) -> bytes:
    """Return the file's content with the values of the site replaced; every other byte stays.

    Raises: ConfigError when the site is not there exactly once.
    """
    found = list(_pattern(site).finditer(content))
    if len(found) != 1:
        raise ConfigError(
            f"a pin site is there {len(found)} times, not once" if found else "a pin site is not there",
            where=site.file + "".join(f", line {_line(content, match.start())}" for match in found),
            found=f"looked for: {site.text}",
            kept="version.txt and every pin site unchanged",
            hint="correct the file, or the site in patches/sites.toml",
        )
    placeholders = _PLACEHOLDER.findall(site.text)
    for number in range(len(placeholders), 0, -1):
        start, end = found[0].span(number)
        content = content[:start] + values.of(placeholders[number - 1]).encode() + content[end:]
    return content


def _pattern(site: PinSite) -> re.Pattern[bytes]:
    literals = _PLACEHOLDER.split(site.text)
    values = [b"(" + _VALUES[each] + b")" for each in _PLACEHOLDER.findall(site.text)]
    pieces = [re.escape(literals[0].encode())]
    for value, literal in zip(values, literals[1:], strict=True):
        pieces += [value, re.escape(literal.encode())]
    return re.compile(b"".join(pieces))


def _line(content: bytes, at: int) -> int:
    return content.count(b"\n", 0, at) + 1
