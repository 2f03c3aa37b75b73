"""A pin site is rewritten where it stands exactly once, and only its values change."""

from datetime import date

import pytest

from patchkit.errors import ConfigError
from patchkit.pinsites import PinSite, PinValues, refuse_unusable, rewrite_site
from patchkit.versions import NightlyTag

VALUES = PinValues(NightlyTag(date(2026, 8, 10), "b"), "v0.5.16")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        pytest.param("ARG TAG={tag}", b"ARG TAG=nightly-dev-20260801a\n", b"ARG TAG=nightly-dev-20260810b\n", id="ARG"),
        pytest.param("FROM a/b:{pin}-cu129", b"FROM a/b:v0.5.13-cu129", b"FROM a/b:v0.5.16-cu129", id="with a variant"),
        pytest.param("sglang=={version}", b"sglang==0.5.12.post1;", b"sglang==0.5.16;", id="a requirement"),
        pytest.param("on {pin}", b"built on v0.5.13.\r\n", b"built on v0.5.16.\r\n", id="full stop and line end stay"),
        pytest.param(
            "| {pin} | {tag} |",
            b"| v0.5.13 | nightly-dev-20260801a |",
            b"| v0.5.16 | nightly-dev-20260810b |",
            id="two values in a table",
        ),
        pytest.param('"{tag}"', b'"nightly-dev-2026081"', b'"nightly-dev-20260810b"', id="a malformed value is mended"),
        pytest.param(
            "T={tag}", b"\xff\x00T=nightly-dev-20260801a", b"\xff\x00T=nightly-dev-20260810b", id="bytes stay"
        ),
        pytest.param("{pin}", b"v0.5.16rc1", b"v0.5.16", id="a candidate"),
    ],
)
def test_only_the_values_of_a_site_change(text: str, before: bytes, after: bytes) -> None:
    assert rewrite_site(before, PinSite("f", text), VALUES) == after


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"ARG TAG=latest\n", "is not there", id="no match"),
        pytest.param(b"TAG=nightly-dev-20260801a\nTAG=nightly-dev-20260801a\n", "there 2 times", id="two matches"),
    ],
)
def test_site_must_match_exactly_once(content: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rewrite_site(content, PinSite("f", "TAG={tag}"), VALUES)


@pytest.mark.parametrize(
    "site",
    [
        pytest.param(PinSite("f", "TAG=nightly"), id="no value"),
        pytest.param(PinSite("../f", "{tag}"), id="above the root"),
        pytest.param(PinSite("/etc/passwd", "{tag}"), id="absolute"),
        pytest.param(PinSite("", "{tag}"), id="no file"),
    ],
)
def test_unusable_site_is_refused(site: PinSite) -> None:
    with pytest.raises(ConfigError):
        refuse_unusable(site, where="patches/sites.toml")
