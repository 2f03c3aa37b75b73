"""The tags of a repository in a container registry: by its HTTP API, read-only, with docker's or podman's login."""

import base64
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import Request, urlopen

from patchkit.errors import CommandError, ConfigError

_DOCKER_HUB = "registry-1.docker.io"
_HUB_LOGIN = "https://index.docker.io/v1/"  # the name under which docker keeps its own login
_PAGE = 1000
_MAX_PAGES = 200
_MAX_BYTES = 16 << 20
_NAME = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")


def registry_tags(reference: str, *, timeout_s: float = 60.0) -> list[str]:
    """Return every tag of a repository, as "registry.example.com/team/sglang"; none where the registry has none.

    Raises: ConfigError for no such name; CommandError where the registry cannot be asked or refuses.
    """
    place = _read_reference(reference)
    return list(_Session(place, time.monotonic() + timeout_s).tags())


@dataclass(frozen=True, slots=True)
class _Place:
    """A repository in a registry. Plain HTTP is for loopback alone, as docker has it."""

    host: str
    name: str

    @property
    def url(self) -> str:
        return f"{'http' if is_loopback(self.host) else 'https'}://{self.host}"

    @property
    def shown(self) -> str:
        return f"{self.host}/{self.name}"


def _read_reference(reference: str) -> _Place:
    host, _, name = reference.partition("/")
    if not ("." in host or ":" in host or host == "localhost"):
        host, name = _DOCKER_HUB, reference if "/" in reference else f"library/{reference}"
    elif host in ("docker.io", "index.docker.io"):
        host = _DOCKER_HUB
    if not _NAME.fullmatch(name) or not re.fullmatch(r"[A-Za-z0-9.-]+(?::\d+)?|\[[0-9a-f:]+\](?::\d+)?", host):
        raise ConfigError(
            f"'{reference}' is not the name of a repository in a registry",
            found="expected something like registry.example.com/team/sglang, without a tag",
        )
    return _Place(host, name)


@dataclass(slots=True)
class _Session:
    """One conversation. headers: what the registry has asked for to let us read."""

    place: _Place
    ends_at: float
    headers: dict[str, str] = field(default_factory=dict)

    def tags(self) -> Iterator[str]:
        url = f"{self.place.url}/v2/{self.place.name}/tags/list?n={_PAGE}"
        for _ in range(_MAX_PAGES):
            answer, link = self._page(url)
            yield from (str(tag) for tag in answer.get("tags") or ())
            following = re.match(r'<([^>]+)>\s*;\s*rel="?next"?', link)
            if following is None:
                return
            url = urljoin(url, following[1])
            if urlsplit(url).netloc != self.place.host:
                raise self._refused("the list goes on at another host", url)
        raise self._refused("the list has no end", f"{_MAX_PAGES} pages read")

    def _page(self, url: str) -> tuple[dict[str, Any], str]:
        """Return one page of the list and its Link header; log in when the registry asks for it."""
        try:
            return self._get(url, self.headers)
        except HTTPError as error:
            if error.code == 404:
                return {}, ""  # nothing was pushed yet
            if error.code != 401 or self.headers:
                raise self._refused(f"HTTP {error.code} {error.reason}", _hint(self.place)) from error
            self.headers = self._log_in(error.headers.get("WWW-Authenticate", ""))
        try:
            return self._get(url, self.headers)
        except HTTPError as error:
            if error.code == 404:
                return {}, ""
            raise self._refused(f"HTTP {error.code} {error.reason}", _hint(self.place)) from error

    def _log_in(self, challenge: str) -> dict[str, str]:
        """Return the header that answers the challenge."""
        scheme, _, rest = challenge.partition(" ")
        login = _login(self.place.host)
        if scheme.lower() == "basic" and login:
            return {"Authorization": f"Basic {login}"}
        asked = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        realm = asked.pop("realm", "")
        if scheme.lower() != "bearer" or not realm:
            raise self._refused("it asks for a login", _hint(self.place))
        if urlsplit(realm).scheme != "https" and not is_loopback(urlsplit(realm).netloc):
            raise self._refused("it sends the login over plain HTTP", realm)
        query = urlencode({"service": asked.get("service", ""), "scope": f"repository:{self.place.name}:pull"})
        try:
            token, _ = self._get(f"{realm}?{query}", {"Authorization": f"Basic {login}"} if login else {})
        except HTTPError as error:
            raise self._refused(f"HTTP {error.code} {error.reason} from its login", _hint(self.place)) from error
        return {"Authorization": f"Bearer {token.get('token') or token.get('access_token') or ''}"}

    def _get(self, url: str, headers: Mapping[str, str]) -> tuple[dict[str, Any], str]:
        request = Request(url, headers={"Accept": "application/json", "User-Agent": "patchkit"})
        for name, value in headers.items():
            request.add_unredirected_header(name, value)  # a redirect must not take the login along
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise self._refused("it did not answer in time", "")
        try:
            with urlopen(request, timeout=left) as answer:
                return json.loads(answer.read(_MAX_BYTES)), answer.headers.get("Link", "")
        except HTTPError as error:
            error.close()
            raise
        except (URLError, HTTPException, OSError) as error:
            raise self._refused(str(getattr(error, "reason", "") or error), "") from error
        except (ValueError, AttributeError) as error:
            raise self._refused("its answer is no JSON", str(error)) from error

    def _refused(self, found: str, hint: str) -> CommandError:
        return CommandError(
            "the registry cannot be asked for its tags", where=self.place.shown, found=found,
            kept="nothing was changed", hint=hint,
        )  # fmt: skip


def _hint(place: _Place) -> str:
    return f"docker login {place.host}, or podman login {place.host}"


def is_loopback(netloc: str) -> bool:
    """Whether a host, with or without a port, is this machine: plain HTTP is taken there alone, as docker has it."""
    host = netloc.rpartition("]")[0].lstrip("[") or netloc.partition(":")[0]
    return host in ("localhost", "::1") or re.fullmatch(r"127\.\d+\.\d+\.\d+", host) is not None


def _login(host: str) -> str:
    """Return the stored login of a registry, as Basic has it; empty where none is stored in a file."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    docker = os.environ.get("DOCKER_CONFIG") or str(Path.home() / ".docker")
    files = [os.environ.get("REGISTRY_AUTH_FILE", ""), f"{docker}/config.json"]
    files += [f"{runtime}/containers/auth.json"] if runtime else []
    names = (host, f"https://{host}", *((_HUB_LOGIN, "docker.io") if host == _DOCKER_HUB else ()))
    for file in filter(None, files):
        try:
            logins = json.loads(Path(file).read_bytes()).get("auths", {})
            found = next((logins[name]["auth"] for name in names if "auth" in logins.get(name, {})), "")
            base64.b64decode(found, validate=True)
        except (OSError, ValueError, AttributeError, TypeError, KeyError):
            continue
        if found:
            return str(found)
    return ""
