"""Which engine: the one asked for, or the first that builds and runs something here."""

import os
import time
from pathlib import Path
from typing import assert_never

from patchkit.engines.containers import ContainerEngine
from patchkit.engines.docker import Docker
from patchkit.engines.engine import Engine
from patchkit.engines.podman import Podman
from patchkit.engines.recipes import key
from patchkit.engines.venv import Venv
from patchkit.errors import CommandError, ConfigError
from patchkit.model import EngineName
from patchkit.upstream.access import Access

ASKED = "PATCHKIT_ENGINE"
_ORDER = (EngineName.PODMAN, EngineName.DOCKER, EngineName.VENV)
_PROOF_HOLDS_S = 600
_SETTINGS = ("CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINER_HOST", "DOCKER_HOST", "DOCKER_CONTEXT", "PATH")


def choose_engine(asked: str, access: Access) -> Engine:
    """Return a proven engine. asked: a name, or "auto": $PATCHKIT_ENGINE, else podman, docker, venv."""
    wanted = os.environ.get(ASKED) or "auto" if asked == "auto" else asked
    if wanted != "auto":
        if wanted not in [name.value for name in EngineName]:
            raise ConfigError(f"there is no engine {wanted}", where=ASKED, found=f"engines: {', '.join(EngineName)}")
        engine = make_engine(EngineName(wanted), access)
        access.progress(f"{engine.name}: {prove(engine, access)}")
        return engine
    reasons = []
    for name in _ORDER:
        engine = make_engine(name, access)
        try:
            access.progress(f"{engine.name}: {prove(engine, access)}")
            return engine
        except CommandError as exc:
            reasons.append(f"{name}: {exc.what}" + (f": {exc.found.splitlines()[-1]}" if exc.found else ""))
            access.progress(reasons[-1])
    raise CommandError("no engine works here", found="\n".join(reasons), hint="docker/setup-podman.sh")


def make_engine(name: EngineName, access: Access) -> Engine:
    """Return the engine of this name, not proven."""
    match name:
        case EngineName.PODMAN:
            return Podman()
        case EngineName.DOCKER:
            return Docker()
        case EngineName.VENV:
            return Venv(access)
        case _:
            assert_never(name)


def prove(engine: Engine, access: Access) -> str:
    """Prove an engine, or take the proof of the last minutes; a container engine is always asked whether it answers."""
    if not isinstance(engine, ContainerEngine):
        return engine.prove()
    memo = _memo(engine, access.cache)
    if memo.is_file() and time.time() - memo.stat().st_mtime < _PROOF_HOLDS_S:
        described = engine.describe()
        engine.sweep()
        return described
    memo.unlink(missing_ok=True)
    described = engine.prove()
    memo.parent.mkdir(parents=True, exist_ok=True)
    memo.write_text(described + "\n")
    return described


def _memo(engine: ContainerEngine, cache: Path) -> Path:
    settings = {name: os.environ.get(name, "") for name in _SETTINGS} | engine.environment
    return cache / "probes" / f"{engine.name}-{key(*(f'{name}={value}' for name, value in sorted(settings.items())))}"
