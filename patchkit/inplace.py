"""A store whose topic patches stay where a project already has them: links in patches/ lead there.

patches/layout.toml names the project's folder. A pin's folder then holds a link for each topic; what writes a patch
writes the file that the link leads to, and a new pin's patches are written into the project's folder too.
"""

import os
import tomllib
from pathlib import Path

from patchkit.errors import ConfigError

LAYOUT = "layout.toml"
_MONOLITH = "downstream"


def read_layout(store: Path) -> str:
    """Return the project's patch folder, relative to the store's parent; empty where patches are in the store."""
    path = store / LAYOUT
    if not path.is_file():
        return ""
    try:
        folder = tomllib.loads(path.read_text())["patches"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as exc:
        raise ConfigError("not a layout", where=str(path), found=str(exc), hint='patches = "docker/patch"') from exc
    pure = Path(str(folder))
    if pure.is_absolute() or ".." in pure.parts:
        raise ConfigError("the patch folder is outside of the project", where=str(path), found=str(folder))
    return str(folder)


def layout_text(folder: str) -> bytes:
    """Return the text of layout.toml."""
    return (
        "# The topic patches stay in this folder; patches/<pin>/<topic>.patch are links to them.\n"
        f'patches = "{folder}"\n'
    ).encode()


def home_of(store: Path, pin: str, file: str) -> Path:
    """Return where the project keeps a topic's patch at a pin: under the name that it has at another pin.

    A topic that the project does not know is called `sglang-<topic>.patch`, as its neighbours are.
    """
    folder = store.parent / read_layout(store) / pin
    known = sorted(link for link in store.glob(f"*/{file}") if link.is_symlink())
    if known:
        return folder / Path(os.readlink(known[-1])).name
    topic = file.removesuffix(".patch")
    return folder / ("sglang.patch" if topic == _MONOLITH else f"sglang-{topic}.patch")


def link(path: Path, home: Path, *, seen_from: Path | None = None) -> None:
    """Make path lead to home, by a relative link. seen_from: the folder that path will be moved to."""
    path.symlink_to(os.path.relpath(home, seen_from or path.parent))
