"""docker by its command line, against a daemon that answers (which may be podman's socket)."""

from pathlib import Path

from patchkit.engines.containers import ContainerEngine, options
from patchkit.engines.engine import BuildRequest
from patchkit.errors import CommandError

_SERVER = "{{.Server.Version}}{{range .Server.Components}} {{.Name}}{{end}}"


class Docker(ContainerEngine):
    """docker; BuildKit where the client has buildx, else the legacy builder."""

    name = "docker"

    def describe(self) -> str:
        """Return the daemon's version; a client alone is no engine."""
        asked = self._engine("version", "--format", _SERVER, timeout_s=30, allowed=range(256))
        if not asked.ok or not asked.stdout.strip():
            told = asked.stderr.decode("utf-8", "replace").strip().splitlines()
            raise CommandError(
                "docker is installed, but no daemon answers",
                found=told[-1] if told else "",
                hint="start the docker daemon, or set DOCKER_HOST",
            )
        has_buildx = self._engine("buildx", "version", timeout_s=30, allowed=range(256)).ok
        self.environment["DOCKER_BUILDKIT"] = "1" if has_buildx else "0"
        version, *components = asked.stdout.decode().split()
        if "Podman" in components:
            return f"podman {version} behind docker's socket: runs have no network, but builds keep it"
        return f"docker daemon {version}, {'BuildKit' if has_buildx else 'legacy builder'}"

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
