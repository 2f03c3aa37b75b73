"""A module imports only modules listed before it; each outside tool has one importer."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "patchkit"

# From the ground up. A module may import those above it, never one below. "x/" stands for a sub-package,
# whose modules may import each other in any acyclic way.
LAYERS = [
    "__init__",
    "errors",
    "counting",
    "versions",
    "patch/",
    "model",
    "source/",
    "results/",
    "pinsites",
    "until",
    "manifest",
    "inspection",
    "attest",
    "matrix",
    "proposal",
    "control",
    "carry/",
    "rules/",
    "render/",
    "process",
    "lint",
    "inplace",
    "store",
    "bake",
    "registry",
    "checkout/",
    "upstream/",
    "repository",
    "adopt/",
    "series/",
    "rebasing/",
    "weather/",
    "engines/",
    "nightly/",
    "inimage",
    "verbs/",
    "invocation",
    "commands/",
    "cli",
    "__main__",
]
ONLY_IMPORTERS = {
    "subprocess": {"process", "inimage"},
    "click": {"invocation", "commands/", "cli"},
    "git": {"checkout.directory"},
    "unidiff": {"patch.patchtext"},
}
ORCHESTRATORS = {"verbs.run", "verbs.nightly"}  # the only verbs that call other verbs


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def layer(module: str) -> int:
    head, _, rest = module.partition(".")
    name = f"{head}/" if rest or f"{head}/" in LAYERS else head
    return LAYERS.index(name)


def imported(path: Path) -> set[str]:
    """The full dotted names that a module imports, anywhere in its text."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            for alias in node.names:
                below = PACKAGE.parent / Path(*node.module.split("."), alias.name)
                is_module = below.with_suffix(".py").exists() or (below / "__init__.py").exists()
                names.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return names


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_module_imports_only_lower_layers(path: Path) -> None:
    own = dotted(path)
    for name in imported(path):
        if not name.startswith("patchkit."):
            continue
        target = name.removeprefix("patchkit.")
        assert own != "inimage", "inimage.py runs alone inside an image"
        assert layer(target) <= layer(own), f"{own} imports {target}, which is listed after it"
        if target.startswith("verbs.") and own.startswith("verbs."):
            assert own in ORCHESTRATORS, f"{own} imports another verb: {target}"


def test_every_listed_layer_exists() -> None:
    missing = [name for name in LAYERS if not ((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file())]
    assert missing == []


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_outside_tool_has_one_importer(path: Path) -> None:
    for name in imported(path):
        importers = ONLY_IMPORTERS.get(name.partition(".")[0])
        own = {dotted(path), dotted(path).partition(".")[0] + "/"}
        assert importers is None or own & importers, f"{dotted(path)} imports {name}"
