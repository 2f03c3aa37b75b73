"""The command `matrix`."""

from pathlib import Path

import click

from patchkit.invocation import PIN, Command, root, show

_PLATFORMS = ("linux/amd64", "linux/arm64")


@click.command(cls=Command)
@click.argument("pins", type=PIN, metavar="[PIN ...]", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every pin of the store.")
@click.option("--format", "kind", type=click.Choice(["github", "gitlab", "bake"]), required=True, help="For whom.")
@click.option("--variant", "variants", multiple=True, metavar="V", help="default, cu129, ..., cpu (every base image).")
@click.option("--platform", "platforms", multiple=True, type=click.Choice(_PLATFORMS), help="linux/amd64.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it there.")
@click.option("--contexts", type=click.Path(file_okay=False, path_type=Path), help="Write bake's contexts below it.")
def matrix(
    *, pins: tuple[str, ...], every: bool, kind: str, variants: tuple[str, ...], platforms: tuple[str, ...],
    output: Path | None, contexts: Path | None,
) -> None:  # fmt: skip
    """Split verify, build and smoke for an engine that runs many cells.

    \b
    patchkit matrix --format github --output .github/workflows/images.yml
    patchkit matrix v0.5.16 v0.5.23 --format gitlab --variant cu129
    patchkit matrix --all --format bake --output docker/docker-bake.json
    patchkit matrix --format bake --output bake.json --contexts out/contexts
    """
    from patchkit.model import MatrixFormat
    from patchkit.store import pin_names
    from patchkit.verbs.matrix import Choice, split_work

    choice = Choice(pin_names(root()) if every else pins, variants, platforms or _PLATFORMS[:1])
    show(split_work(root(), choice, MatrixFormat(kind), output=output, contexts=contexts))
