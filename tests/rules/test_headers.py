"""Mail headers, DEP-3, Upstream-Status and UPSTREAM: prefixes are read and mapped."""

import pytest

from patchkit.patch.headers import Lifecycle, read_head, read_lifecycle, references

MAIL = b"""From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001
From: =?UTF-8?q?J=C3=B6rg?= <j@example.com>
Date: Mon, 30 Nov 2026 00:00:00 +0000
Subject: [PATCH 2/3] release the prefetch of a request that
 was aborted

It was charged for ever.

Second paragraph.

Signed-off-by: J <j@example.com>
---
 python/sglang/a.py | 2 +-

"""
DEP3 = b"""Description: one deadline for each queue
 A dead peer pinned KV for ever.
 .
 It no longer does.
Author: A <a@example.com>
Origin: vendor
Bug: https://github.com/sgl-project/sglang/issues/27221
Forwarded: https://github.com/sgl-project/sglang/pull/34457

"""


def test_mail_is_taken_apart() -> None:
    head = read_head(MAIL)
    assert head.author == "Jörg <j@example.com>"
    assert head.subject == "release the prefetch of a request that was aborted"
    assert head.message == "It was charged for ever.\n\nSecond paragraph."
    assert head.fields == (("Signed-off-by", "J <j@example.com>"),)
    assert head.date == "Mon, 30 Nov 2026 00:00:00 +0000"


def test_dep3_header_is_taken_apart() -> None:
    head = read_head(DEP3)
    assert (head.subject, head.author) == ("one deadline for each queue", "A <a@example.com>")
    assert head.message == "A dead peer pinned KV for ever.\n\nIt no longer does."
    assert head.upstream == ("sgl-project/sglang#27221", "sgl-project/sglang#34457")


def test_dep3_below_a_subject_gives_no_second_title() -> None:
    head = read_head(b"From: A <a@b.c>\nSubject: [PATCH] timeouts: bound each queue\n\n" + DEP3)
    assert head.subject == "timeouts: bound each queue"
    assert head.first("origin") == "vendor"


def test_free_text_of_quilt_is_title_and_message() -> None:
    head = read_head(b"bound each queue\n\nBecause of dead peers.\n\n")
    assert (head.subject, head.message) == ("bound each queue", "Because of dead peers.")


def test_nothing_is_an_empty_head() -> None:
    assert read_head(b"").subject == ""


@pytest.mark.parametrize(
    ("preamble", "expected"),
    [
        pytest.param(
            "Subject: UPSTREAM: 30203: fix\n\n",
            Lifecycle("until-PR", "sgl-project/sglang#30203", "UPSTREAM: 30203"),
            id="openshift number",
        ),
        pytest.param(
            "Subject: [PATCH] UPSTREAM: <carry>: x\n\n", Lifecycle("carry", "", "UPSTREAM: carry"), id="carry"
        ),
        pytest.param("Subject: UPSTREAM: <drop>: x\n\n", Lifecycle("drop", "", "UPSTREAM: drop"), id="drop"),
        pytest.param(
            "Upstream-Status: Submitted [https://github.com/sgl-project/sglang/pull/7]\n",
            Lifecycle(
                "until-PR",
                "sgl-project/sglang#7",
                "Upstream-Status: Submitted [https://github.com/sgl-project/sglang/pull/7]",
            ),
            id="submitted",
        ),
        pytest.param(
            "Upstream-Status: Inappropriate [our hardware]\n",
            Lifecycle("carry", "", "Upstream-Status: Inappropriate [our hardware]"),
            id="inappropriate",
        ),
        pytest.param(
            "Description: x\nApplied-Upstream: 0.5.23, https://example.com\n",
            Lifecycle("until-PR", ">=0.5.23", "Applied-Upstream: 0.5.23, https://example.com"),
            id="applied in a release",
        ),
        pytest.param(
            "Description: x\nForwarded: not-needed\n", Lifecycle("carry", "", "Forwarded: not-needed"), id="ours"
        ),
        pytest.param("Description: x\n", Lifecycle(), id="says nothing"),
    ],
)
def test_header_says_how_long_a_patch_lives(preamble: str, expected: Lifecycle) -> None:
    assert read_lifecycle(read_head(preamble.encode())) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("see #30203 and #30203", ["sgl-project/sglang#30203"], id="once"),
        pytest.param("THUDM/slime#1949", ["THUDM/slime#1949"], id="another project"),
        pytest.param("sglang#30053, PR 123", ["sgl-project/sglang#30053", "sgl-project/sglang#123"], id="short forms"),
        pytest.param("colour &#1234; line #12", [], id="no reference"),
    ],
)
def test_references_are_named_in_full(text: str, expected: list[str]) -> None:
    assert list(references(text)) == expected
