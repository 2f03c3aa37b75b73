"""The command `weather`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from patchkit.invocation import PIN, TOPIC, Command, access, root, show


@click.command(cls=Command)
@click.option("--topic", "topics", type=TOPIC, multiple=True, metavar="T", help="This topic alone; may be repeated.")
@click.option("--pin", type=PIN, default="", metavar="P", help="Take the topics as this pin has them.")
@click.option("--from", "low", default="", metavar="V", help="The first release (that of the oldest pin).")
@click.option("--to", "high", default="", metavar="V", help="The last release (the newest there is).")
@click.option(
    "--git",
    "clone",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A clone of sglang: names the commit behind each change.",
)
@click.option("--range", "span", default="", metavar="A..B", help="With --git: its commits instead of releases.")
@click.option("--markdown", is_flag=True, help="As Markdown tables.")
def weather(markdown: bool, topics: tuple[str, ...], **wish: Any) -> None:
    """Tell what would become of each topic along upstream's releases, or commits, and since when.

    \b
    patchkit weather
    patchkit weather --topic timeouts --from v0.5.10
    patchkit weather --git ~/sglang --range v0.5.23..origin/main

    A topic is taken from the newest pin that is not newer than the first release looked at, else from the
    oldest pin that has it.
    """
    from patchkit.verbs.weather import WeatherWish, map_weather

    result = map_weather(root(), access(), WeatherWish(topics, **wish), datetime.now(UTC))
    if markdown:
        from patchkit.render.weather import markdown as as_markdown

        click.echo(as_markdown(result))
        return
    show(result)
