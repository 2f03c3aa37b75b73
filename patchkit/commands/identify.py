"""The command `identify`."""

from pathlib import Path

import click

from patchkit.invocation import Command, access, show


@click.command(cls=Command)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
def identify(path: Path) -> None:
    """Tell which upstream release a patch file, a checkout or an installed package belongs to.

    By blob ids, not by names: the index lines of a patch say what it was written for.

    \b
    patchkit identify docker/patch/sglang.patch
    patchkit identify /usr/lib/python3/site-packages
    """
    from patchkit.verbs.identify import identify as identify_path

    show(identify_path(path, access()))
