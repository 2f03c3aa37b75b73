"""Upstream versions and nightly tags are read, ordered and refused as stated."""

import pytest

from patchkit.errors import ConfigError
from patchkit.versions import NightlyTag, bare, order


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
