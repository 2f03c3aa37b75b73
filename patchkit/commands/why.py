"""The command `why`."""

import click

from patchkit.invocation import PIN, Command, access, root, show


@click.command(cls=Command)
@click.argument("place", metavar="PATH[:LINE]")
@click.option("--pin", type=PIN, help="The pin (the newest).")
def why(place: str, pin: str | None) -> None:
    """Tell which topic, hunk and upstream reference a line of the patched source comes from.

    \b
    patchkit why srt/managers/scheduler.py:5955
    patchkit why srt/managers/scheduler.py      every hunk of the file
    """
    from patchkit.verbs.why import tell_why

    show(tell_why(root(), place, access(), pin=pin))
