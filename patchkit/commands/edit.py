"""The command `edit`."""

import click

from patchkit.invocation import PIN, TOPIC, Command, access, root, show


@click.command(cls=Command)
@click.argument("pin", type=PIN, required=False)
@click.argument("topic_name", type=TOPIC, required=False, metavar="[TOPIC]")
@click.option("--fresh", is_flag=True, help="Put an edit that is open aside, and begin anew.")
@click.option("--close", is_flag=True, help="Remove the worktree, if the series has all of it.")
def edit(pin: str | None, topic_name: str | None, fresh: bool, close: bool) -> None:
    """Open a worktree at PIN with one commit a topic, to be changed with any git tool.

    \b
    patchkit edit v0.5.16              all topics, the last on top
    patchkit edit v0.5.16 timeouts     stop at one topic
    patchkit refresh v0.5.16           take over what was committed
    """
    from patchkit.verbs.edit import close_edit, edit_pin

    show(close_edit(root(), pin) if close else edit_pin(root(), pin, access(), topic=topic_name, fresh=fresh))
