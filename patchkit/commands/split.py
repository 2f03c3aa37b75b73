"""The command `split`."""

from pathlib import Path

import click

from patchkit.invocation import PIN, TOPIC, Command, access, root, show


@click.command(cls=Command)
@click.argument("pin", type=PIN)
@click.argument("topic", type=TOPIC)
@click.option("--plan", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Which hunk goes where.")
@click.option("--write-plan", is_flag=True, help="Print a plan to edit: one line a hunk; change nothing.")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def split(pin: str, topic: str, plan: Path | None, write_plan: bool, dry_run: bool) -> None:
    """Take TOPIC of PIN apart, by file or by a plan. Every file ends as before.

    \b
    patchkit split v0.5.16 downstream --write-plan > plan.txt
    patchkit split v0.5.16 downstream --plan plan.txt
    """
    from patchkit.verbs.split import split_topic, tell_plan

    if write_plan:
        show(tell_plan(root(), pin, topic, access()))
    show(split_topic(root(), pin, topic, access(), plan=plan, dry_run=dry_run))
