"""The command `bump`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from patchkit.invocation import Command, root, show


@click.command(cls=Command)
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d", "%Y%m%d"]), help="The day of the tag (today, UTC).")
@click.option("--published", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A list of more tags.")
@click.option("--dry-run", is_flag=True, help="Tell the tag and write nothing.")
def bump(day: datetime | None, published: Path | None, dry_run: bool) -> None:
    """Write the next nightly tag to version.txt and every declared pin site.

    It comes after every published one: version.txt, the git tags, and --published (one a line, as a
    registry lists them). More places that name it are declared in patches/sites.toml.

    \b
    patchkit bump
    patchkit bump --dry-run --published tags.txt
    """
    from patchkit.verbs.bump import bump_version

    today = day or datetime.now(UTC)
    show(bump_version(root(), today.date(), published=published, dry_run=dry_run))
