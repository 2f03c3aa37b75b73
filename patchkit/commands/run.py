"""The command `run`."""

from pathlib import Path

import click

from patchkit.invocation import ENGINES, PIN, Command, access, root, show


@click.command(cls=Command)
@click.argument("pins", type=PIN, nargs=-1, metavar="[PIN] ...")
@click.option("--all", "every", is_flag=True, help="Every pin of the store.")
@click.option("--engine", type=ENGINES, default="auto", help="auto: $PATCHKIT_ENGINE, else podman, docker, venv.")
@click.option("--evidence", type=click.Path(file_okay=False, path_type=Path), help="Keep each step's document here.")
def run(pins: tuple[str, ...], every: bool, engine: str, evidence: Path | None) -> None:
    """Do the main job for each PIN: apply, verify, build, smoke --control.

    \b
    patchkit run                        the newest pin, with the engine here
    patchkit run v0.5.16 --engine podman
    patchkit run --all --evidence out   every pin; report --evidence out shows it
    """
    from patchkit.store import pin_names
    from patchkit.verbs.run import run_main_job

    names = pin_names(root()) if every else pins
    show(run_main_job(root(), names, access(), engine=engine, evidence=evidence))
