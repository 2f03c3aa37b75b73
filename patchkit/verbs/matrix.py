"""`matrix`: the same work as `build` and `smoke` do, split for an engine that runs many cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.bake import CONTEXTS, bake_text
from patchkit.engines.series_image import write_context
from patchkit.errors import ConfigError
from patchkit.matrix import Cell, Shop, github_workflow, gitlab_pipeline, plan_cells
from patchkit.model import MatrixFormat
from patchkit.results.matrix import Matrix, MatrixCell
from patchkit.store import chosen_pin, read_pin, replace_file, version_file

_INSTALL = "python -m pip install patchkit"
_INSTALL_HERE = "python -m pip install ."  # in patchkit's own repository


@dataclass(frozen=True, slots=True)
class Choice:
    """Which cells. Empty: the latest pin, every base image, amd64."""

    pins: Sequence[str] = ()
    variants: Sequence[str] = ()
    platforms: Sequence[str] = ("linux/amd64",)


def split_work(
    root: Path, choice: Choice, kind: MatrixFormat, *, output: Path | None = None, contexts: Path | None = None
) -> Matrix:
    """Return the document for an engine, and write it where asked.

    contexts: write the build contexts that a bake file names below this folder.
    """
    names = [chosen_pin(root, pin) for pin in choice.pins] or [chosen_pin(root, None)]
    pins = [read_pin(root, name) for name in names]
    cells = plan_cells(pins, variants=choice.variants, platforms=choice.platforms)
    place = contexts.as_posix() if contexts else CONTEXTS
    text = _text(root, cells, kind, place)
    written: list[str] = []
    if contexts:
        for name in names:
            _write_context(root, name, contexts / name)
            written.append(str(contexts / name))
    if output:
        if not output.is_file() or output.read_text() != text:
            replace_file(output, text.encode())
        written.append(str(output))
    told = tuple(MatrixCell(c.name, c.pin, c.variant, c.base, c.platform) for c in cells)
    return Matrix(kind.value, told, text, tuple(written))


def _text(root: Path, cells: Sequence[Cell], kind: MatrixFormat, contexts: str) -> str:
    import yaml

    install = _INSTALL_HERE if (root / "patchkit/inimage.py").is_file() else _INSTALL
    shop = Shop(install, version_file(root).relative_to(root).as_posix())
    names = ", ".join(dict.fromkeys(cell.pin for cell in cells))
    head = f"# Generated: patchkit matrix --format {kind} ({names}); do not edit.\n"
    match kind:
        case MatrixFormat.GITHUB:
            return head + yaml.safe_dump(github_workflow(cells, shop), sort_keys=False, width=120)
        case MatrixFormat.GITLAB:
            return head + yaml.safe_dump(gitlab_pipeline(cells, shop), sort_keys=False, width=120)
        case MatrixFormat.BAKE:
            return bake_text(root, cells, contexts)


def _write_context(root: Path, pin: str, folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError("the folder for the build context is not empty", where=str(folder), hint=f"rm -r {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    write_context(root, pin, folder)
