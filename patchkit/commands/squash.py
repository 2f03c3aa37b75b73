"""The command `squash`."""

import click

from patchkit.invocation import PIN, TOPIC, Command, access, root, show


@click.command(cls=Command)
@click.argument("pin", type=PIN)
@click.argument("topics", type=TOPIC, nargs=-1, metavar="[TOPIC ...]")
@click.option("--into", metavar="NAME", help="The name of the whole (the first topic's).")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def squash(pin: str, topics: tuple[str, ...], into: str | None, dry_run: bool) -> None:
    """Put several TOPICs of PIN together as one; all of them where none is named. Every file ends as before.

    \b
    patchkit squash v0.5.23 abort-guards timeouts --into pd
    """
    from patchkit.verbs.squash import squash_topics

    show(squash_topics(root(), pin, topics, access(), into=into, dry_run=dry_run))
