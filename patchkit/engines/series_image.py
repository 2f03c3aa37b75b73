"""The image of a series: its name, its build context, its labels, and the proof that a base is the pin."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.engines.containers import ContainerEngine
from patchkit.engines.engine import Engine, Mount, RunRequest
from patchkit.engines.recipes import DOCKERFILE, inimage, recipe
from patchkit.errors import CommandError, ConfigError, ConflictError, PatchkitError, SmokeError, VerifyError
from patchkit.model import Manifest, Pin
from patchkit.store import COMBINED, MANIFEST, pin_folder, read_combined, read_current_manifest, read_version

LABEL = "io.patchkit"
OCI = "org.opencontainers.image"
SMOKE = "smoke"
_REPOSITORY = "patchkit/sglang"
_ERRORS: Mapping[int, type[PatchkitError]] = {2: ConfigError, 3: ConflictError, 4: VerifyError, 5: SmokeError}
_LOOK_S = 120.0


@dataclass(frozen=True, slots=True)
class Labels:
    """What an image says of itself."""

    pin: Pin
    manifest: Manifest
    version: str
    base: str
    base_id: str
    revision: str
    created: int

    def as_labels(self) -> dict[str, str]:
        """Return OCI's names and ours."""
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.created))
        ours = {
            "pin": self.pin.name,
            "upstream.commit": self.pin.commit,
            "series.sha256": self.manifest.sha256,
            "topics": ",".join(self.manifest.topics),
            "base": self.base,
        }
        oci = {
            "version": self.version,
            "revision": self.revision,
            "created": created,
            "base.name": self.base,
            "base.digest": self.base_id,
        }
        named = {f"{LABEL}.{key}": value for key, value in ours.items()}
        return named | {f"{OCI}.{key}": value for key, value in oci.items() if value}


def image_tag(root: Path, pin: str, engine: Engine) -> str:
    """Return the local name of a pin's image; only its digest identifies it."""
    prefix = engine.local_prefix if isinstance(engine, ContainerEngine) else ""
    return f"{prefix}{_REPOSITORY}:{read_version(root)}-{pin}"


def write_context(root: Path, pin: str, folder: Path) -> Manifest:
    """Write everything that the image is made from, with modes that any user of the image can read."""
    manifest = read_current_manifest(root, pin)
    (folder / COMBINED).write_bytes(read_combined(root, pin))
    shutil.copyfile(pin_folder(root, pin) / MANIFEST, folder / MANIFEST)
    (folder / "inimage.py").write_bytes(inimage())
    (folder / DOCKERFILE).write_bytes(recipe(DOCKERFILE))
    write_smoke(root, folder / SMOKE)
    _make_readable(folder)
    return manifest


def write_smoke(root: Path, folder: Path) -> None:
    """Copy the smoke tests, without what a run left beside them."""
    source = root / "patches" / "smoke"
    if source.is_dir():
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".*"))
    else:
        folder.mkdir()
    _make_readable(folder)


def _make_readable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def refuse_other_base(engine: Engine, base: str, context: Path) -> None:
    """Refuse a base whose sglang is not the pin, by blob ids and before any layer is written."""
    report = ask_inimage(engine, base, context, "apply", "--dry-run")
    if report["verdict"] != "would apply":
        raise ConfigError(
            "the base image carries this series already",
            where=base,
            found=f"sglang in {', '.join(report['folders'])}: {report['verdict']}",
            hint="take the image that this one was built from",
        )


def prove_image(engine: Engine, image: str) -> dict[str, Any]:
    """Return what an image says after it has hashed the modules that its Python imports; else VerifyError."""
    with tempfile.TemporaryDirectory(prefix="patchkit-context-") as folder:
        context = Path(folder)
        (context / "inimage.py").write_bytes(inimage())
        _make_readable(context)
        return ask_inimage(engine, image, context, "verify", "--record", "/etc/patchkit/manifest.json")


def ask_inimage(engine: Engine, image: str, context: Path, *words: str) -> dict[str, Any]:
    """Run our own inimage.py, never the image's, in the image and return its report; its refusal is ours."""
    mount = Mount(context, "/patchkit")
    command = ("python3", "/patchkit/inimage.py", *words, "--json")
    ran = engine.run(RunRequest(image, command, _LOOK_S, mounts=(mount,)))
    try:
        report: dict[str, Any] = json.loads(ran.stdout)
    except ValueError as exc:
        raise CommandError(
            "the image cannot tell what it carries",
            where=f"{engine.name} image {image}",
            found=ran.stderr.decode("utf-8", "replace").strip() or f"exit status {ran.status}",
            hint="the image needs python3 >= 3.9 on its PATH",
        ) from exc
    if ran.status == 0:
        return report
    error = report["error"]
    where = f"{engine.name} image {image}" + (f", {error['where']}" if error["where"] else "")
    kind = _ERRORS.get(ran.status, CommandError)
    raise kind(error["what"], where=where, found="\n".join(error["found"]), hint=error["hint"])


def source_date() -> int | None:
    """Return SOURCE_DATE_EPOCH, which makes two builds the same."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not stated:
        return None
    if not stated.isdecimal():
        raise ConfigError("SOURCE_DATE_EPOCH is not a number of seconds", found=stated)
    return int(stated)
