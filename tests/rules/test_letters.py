"""Author, date, message, fields and trailers survive the way into a commit and back."""

import pytest

from patchkit.patch.letters import (
    Letter,
    git_date,
    mail_date,
    read_letter,
    split_topic,
    with_topic,
    write_letter,
)

LETTERS = [
    pytest.param(Letter("Ada <a@b.c>", "Mon, 5 Jan 2026 10:00:00 +0100", "fix"), id="subject alone"),
    pytest.param(
        Letter(
            "Jörg Ä <j@b.c>",
            "Mon, 30 Nov 2026 23:59:59 -0530",
            "timeouts: bound each queue of a prefill server and of a decode server, on all ranks alike, ünder load\n\n"
            "Description: one deadline\n A dead peer.\n .\n Second.\nForwarded: no\n\nSigned-off-by: J <j@b.c>",
        ),
        id="not ascii, DEP-3, trailers",
    ),
    pytest.param(Letter('"A, B" <a@b.c>', "Thu, 1 Jan 1970 00:00:00 +0000", "x: y\n\nbody"), id="comma in the name"),
]


@pytest.mark.parametrize("letter", LETTERS)
def test_letter_is_read_as_it_was_written(letter: Letter) -> None:
    assert read_letter(write_letter(letter), topic="t") == letter


@pytest.mark.parametrize("letter", LETTERS)
def test_header_lines_stay_short(letter: Letter) -> None:
    head = write_letter(letter).partition(b"\n\n")[0]
    assert all(len(line) <= 78 for line in head.split(b"\n"))


def test_date_survives_both_ways() -> None:
    for date in ("Mon, 5 Jan 2026 10:00:00 +0100", "Mon, 30 Nov 2026 23:59:59 -0530"):
        assert mail_date(git_date(date)) == date


def test_patch_without_a_header_is_named_by_its_topic() -> None:
    assert read_letter(b"", topic="timeouts") == Letter(
        "patchkit <patchkit@invalid>", "Thu, 1 Jan 1970 00:00:00 +0000", "timeouts"
    )


def test_dep3_without_mail_keeps_every_line() -> None:
    text = "Description: bound each queue\n Why.\nAuthor: Ada <a@b.c>\nForwarded: no"
    letter = read_letter(text.encode() + b"\n\n", topic="t")
    assert letter.author == "Ada <a@b.c>"
    assert letter.message == f"bound each queue\n\n{text}"


def test_topic_trailer_is_put_and_taken() -> None:
    message = with_topic("fix\n\nbody", "timeouts")
    assert split_topic(message) == ("fix\n\nbody", "timeouts")
    assert split_topic(message + "\nSigned-off-by: J <j@b.c>") == ("fix\n\nbody\nSigned-off-by: J <j@b.c>", "timeouts")
    assert split_topic("fix") == ("fix", "")
