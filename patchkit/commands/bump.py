"""The command `bump`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from patchkit.invocation import Command, root, show


@click.command(cls=Command)
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d", "%Y%m%d"]), help="The day of the tag (today, UTC).")
@click.option("--published", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A list of more tags.")
@click.option("--registry", default="", metavar="REPOSITORY", help="Ask this registry too: registry.example.com/NAME.")
@click.option("--dry-run", is_flag=True, help="Tell the tag and write nothing.")
def bump(day: datetime | None, published: Path | None, registry: str, dry_run: bool) -> None:
    """Write the next nightly tag to version.txt and every declared pin site.

    It comes after every published one: version.txt, the git tags, --published (one a line) and --registry,
    which is asked with the login of docker or podman. More places that name it are declared in patches/sites.toml.

    \b
    patchkit bump
    patchkit bump --dry-run --published tags.txt
    patchkit bump --registry registry.example.com/team/sglang
    """
    from patchkit.repository import PublishedElsewhere
    from patchkit.verbs.bump import bump_version

    elsewhere = PublishedElsewhere(published, registry)
    today = day or datetime.now(UTC)
    show(bump_version(root(), today.date(), published=elsewhere, dry_run=dry_run))
