"""The command `status`."""

from datetime import UTC, datetime

import click

from patchkit.invocation import TOPIC, Command, access, root, show


@click.command(cls=Command)
@click.option("--topic", type=TOPIC, help="Tell all about one topic.")
@click.option("--markdown", is_flag=True, help="Print the page of all topics, docs/topics.md.")
def status(topic: str | None, markdown: bool) -> None:
    """Show pins, topics, what is stale, and the next step.

    \b
    patchkit status
    patchkit status --topic timeouts   all about one topic
    """
    from patchkit.verbs.status import tell_status, tell_topics

    if markdown:
        from patchkit.render import topics_page

        pins, topics = tell_topics(root())
        click.echo(topics_page.markdown(topics, pins), nl=False)
        return
    show(tell_status(root(), access(), today=datetime.now(UTC).date(), topic=topic))
