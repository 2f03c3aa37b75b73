"""The command `inspect`."""

from pathlib import Path

import click

from patchkit.invocation import ENGINES, Command, access, root, show


@click.command(cls=Command)
@click.argument("target", metavar="IMAGE|DIR")
@click.option("--engine", type=ENGINES, default="auto", help="As in `build`.")
@click.option("--cyclonedx", type=click.Path(dir_okay=False, path_type=Path), help="Write a CycloneDX 1.6 document.")
@click.option("--provenance", type=click.Path(dir_okay=False, path_type=Path), help="Write an in-toto statement.")
def inspect(target: str, engine: str, cyclonedx: Path | None, provenance: Path | None) -> None:
    """Ask an image, or a directory, what it carries and whether it is unmodified.

    Its files count, not its labels: those are held against what is there. Ends with 4 when a file or a label
    is not as it must be, with 2 when there is no series of ours.

    \b
    patchkit inspect patchkit/sglang:nightly-dev-20260810a-v0.5.16
    patchkit inspect /sgl-workspace/sglang
    patchkit inspect IMAGE --cyclonedx sbom.json --provenance statement.json
    """
    from patchkit.errors import ConfigError
    from patchkit.verbs.inspect import Documents, inspect_target

    try:
        store = root()
    except ConfigError:
        store = None
    show(inspect_target(store, target, access(), engine=engine, documents=Documents(cyclonedx, provenance)))
