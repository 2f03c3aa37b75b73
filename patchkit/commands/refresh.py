"""The command `refresh`."""

from pathlib import Path

import click

from patchkit.invocation import PIN, Command, access, root, show


@click.command(cls=Command)
@click.argument("pin", type=PIN, required=False)
@click.option("--check", is_flag=True, help="Write nothing; end with 4 when a file is not current.")
@click.option("--canonical", is_flag=True, help="Write every patch anew: full ids, present line numbers.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Write what should be there here.")
def refresh(pin: str | None, check: bool, canonical: bool, output: Path | None) -> None:
    """Take the open edit of PIN over, and write its generated files again: sglang.patch and manifest.json.

    \b
    patchkit refresh                   the newest pin
    patchkit refresh v0.5.16 --check   for CI
    """
    from patchkit.verbs.refresh import refresh_pin

    show(refresh_pin(root(), pin, access(), check=check, canonical_text=canonical, output=output))
