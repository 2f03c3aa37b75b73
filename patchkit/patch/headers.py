"""What stands above a patch's first section: mail headers, message, DEP-3 and other fields, and what they mean."""

import email.header
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from patchkit.versions import is_version

UPSTREAM_PROJECT = "sgl-project/sglang"

_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9-]*):(?:[ \t]+(.*)|)$")
_MAIL_FIELDS = {"from", "date", "subject", "to", "cc", "message-id", "mime-version", "content-type",
                "content-transfer-encoding", "in-reply-to", "references", "reply-to", "sender"}  # fmt: skip
_KNOWN_FIELDS = {"description", "subject", "origin", "forwarded", "author", "from", "reviewed-by", "acked-by",
                 "last-update", "applied-upstream", "upstream-status", "bug", "pr", "lifecycle"}  # fmt: skip
_TRAILER = re.compile(
    r"(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|change-id|fixes|closes)$"
)
_TAG = re.compile(r"^\s*(?:\[(?:PATCH|RFC|sglang)[^\]]*\]\s*)+", re.IGNORECASE)
_CARRY = re.compile(
    r"^UPSTREAM:\s*(?:(?P<project>[\w.-]+/[\w.-]+):?\s*)?#?(?P<what><carry>|<drop>|\d+)\s*:\s*", re.IGNORECASE
)
_URL = re.compile(r"https?://github\.com/([\w.-]+/[\w.-]+)/(?:pull|issues)/(\d+)")
_LONG = re.compile(r"(?<![\w/])([\w.-]+/[\w.-]+)#(\d+)\b")
_SHORT = re.compile(r"(?:(?<![\w/])(?:sglang|PR ?|pull request ?)#?|(?<![\w/&#])#)(\d{3,6})\b", re.IGNORECASE)
_STATUS = re.compile(r"(Pending|Submitted|Backport|Denied|Inactive-Upstream|Inappropriate|Accepted)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Head:
    """The text above a patch's first section, taken apart.

    author: as "Name <address>". subject: one line, without [PATCH] and without an UPSTREAM: prefix.
    message: the paragraphs below the subject that are no fields. fields: DEP-3 and other fields and trailers, in
    order; a name may come again. prefix: what stood after "UPSTREAM:": "carry", "drop" or a number.
    """

    author: str = ""
    date: str = ""
    subject: str = ""
    message: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    prefix: str = ""
    upstream: tuple[str, ...] = field(default=())

    def values(self, name: str) -> list[str]:
        """Return each value of a field, whatever the case of its name."""
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def first(self, name: str) -> str:
        """Return a field's first value, or nothing."""
        return next(iter(self.values(name)), "")


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """How long a patch shall live, as its header says. told_by: the words of the header; empty where it says nothing.

    name: carry, until-PR or drop. until: what ends it, as `patchkit.until` reads it.
    """

    name: str = "carry"
    until: str = ""
    told_by: str = ""


def read_head(preamble: bytes) -> Head:
    """Take the text above a patch apart. Every text is a head; one that says nothing gives an empty one."""
    text = preamble.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    lines = text.split("\n")
    if lines and lines[0].startswith("From ") and re.match(r"From [0-9a-f]{7,40} ", lines[0]):
        lines = lines[1:]
    mail, body = _mail_block(lines)
    paragraphs, fields = _body(body)
    fields = [(name, value) for name, value in mail if name.lower() not in _MAIL_FIELDS] + fields
    said = {name.lower(): _decoded(value) for name, value in reversed(mail)}
    authors = [said.get("from", ""), *(value for name, value in fields if name.lower() in ("author", "from"))]
    description = next((value for name, value in fields if name.lower() in ("description", "subject")), "")
    title, _, rest = description.partition("\n")
    if not said.get("subject") and not description and paragraphs:
        title, _, rest = paragraphs.pop(0).partition("\n")
    subject, prefix = _subject(said.get("subject") or title)
    message = "\n\n".join(part for part in ([] if said.get("subject") else [rest.strip()]) + paragraphs if part)
    return Head(
        author=next((author for author in authors if author), ""),
        date=said.get("date", ""),
        subject=subject,
        message=message,
        fields=tuple(fields),
        prefix=prefix,
        upstream=tuple(references(text)),
    )


def references(text: str) -> Iterator[str]:
    """Yield each issue and pull request that the text names, once, as "sgl-project/sglang#30203"."""
    found = [(match.start(), f"{match[1]}#{match[2]}") for match in _URL.finditer(text)]
    found += [(match.start(), f"{match[1]}#{match[2]}") for match in _LONG.finditer(text)]
    found += [(match.start(), f"{UPSTREAM_PROJECT}#{match[1]}") for match in _SHORT.finditer(text)]
    prefixed = re.search(r"UPSTREAM:\s*#?(\d+)\s*:", text)
    if prefixed:
        found.append((prefixed.start(), f"{UPSTREAM_PROJECT}#{prefixed[1]}"))
    yield from dict.fromkeys(name for _, name in sorted(found))


def read_lifecycle(head: Head) -> Lifecycle:
    """Return what an UPSTREAM: prefix, Upstream-Status or DEP-3 say of the patch's end; the first that speaks."""
    if head.prefix:
        named = head.prefix.isdigit()
        until = f"{UPSTREAM_PROJECT}#{head.prefix}" if named else ""
        return Lifecycle("until-PR" if named else head.prefix, until, f"UPSTREAM: {head.prefix}")
    if status := head.first("Upstream-Status"):
        return _status(status)
    if (applied := head.first("Applied-Upstream")) and not re.search(r"\b(only|part|partly)\b", applied):
        return Lifecycle("until-PR", _applied(applied, head), f"Applied-Upstream: {_line(applied)}")
    forwarded = head.first("Forwarded")
    if forwarded.lower() in ("no", "not-needed"):
        return Lifecycle("carry", "", f"Forwarded: {forwarded}")
    until = next(references(forwarded), "")
    if until:
        return Lifecycle("until-PR", until, f"Forwarded: {_line(forwarded)}")
    return Lifecycle()


def _status(status: str) -> Lifecycle:
    match = _STATUS.match(status)
    told_by = f"Upstream-Status: {_line(status)}"
    word = match[1].lower() if match else ""
    if word in ("submitted", "backport", "accepted"):
        until = next(references(status), "")
        return Lifecycle("until-PR" if until else "carry", until, told_by)
    return Lifecycle("carry", "", told_by)


def _applied(applied: str, head: Head) -> str:
    """Return the condition that Applied-Upstream states: a release, else the pull request that is named."""
    version = next((word.strip("(),;v") for word in applied.split() if is_version(word.strip("(),;"))), "")
    if version:
        return f">={version}"
    return next(references(applied), "") or next(iter(head.upstream), "")


def _mail_block(lines: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the header fields at the top, unfolded, and the lines below; no block where it is no mail."""
    fields: list[tuple[str, str]] = []
    for at, line in enumerate(lines):
        if not line.strip():
            is_mail = any(name.lower() in _MAIL_FIELDS for name, _ in fields)
            is_dep3 = any(name.lower() in ("description", "origin") for name, _ in fields)
            return (fields, lines[at + 1 :]) if is_mail and not is_dep3 else ([], lines)
        if line[0] in " \t" and fields:
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}")
        elif match := _FIELD.match(line):
            fields.append((match[1], match[2] or ""))
        else:
            break
    return [], lines


def _body(lines: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the paragraphs of prose and the fields below the mail headers; a diffstat is neither."""
    paragraphs: list[list[str]] = [[]]
    fields: list[tuple[str, str]] = []
    in_field = False
    for line in lines:
        if line.rstrip() == "---":
            break
        match = _FIELD.match(line)
        name = match[1].lower() if match else ""
        is_field = name in _KNOWN_FIELDS or name.startswith("bug-") or _TRAILER.match(name) is not None
        if match and is_field:
            fields.append((match[1], match[2] or ""))
            in_field = True
        elif in_field and line[:1] in (" ", "\t"):
            continued = line.strip()
            fields[-1] = (fields[-1][0], f"{fields[-1][1]}\n{'' if continued == '.' else continued}")
        else:
            in_field = False
            if line.strip():
                paragraphs[-1].append(line)
            elif paragraphs[-1]:
                paragraphs.append([])
    return ["\n".join(paragraph) for paragraph in paragraphs if paragraph], fields


def _subject(text: str) -> tuple[str, str]:
    """Return the subject without its tags, and what its UPSTREAM: prefix says."""
    bare = _TAG.sub("", " ".join(text.split()))
    match = _CARRY.match(bare)
    if not match:
        return bare, ""
    return bare[match.end() :], match["what"].strip("<>").lower()


def _decoded(value: str) -> str:
    """Return a header's text; encoded words become what they stand for."""
    if "=?" not in value:
        return value
    try:
        return str(email.header.make_header(email.header.decode_header(value)))
    except (LookupError, UnicodeDecodeError, ValueError):
        return value


def _line(text: str) -> str:
    return text.partition("\n")[0]
