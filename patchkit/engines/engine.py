"""What every engine offers: build an image, run a command in it, look at it, remove it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

Talk = Callable[[str], None]


def _silent(_: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Mount:
    """A host folder inside the run. An engine without a mount namespace puts the host's own path into the command."""

    host: Path
    inside: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """One image to build from `base` with the files of `context`.

    context: a folder with a Dockerfile; nobody writes to it while it is built.
    timestamp: seconds since 1970 that every file and the image shall carry; None for the time of the build.
    """

    base: str
    context: Path
    tag: str
    timeout_s: float
    arguments: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    timestamp: int | None = None
    use_cache: bool = True
    talk: Talk = _silent


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One command in an image: no network, no writable root, no rights, always removed."""

    image: str
    command: tuple[str, ...]
    timeout_s: float
    mounts: tuple[Mount, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 6 << 30
    processes: int = 512
    writable_root: bool = False  # only to inspect or tamper; what is written is thrown away with the container
    as_root: bool = False
    keep: bool = False  # leave the container, for a look inside


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of a run. status: the command's own, or 128 + signal; container: its name if it was kept."""

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    container: str = ""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What the engine says of an image. id: the digest of its configuration, or the path of a virtual environment."""

    id: str
    digest: str  # of its manifest, where the engine knows one; what a registry calls it
    labels: Mapping[str, str]
    created: str


class Engine(Protocol):
    """A container engine, or the virtual environment that stands in for one."""

    @property
    def name(self) -> str:
        """Return docker, podman or venv."""
        ...

    def prove(self) -> str:
        """Return what the engine is, in a few words, after it has built and run something; CommandError if not."""
        ...

    def build(self, request: BuildRequest) -> str:
        """Return the id of a freshly built image."""
        ...

    def run(self, request: RunRequest) -> Ran:
        """Run the command and leave nothing behind, whatever happens."""
        ...

    def inspect(self, image: str) -> ImageFacts | None:
        """Return what is known of an image; None where there is none."""
        ...

    def remove(self, image: str) -> None:
        """Remove the image, or the name if it has others; none is no error."""
        ...
