"""The command `smoke`."""

from pathlib import Path

import click

from patchkit.invocation import ENGINES, PIN, TOPIC, Command, access, root, show


@click.command(cls=Command)
@click.argument("pin", type=PIN, required=False)
@click.option("--engine", type=ENGINES, default="auto", help="auto: $PATCHKIT_ENGINE, else podman, docker, venv.")
@click.option("--image", default="", help="Instead of the image that `build` made.")
@click.option("--control", is_flag=True, help="Run without the series too: each fault must fail there.")
@click.option("--topic", type=TOPIC, default="", help="Only this topic's tests.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write the verdicts here.")
@click.option("--fresh", is_flag=True, help="Run the control again although its result is known.")
@click.option("--keep", is_flag=True, help="Leave the containers for a look inside.")
def smoke(
    *, pin: str | None, engine: str, image: str, control: bool, topic: str, junit: Path | None, fresh: bool, keep: bool
) -> None:  # fmt: skip
    """Run the topics' smoke tests in the image of PIN.

    \b
    patchkit smoke --control                 prove that each test needs the series
    patchkit smoke v0.5.16 --topic timeouts  one topic
    """
    from patchkit.verbs.smoke import run_smoke

    show(
        run_smoke(
            root(),
            pin,
            access(),
            engine=engine,
            image=image,
            topic=topic,
            junit=junit,
            control=control,
            fresh=fresh,
            keep=keep,
        )
    )
