"""The command `ledger`."""

import click

from patchkit.invocation import Command, root, show


@click.command(cls=Command)
@click.option("--drop", metavar="NAME", default=None, help="Remove one record.")
def ledger(drop: str | None) -> None:
    """List what was decided at rebases: conflicts settled, doubts accepted; or remove one.

    \b
    patchkit ledger                   what was decided, by whom and when
    patchkit ledger --drop 3f2a       be asked again at the next rebase
    """
    from patchkit.verbs.ledger import show_ledger

    show(show_ledger(root(), drop=drop))
