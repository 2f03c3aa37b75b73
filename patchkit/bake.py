"""docker/docker-bake.json: generated from every pin, so that `docker buildx bake` builds what `build` builds."""

import json
from collections.abc import Sequence
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.matrix import Cell, bake_file, plan_cells
from patchkit.store import MANIFEST, latest_pin, pin_folder, pin_names, read_manifest, read_pin, read_version

BAKE = "docker/docker-bake.json"
CONTEXTS = "out/contexts"


def bake_text(root: Path, cells: Sequence[Cell], contexts: str = CONTEXTS) -> str:
    """Return the bake file of these cells."""
    pins = {cell.pin: (read_pin(root, cell.pin), read_manifest(root, cell.pin)) for cell in cells}
    document = bake_file(cells, pins, str(read_version(root)), latest_pin(root), contexts)
    if not document["target"]:
        raise ConfigError(
            "a bake file needs base images, and these pins name none",
            where=", ".join(f"patches/{pin}/pin.toml" for pin in pins),
            hint="add base_images to pin.toml",
        )
    return json.dumps(document, indent=2) + "\n"


def shipped_bake_text(root: Path) -> str | None:
    """Return what docker/docker-bake.json shall hold; None where the store keeps none."""
    if not (root / BAKE).is_file():
        return None
    names = [name for name in pin_names(root) if (pin_folder(root, name) / MANIFEST).is_file()]
    return bake_text(root, plan_cells([read_pin(root, name) for name in names]))
