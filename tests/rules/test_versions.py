"""Upstream versions and nightly tags are read, ordered and refused as stated."""

from datetime import date

import pytest

from patchkit.errors import ConfigError
from patchkit.versions import NightlyTag, bare, order, plan_bump


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("v0.5.15.post1", "0.5.15.post1", id="tag"),
        pytest.param("0.5.15.post1", "0.5.15.post1", id="already bare"),
        pytest.param("v0.5.0rc2", "0.5.0rc2", id="candidate"),
    ],
)
def test_bare_drops_the_v(text: str, version: str) -> None:
    assert bare(text) == version


@pytest.mark.parametrize("text", ["", "latest", "v0.5", "v0.5.12.post1-cu129", "vv0.5.1", "0.5.1 "])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        bare(text)


def test_versions_are_in_release_order() -> None:
    released = ["0.4.10.post2", "0.5.0rc0", "0.5.0rc2", "0.5.0", "0.5.9", "0.5.10", "0.5.12.post1", "0.5.13"]
    backwards = released[::-1]
    assert sorted(backwards, key=order) == released


@pytest.mark.parametrize(
    "text", ["nightly-dev-20260810", "nightly-dev-20260810A", "nightly-dev-20260230a", "nightly-dev-2026081a", "dev"]
)
def test_malformed_nightly_tag_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        NightlyTag.read(text)


def test_nightly_tags_are_in_order_of_day_then_letter() -> None:
    tags = ["nightly-dev-20260809z", "nightly-dev-20260810a", "nightly-dev-20260810b"]
    assert [str(tag) for tag in sorted(NightlyTag.read(tag) for tag in tags[::-1])] == tags


@pytest.mark.parametrize(
    ("published", "day", "tag"),
    [
        pytest.param([], "2026-08-10", "nightly-dev-20260810a", id="nothing published"),
        pytest.param(["nightly-dev-20260809c"], "2026-08-10", "nightly-dev-20260810a", id="a new day"),
        pytest.param(["nightly-dev-20260810a"], "2026-08-10", "nightly-dev-20260810b", id="the second of a day"),
        pytest.param(
            ["nightly-dev-20260810c", "nightly-dev-20260810a"], "2026-08-10", "nightly-dev-20260810d", id="in no order"
        ),
        pytest.param(["nightly-dev-20251231z"], "2026-01-01", "nightly-dev-20260101a", id="a new year"),
    ],
)
def test_next_tag_comes_after_everything_published(published: list[str], day: str, tag: str) -> None:
    assert str(plan_bump(map(NightlyTag.read, published), date.fromisoformat(day))) == tag


@pytest.mark.parametrize(
    ("published", "message"),
    [
        pytest.param("nightly-dev-20260811a", "go backwards", id="a later day is published"),
        pytest.param("nightly-dev-20260810z", "no nightly tag is left for 2026-08-10", id="all letters used"),
    ],
)
def test_tag_never_goes_backwards_and_is_never_reused(published: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan_bump([NightlyTag.read(published)], date(2026, 8, 10))
