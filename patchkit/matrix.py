"""The work on many pins, variants and platforms, split into cells, as documents for engines that run them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from patchkit.errors import ConfigError
from patchkit.model import Manifest, Pin

CPU = "cpu"
PLAIN = "default"  # the variant whose base has no suffix
RUNNERS = {"linux/amd64": "ubuntu-24.04", "linux/arm64": "ubuntu-24.04-arm"}
GITHUB_MOST = 256  # cells of one matrix, by GitHub's documented limit; more are refused only when the workflow runs
_CHECKOUT = {"uses": "actions/checkout@v4"}
_PYTHON = {"uses": "actions/setup-python@v5", "with": {"python-version": "3.12"}}


@dataclass(frozen=True, slots=True)
class Cell:
    """One image to verify, build and smoke. variant: as the base's tag ends, "default" for none, or "cpu"."""

    pin: str
    variant: str
    base: str
    platform: str

    @property
    def name(self) -> str:
        """Return a name that every engine takes: letters, digits and dashes."""
        return "-".join([self.pin.replace(".", "-"), self.variant, self.platform.rpartition("/")[2]])

    @property
    def suffix(self) -> str:
        """Return how the image's tag ends."""
        return "" if self.variant == PLAIN else f"-{self.variant}"


def plan_cells(
    pins: Sequence[Pin], *, variants: Sequence[str] = (), platforms: Sequence[str] = ("linux/amd64",)
) -> tuple[Cell, ...]:
    """Return the cells of the pins. variants: only these, and "cpu"; every base image of the pins where none is named.

    Raises: ConfigError for a variant that no pin has.
    """
    bases = {pin.name: {**{_variant(pin, image): image for image in pin.base_images}, CPU: CPU} for pin in pins}
    known = {variant for found in bases.values() for variant in found}
    if unknown := [variant for variant in variants if variant not in known]:
        raise ConfigError(f"no pin has a variant {unknown[0]}", found=f"variants: {', '.join(sorted(known))}")
    return tuple(
        Cell(pin.name, variant, base, platform)
        for pin in pins
        for variant, base in bases[pin.name].items()
        for platform in platforms
        if (variant in variants if variants else variant != CPU or len(bases[pin.name]) == 1)
    )


def _variant(pin: Pin, image: str) -> str:
    tag = image.rpartition(":")[2]
    return tag.removeprefix(pin.name).removeprefix("-") or PLAIN


@dataclass(frozen=True, slots=True)
class Shop:
    """Where the work is done. install: the command that installs patchkit. version_file: relative to the checkout."""

    install: str
    version_file: str = "version.txt"

    def commands(self) -> list[str]:
        """Return what a cell runs, with the cell in $PIN, $BASE and $SUFFIX."""
        image = f'"patchkit/sglang:$(cat {self.version_file})-$PIN$SUFFIX"'
        return [
            self.install,
            'patchkit verify "$PIN"',
            f'patchkit build "$PIN" --base "$BASE" --tag {image}',
            f'patchkit smoke "$PIN" --image {image} --control --junit smoke.xml',
        ]


def github_workflow(cells: Sequence[Cell], shop: Shop) -> dict[str, Any]:
    """Return a GitHub Actions workflow.

    Raises: ConfigError for more cells than GitHub takes.
    """
    if len(cells) > GITHUB_MOST:
        raise ConfigError(
            f"GitHub takes at most {GITHUB_MOST} cells in one matrix",
            found=f"{len(cells)} cells",
            hint="name fewer pins, or one variant at a time: patchkit matrix --all --variant default",
        )
    include = [
        {"name": c.name, "pin": c.pin, "suffix": c.suffix, "base": c.base, "runner": RUNNERS[c.platform]} for c in cells
    ]
    image: dict[str, Any] = {
        "name": "${{ matrix.name }}",
        "runs-on": "${{ matrix.runner }}",
        "timeout-minutes": 120,
        "strategy": {"fail-fast": False, "matrix": {"include": include}},
        "env": {name.upper(): f"${{{{ matrix.{name} }}}}" for name in ("pin", "base", "suffix")},
        "steps": [
            _CHECKOUT,
            _PYTHON,
            *({"run": command} for command in shop.commands()),
            {
                "name": "keep the results",
                "if": "always()",
                "uses": "actions/upload-artifact@v4",
                "with": {"name": "${{ matrix.name }}", "path": "smoke.xml", "if-no-files-found": "ignore"},
            },
        ],
    }
    return {
        "name": "images",
        "on": {"workflow_dispatch": {}, "workflow_call": {}},
        "permissions": {"contents": "read"},
        "jobs": {"image": image},
    }


def gitlab_pipeline(cells: Sequence[Cell], shop: Shop) -> dict[str, Any]:
    """Return a GitLab CI pipeline; the runner's tags choose the platform."""
    matrix = [{"PIN": c.pin, "SUFFIX": c.suffix, "BASE": c.base, "RUNNER": c.platform.replace("/", "-")} for c in cells]
    job = {
        "stage": "images",
        "parallel": {"matrix": matrix},
        "tags": ["$RUNNER"],
        "timeout": "2h",
        "script": shop.commands(),
        "artifacts": {"when": "always", "paths": ["smoke.xml"], "reports": {"junit": "smoke.xml"}},
    }
    return {"stages": ["images"], "series": job}


def bake_file(
    cells: Sequence[Cell], pins: Mapping[str, tuple[Pin, Manifest]], tag: str, latest: str, contexts: str
) -> dict[str, Any]:
    """Return a Docker Buildx Bake file: a target for each base image, its platforms in one. No CPU stand-in.

    contexts: the folder, below which each pin has its build context. latest: the pin of the default group.
    """
    targets: dict[str, dict[str, Any]] = {}
    groups: dict[str, list[str]] = {}
    for cell in cells:
        if cell.variant == CPU:
            continue
        group = cell.pin.replace(".", "-")
        name = f"{group}-{cell.variant}"
        if name not in targets:
            targets[name] = _target(cell, *pins[cell.pin], contexts)
            groups.setdefault(group, []).append(name)
        targets[name]["platforms"].append(cell.platform)
    default = groups.get(latest.replace(".", "-"), list(targets))
    return {
        "variable": {"TAG": {"default": tag}, "IMAGE": {"default": "patchkit/sglang"}},
        "group": {name: {"targets": found} for name, found in {"default": default, **groups}.items()},
        "target": targets,
    }


def _target(cell: Cell, pin: Pin, manifest: Manifest, contexts: str) -> dict[str, Any]:
    labels = {
        "io.patchkit.pin": pin.name,
        "io.patchkit.upstream.commit": pin.commit,
        "io.patchkit.series.sha256": manifest.sha256,
        "io.patchkit.topics": ",".join(manifest.topics),
        "io.patchkit.base": cell.base,
        "org.opencontainers.image.version": "${TAG}",
        "org.opencontainers.image.base.name": cell.base,
    }
    return {
        "context": f"{contexts}/{cell.pin}",
        "args": {"BASE_IMAGE": cell.base},
        "tags": [f"${{IMAGE}}:${{TAG}}-{cell.pin}{cell.suffix}"],
        "labels": {name: value for name, value in labels.items() if value},
        "platforms": [],
    }
