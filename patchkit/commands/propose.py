"""The command `propose`."""

from pathlib import Path

import click

from patchkit.invocation import PIN, TOPIC, Command, access, root, show


@click.command(cls=Command)
@click.argument("topic_name", type=TOPIC, metavar="TOPIC")
@click.option("--pin", type=PIN, help="The pin that the branch is on (the newest that carries the topic).")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Where (.patchkit/propose/TOPIC).")
@click.option(
    "--repository", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A clone of upstream."
)
def propose(topic_name: str, pin: str | None, output: Path | None, repository: Path | None) -> None:
    """Write the branch and the text of an upstream pull request for TOPIC. Sends nothing.

    \b
    patchkit propose timeouts --repository ../sglang
    """
    from patchkit.verbs.propose import propose_topic

    show(propose_topic(root(), topic_name, access(), pin=pin, output=output, repository=repository))
