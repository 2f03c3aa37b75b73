"""The command `identify`."""

from pathlib import Path

import click

from patchkit.invocation import Command, access, root, show


@click.command(cls=Command)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
def identify(path: Path) -> None:
    """Tell which upstream release a patch file, a checkout or an installed package belongs to.

    By blob ids, not by names: the index lines of a patch say what it was written for. Below a store, also whether
    its series for that release is in the tree, and which topics.

    \b
    patchkit identify docker/patch/sglang.patch
    patchkit identify /usr/lib/python3/site-packages
    """
    from patchkit.errors import ConfigError
    from patchkit.verbs.identify import identify as identify_path

    try:
        store = root()
    except ConfigError:
        store = None
    show(identify_path(path, access(), store))
