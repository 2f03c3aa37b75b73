"""The command `doctor`."""

import click

from patchkit.invocation import Command, access, show


@click.command(cls=Command)
def doctor() -> None:
    """Tell what is missing here, and the line that mends it.

    \b
    patchkit doctor            ask the package index too
    patchkit doctor --offline  look at this machine alone
    """
    from patchkit.verbs.doctor import examine

    show(examine(access()))
