"""A registry is asked for its tags on a loopback port: pages, logins, and every way to say no."""

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from patchkit.errors import CommandError, ConfigError
from patchkit.registry import registry_tags
from patchkit.repository import PublishedElsewhere
from patchkit.verbs.bump import bump_version

LOGIN = base64.b64encode(b"robot:secret").decode()
NAME = "team/sglang"


@dataclass
class Registry:
    """What it answers: (status, headers, body) by path; and what it was asked."""

    host: str = ""
    answers: dict[str, tuple[int, dict[str, str], object]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    wants: str = ""  # the Authorization that it wants to see for /v2/

    @property
    def reference(self) -> str:
        return f"{self.host}/{NAME}"


@pytest.fixture
def registry() -> Iterator[Registry]:
    told = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            login = self.headers.get("Authorization", "")
            told.asked.append((self.path, login))
            status, headers, body = told.answers.get(self.path, (404, {}, {"errors": [{"code": "NAME_UNKNOWN"}]}))
            if told.wants and self.path.startswith("/v2/") and login != told.wants:
                status, body = 401, {}
                scheme = told.wants.split(" ")[0]
                headers = {"WWW-Authenticate": f'{scheme} realm="http://{told.host}/token",service="here",scope="x"'}
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        told.host = f"127.0.0.1:{server.server_port}"
        yield told
        server.shutdown()
        thread.join()


def page(*tags: str, following: str = "") -> tuple[int, dict[str, str], object]:
    headers = {"Link": f'<{following}>; rel="next"'} if following else {}
    return 200, headers, {"name": NAME, "tags": list(tags)}


FIRST = f"/v2/{NAME}/tags/list?n=1000"


def test_every_page_is_read(registry: Registry) -> None:
    second = f"/v2/{NAME}/tags/list?n=1000&last=b"
    registry.answers = {FIRST: page("a", "b", following=second), second: page("c")}
    assert registry_tags(registry.reference) == ["a", "b", "c"]


def test_repository_to_which_nothing_was_pushed_has_no_tags(registry: Registry) -> None:
    assert registry_tags(registry.reference) == []
    registry.answers = {FIRST: (200, {}, {"name": NAME, "tags": None})}
    assert registry_tags(registry.reference) == []


def test_token_is_fetched_and_sent(registry: Registry) -> None:
    registry.wants = "Bearer t0k"
    registry.answers = {
        FIRST: page("a"),
        f"/token?service=here&scope=repository%3A{NAME.replace('/', '%2F')}%3Apull": (200, {}, {"token": "t0k"}),
    }
    assert registry_tags(registry.reference) == ["a"]


@pytest.mark.parametrize("variable", ["DOCKER_CONFIG", "REGISTRY_AUTH_FILE"])
def test_stored_login_is_used(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": LOGIN}}}))
    monkeypatch.setenv(variable, str(tmp_path if variable == "DOCKER_CONFIG" else tmp_path / "config.json"))
    registry.wants, registry.answers = f"Basic {LOGIN}", {FIRST: page("a")}
    assert registry_tags(registry.reference) == ["a"]
    assert registry.asked[0][1] == "", "nothing is sent before it is asked for"


def test_missing_login_says_how_to_log_in(registry: Registry) -> None:
    registry.wants = f"Basic {LOGIN}"
    with pytest.raises(CommandError) as caught:
        registry_tags(registry.reference)
    assert (caught.value.found, caught.value.where) == ("it asks for a login", registry.reference)
    assert f"podman login {registry.host}" in caught.value.hint


def test_login_does_not_follow_a_redirect(registry: Registry) -> None:
    registry.wants = "Bearer t0k"
    token = f"/token?service=here&scope=repository%3A{NAME.replace('/', '%2F')}%3Apull"
    registry.answers = {
        token: (200, {}, {"token": "t0k"}),
        FIRST: (307, {"Location": f"http://{registry.host}/elsewhere"}, b""),
        "/elsewhere": page("a"),
    }
    assert registry_tags(registry.reference) == ["a"]
    assert registry.asked[-1] == ("/elsewhere", "")


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        pytest.param((500, {}, {}), "HTTP 500 Internal Server Error", id="it fails"),
        pytest.param((403, {}, {}), "HTTP 403 Forbidden", id="it refuses"),
        pytest.param((200, {}, b"<html>"), "its answer is no JSON", id="a proxy answers"),
        pytest.param(page(following="http://other.invalid/"), "the list goes on at another host", id="another host"),
        pytest.param(page("a", following=FIRST), "the list has no end", id="a circle"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_environment_error(
    registry: Registry, answer: tuple[int, dict[str, str], object], found: str
) -> None:
    registry.answers = {FIRST: answer}
    with pytest.raises(CommandError) as caught:
        registry_tags(registry.reference)
    assert (caught.value.found, caught.value.exit_code) == (found, 6)


def test_registry_that_is_not_there_is_an_environment_error() -> None:
    with pytest.raises(CommandError, match="cannot be asked") as caught:
        registry_tags("127.0.0.1:1/team/sglang", timeout_s=5)
    assert "refused" in caught.value.found


@pytest.mark.parametrize("name", ["", "UPPER/case", "host.example.com/", "host.example.com/a:tag", "a b/c"])
def test_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not the name of a repository"):
        registry_tags(name)


def test_bump_goes_past_what_the_registry_has(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "version.txt").write_text("nightly-dev-20260809a\n")
    (tmp_path / "patches").mkdir()
    registry.answers = {FIRST: page("latest", "nightly-dev-20260810a", "nightly-dev-20260810b-cu129", "nightly-dev-x")}
    told = bump_version(tmp_path, date(2026, 8, 10), published=PublishedElsewhere(registry=registry.reference))
    assert (told.tag, told.malformed) == ("nightly-dev-20260810c", ("nightly-dev-x",))
    assert (tmp_path / "version.txt").read_text() == "nightly-dev-20260810c\n"


def test_bump_changes_nothing_when_the_registry_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "version.txt").write_text("nightly-dev-20260809a\n")
    (tmp_path / "patches").mkdir()
    with pytest.raises(CommandError):
        bump_version(tmp_path, date(2026, 8, 10), published=PublishedElsewhere(registry="127.0.0.1:1/sglang"))
    assert (tmp_path / "version.txt").read_text() == "nightly-dev-20260809a\n"
