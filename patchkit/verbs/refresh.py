"""`refresh`: write the generated files of a pin again, or tell whether they are current."""

from pathlib import Path

from patchkit.bake import BAKE, shipped_bake_text
from patchkit.errors import ConfigError
from patchkit.generated import generate
from patchkit.results import Refresh
from patchkit.store import chosen_pin, pin_folder, read_series, replace_file
from patchkit.upstream import Access, bring_pin


def refresh_pin(root: Path, pin: str | None, access: Access, *, check: bool = False) -> Refresh:
    """Compose the pin's series and write sglang.patch, manifest.json and the bake file where they differ.

    check: write nothing.
    """
    name = chosen_pin(root, pin)
    series = read_series(root, name)
    upstream = bring_pin(series.pin, access)
    folder = pin_folder(root, name)
    files = generate(series, upstream).files()
    changed = [file for file, content in files.items() if _content(folder / file) != content]
    if not check:
        for file in changed:
            replace_file(folder / file, files[file])
    told = [f"patches/{name}/{file}" for file in changed]
    bake = shipped_bake_text(root)
    if bake is not None and _content(root / BAKE) != bake.encode():
        told.append(BAKE)
        if not check:
            replace_file(root / BAKE, bake.encode())
    return Refresh(pin=name, changed=tuple(told), check=check)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise ConfigError(f"cannot read {path.name}", where=str(path), found=exc.strerror or str(exc)) from exc
