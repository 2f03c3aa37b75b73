"""The command `ledger`."""

import click

from patchkit.invocation import Command, root, show


@click.command(cls=Command)
@click.option("--drop", metavar="NAME", default=None, help="Remove one recorded resolution.")
def ledger(drop: str | None) -> None:
    """List the recorded resolutions of conflicts, or remove one.

    \b
    patchkit ledger                   what was settled, when and where
    patchkit ledger --drop 3f2a       settle it anew at the next rebase
    """
    from patchkit.verbs.ledger import show_ledger

    show(show_ledger(root(), drop=drop))
