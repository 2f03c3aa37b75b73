"""The command `topic`."""

import click

from patchkit.invocation import PIN, TOPIC, Group, access, root, show


@click.group(cls=Group)
def topic() -> None:
    """Begin, rename, reorder, drop and fold topics of a series.

    \b
    patchkit topic new v0.5.23 retries
    patchkit topic rename retries retry-limits
    patchkit topic reorder v0.5.23 timeouts abort-guards prefetch-release
    patchkit topic drop v0.5.23 abort-guards --dry-run
    patchkit topic fold v0.5.23 abort-guards --into timeouts
    """


@topic.command()
@click.argument("pin", type=PIN)
@click.argument("name")
def new(pin: str, name: str) -> None:
    """Begin the topic NAME: an empty commit on top of the edit of PIN, to be filled and amended."""
    from patchkit.verbs.edit import begin_topic

    show(begin_topic(root(), pin, name, access()))


@topic.command()
@click.argument("former")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def rename(former: str, name: str, dry_run: bool) -> None:
    """Call the topic FORMER by NAME, at every pin."""
    from patchkit.verbs.topic import rename_topic

    show(rename_topic(root(), former, name, dry_run=dry_run))


@topic.command()
@click.argument("pin", type=PIN)
@click.argument("topics", type=TOPIC, nargs=-1, required=True, metavar="TOPIC ...")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def reorder(pin: str, topics: tuple[str, ...], dry_run: bool) -> None:
    """Put the series of PIN into this order. Every file ends as before, or nothing is changed."""
    from patchkit.verbs.topic import reorder_topics

    show(reorder_topics(root(), pin, topics, access(), dry_run=dry_run))


@topic.command()
@click.argument("pin", type=PIN)
@click.argument("topic_name", type=TOPIC, metavar="TOPIC")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def drop(pin: str, topic_name: str, dry_run: bool) -> None:
    """Take TOPIC out of the series of PIN; those behind it are written anew without it."""
    from patchkit.verbs.topic import drop_topic

    show(drop_topic(root(), pin, topic_name, access(), dry_run=dry_run))


@topic.command()
@click.argument("pin", type=PIN)
@click.argument("topic_name", type=TOPIC, metavar="TOPIC")
@click.option("--into", required=True, metavar="TOPIC", help="The topic that takes it up.")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def fold(pin: str, topic_name: str, into: str, dry_run: bool) -> None:
    """Fold TOPIC of PIN into another one. Every file ends as before."""
    from patchkit.verbs.squash import squash_topics

    show(squash_topics(root(), pin, (into, topic_name), access(), into=into, dry_run=dry_run))
