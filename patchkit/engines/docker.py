"""docker by its command line, against a daemon that answers (which may be podman's socket)."""

import os
from pathlib import Path

from patchkit.engines.containers import ContainerEngine, options
from patchkit.engines.engine import BuildRequest
from patchkit.errors import CommandError

_VERSIONS = "{{.Client.Version}} {{.Server.Version}}{{range .Server.Components}} {{.Name}}{{end}}"
_BUILDKIT = "DOCKER_BUILDKIT"
_BUILDX_SINCE = 23  # clients before it speak to the daemon's BuildKit themselves, later ones through buildx alone


class Docker(ContainerEngine):
    """docker; BuildKit where the client can, else the legacy builder; DOCKER_BUILDKIT decides where it is set."""

    name = "docker"

    def describe(self) -> str:
        """Return the daemon's version; a client alone is no engine."""
        asked = self._engine("version", "--format", _VERSIONS, timeout_s=30, allowed=range(256))
        if not asked.ok or not asked.stdout.strip():
            told = asked.stderr.decode("utf-8", "replace").strip().splitlines()
            raise CommandError(
                "docker is installed, but no daemon answers",
                found=told[-1] if told else "",
                hint="start the docker daemon, or set DOCKER_HOST",
            )
        client, version, *components = asked.stdout.decode().split()
        is_podman = "Podman" in components
        asked_for = os.environ.get(_BUILDKIT, "")
        has_buildkit = asked_for != "0" if asked_for else not is_podman and self._can_buildkit(client)
        self.environment[_BUILDKIT] = "1" if has_buildkit else "0"
        if is_podman:
            return f"podman {version} behind docker's socket: runs have no network, but builds keep it"
        return f"docker daemon {version}, {'BuildKit' if has_buildkit else 'legacy builder'}"

    def _can_buildkit(self, client: str) -> bool:
        major = client.partition(".")[0]
        if major.isdigit() and int(major) < _BUILDX_SINCE:
            return True
        return self._engine("buildx", "version", timeout_s=30, allowed=range(256)).ok

    def build_command(self, request: BuildRequest, iid_file: Path, job: str) -> list[str]:
        """`docker build`; a killed client stops the build in the daemon."""
        command = [
            "build", "--network=none", f"--iidfile={iid_file}", f"--tag={request.tag}",
            f"--build-arg=BASE_IMAGE={request.base}",
            *options("--build-arg", request.arguments), *options("--label", request.labels),
        ]  # fmt: skip
        if request.timestamp is not None:
            command.append(f"--build-arg=SOURCE_DATE_EPOCH={request.timestamp}")
        if not request.use_cache:
            command.append("--no-cache")
        return [*command, str(request.context)]

    def push(self, image: str, destination: str, *, timeout_s: float) -> str:
        """Send an image to a registry; the digest is the one that the daemon keeps for that repository."""
        self._engine("tag", image, destination, timeout_s=60)
        self._engine("push", "-q", destination, timeout_s=timeout_s)
        asked = self._engine("image", "inspect", "--format", '{{join .RepoDigests "\\n"}}', destination, timeout_s=60)
        repository = destination.rpartition(":")[0]
        rows = asked.stdout.decode().split()
        digest = next((row.partition("@")[2] for row in rows if row.startswith(f"{repository}@")), "")
        if not digest:
            raise CommandError("the registry took the image, but its digest is not known", where=destination)
        return digest
