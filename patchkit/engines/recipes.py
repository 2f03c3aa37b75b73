"""The files that an image is made from: Dockerfiles, the lock of the CPU runtime, inimage.py."""

import hashlib
from pathlib import Path

from patchkit.errors import ConfigError

DOCKERFILE = "Dockerfile"
CPU_RUNTIME = "Dockerfile.cpu-runtime"
CPU_BASE = "Dockerfile.cpu-base"
LOCK = "requirements.cpu.lock"

_PACKAGE = Path(__file__).parent.parent


def recipe(name: str) -> bytes:
    """Return a file of docker/: beside the package in a checkout, inside it where patchkit is installed."""
    for folder in (_PACKAGE.parent / "docker", _PACKAGE / "docker"):
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    raise ConfigError(f"patchkit's own {name} is missing", where=str(_PACKAGE), hint="install patchkit again")


def inimage() -> bytes:
    """Return the file that patches and proves inside an image."""
    return (_PACKAGE / "inimage.py").read_bytes()


def key(*parts: str | bytes) -> str:
    """Return a short name for what is made of these parts: the same parts, the same name."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()[:12]
