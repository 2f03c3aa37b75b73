"""A topic's commit <-> the text above its patch: author, date, message, with every field and trailer kept."""

import email.header
import email.utils
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from patchkit.patch.headers import read_head

UNKNOWN = "patchkit <patchkit@invalid>"  # a patch that names no author
EPOCH = "Thu, 1 Jan 1970 00:00:00 +0000"
TRAILER = "Patchkit-Topic"

_MAIL_START = re.compile(rb"From [0-9a-f]{7,40} |(From|Subject|Date|Message-I[dD]): ")
_TAG = re.compile(r"^\s*(?:\[(?:PATCH|RFC)[^\]]*\]\s*)+", re.IGNORECASE)
_TRAILER = re.compile(rf"\n*^{TRAILER}: ?(.*)$", re.MULTILINE)
_WIDTH = 76
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Letter:
    """What a commit says of itself. author: "Name <address>". date: as a mail writes it. message: without TRAILER."""

    author: str
    date: str
    message: str


def read_letter(preamble: bytes, *, topic: str) -> Letter:
    """Return the commit that the text above a patch stands for. The topic's name is the subject where it has none."""
    head = read_head(preamble)
    author = head.author if _address(head.author) else UNKNOWN
    date = head.date if _seconds(head.date) is not None else EPOCH
    text = preamble.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    if _MAIL_START.match(preamble):
        block, _, body = text.partition("\n\n")
        body = re.split(r"(?m)^---\s*$", body, maxsplit=1)[0]
        subject = " ".join(_subject_of(block).split())
        message = f"{_TAG.sub('', subject) or topic}\n\n{body.strip()}"
    else:
        message = text.strip()
        if not message or re.match(r"[A-Z][A-Za-z-]*:", message):
            message = f"{head.subject or topic}\n\n{message}"
    return Letter(author, date, message.strip())


def write_letter(letter: Letter) -> bytes:
    """Return the text above a patch as git format-patch writes it, with a zero commit and without a signature."""
    subject, _, body = letter.message.partition("\n")
    lines = [
        f"From {'0' * 40} Mon Sep 17 00:00:00 2001",
        f"From: {_encoded_author(letter.author)}",
        f"Date: {letter.date}",
        *_folded(f"Subject: [PATCH] {_encoded(subject, name='Subject: [PATCH]')}"),
    ]
    if not (subject + body + letter.author).isascii():
        lines += ["MIME-Version: 1.0", "Content-Type: text/plain; charset=UTF-8", "Content-Transfer-Encoding: 8bit"]
    text = "\n".join(lines) + "\n\n" + (f"{body.strip()}\n\n" if body.strip() else "")
    return text.encode("utf-8", "surrogateescape")


def is_mail(preamble: bytes) -> bool:
    """Whether git am would take the text above a patch: it has an author and a subject."""
    head = preamble.partition(b"\n\n")[0]
    return bool(re.search(rb"(?m)^From: ", head) and re.search(rb"(?m)^Subject: ", head))


def with_topic(message: str, topic: str) -> str:
    """Return the message with the trailer that names its topic."""
    return f"{message}\n\n{TRAILER}: {topic}"


def split_topic(message: str) -> tuple[str, str]:
    """Return the message without the trailer, and the topic that the (last) one names; empty where there is none."""
    found = _TRAILER.findall(message)
    return _TRAILER.sub("", message).strip(), found[-1].strip() if found else ""


def git_date(date: str) -> str:
    """Return a mail's date as git's raw form: seconds and zone."""
    parsed = email.utils.parsedate_to_datetime(date)
    zone = parsed.strftime("%z") or "+0000"
    return f"{int(parsed.timestamp())} {zone}"


def mail_date(raw: str) -> str:
    """Return git's raw date as a mail writes it."""
    seconds, _, zone = raw.partition(" ")
    offset = int(zone[:3]) * 3600 + int(zone[0] + zone[3:5]) * 60 if zone else 0
    local = datetime.fromtimestamp(int(seconds) + offset, tz=UTC)
    clock = local.strftime("%Y %H:%M:%S")
    return f"{_DAYS[local.weekday()]}, {local.day} {_MONTHS[local.month - 1]} {clock} {zone or '+0000'}"


def author_parts(author: str) -> tuple[str, str]:
    """Return name and address of an author. A name may hold a comma, as git's may, quoted or not."""
    name, found, rest = author.rpartition("<")
    if not found:
        return author.strip(), author.strip()
    address = rest.partition(">")[0].strip()
    return name.strip().strip('"') or address, address


def _address(author: str) -> str:
    return author_parts(author)[1] if "@" in author else ""


def _seconds(date: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _subject_of(block: str) -> str:
    unfolded = re.sub(r"\n[ \t]+", " ", block)
    match = re.search(r"^Subject: ?(.*)$", unfolded, re.MULTILINE)
    value = match[1] if match else ""
    if "=?" not in value:
        return value
    try:
        return str(email.header.make_header(email.header.decode_header(value)))
    except (LookupError, UnicodeDecodeError, ValueError):
        return value


def _encoded(text: str, *, name: str = "From") -> str:
    """Return the text as a header can carry it: encoded words where it is not ASCII."""
    if text.isascii():
        return text
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return email.header.Header(readable, "utf-8", maxlinelen=_WIDTH, header_name=name).encode()


def _encoded_author(author: str) -> str:
    name, address = author_parts(author)
    shown = _encoded(name) if not name.isascii() else (f'"{name}"' if re.search(r'[().,:;@"<>\[\]\\]', name) else name)
    return f"{shown} <{address}>"


def _folded(line: str) -> list[str]:
    """Fold a header at spaces, as git does, so that no line is longer than 78; encoded words are folded already."""
    if "\n" in line:
        return line.split("\n")
    lines: list[str] = []
    current = ""
    for word in line.split(" "):
        if current and len(current) + 1 + len(word) > _WIDTH + 2 and current.strip() != "Subject:":
            lines.append(current)
            current = f" {word}"
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current]
