"""The command `apply`."""

import click

from patchkit.invocation import PIN, TOPIC, Command, access, root, show

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)


def _name_dry_run(_context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    """Answer those who know git's word for it."""
    if asked:
        raise click.UsageError("there is no --check: --dry-run tells what would change, and writes nothing")


@click.command(cls=Command)
@click.argument("checkout", type=click.Path(exists=True, file_okay=False))
@click.option("--pin", metavar="P", type=PIN, help="The pin whose series is applied (default: the latest).")
@click.option("--topic", "topics", type=TOPIC, multiple=True, metavar="T", help="Only this topic; may be given again.")
@click.option("--patch", type=FILE, help="This file, not a series; - reads it from stdin.")
@click.option("--reverse", is_flag=True, help="Take it out again: every byte and mode as before.")
@click.option("--check", is_flag=True, hidden=True, expose_value=False, callback=_name_dry_run)
@click.option("--dry-run", is_flag=True, help="Tell what would change and write nothing.")
def apply(
    checkout: str, *, pin: str | None, topics: tuple[str, ...], patch: str | None, reverse: bool, dry_run: bool
) -> None:
    """Write a series, or one patch file, into CHECKOUT.

    CHECKOUT is a git checkout, an unpacked wheel, a site-packages folder or the sglang package itself. All of it
    is written or nothing; what is there already is not written twice. Killed at any instant, the next call ends it.

    \b
    patchkit apply /src/sglang                   the newest series
    patchkit apply /src/sglang --reverse         take it out again, every byte
    patchkit apply . --patch x.patch --dry-run   what one patch file would do
    git diff A B | patchkit apply . --patch -    a patch that is no file
    """
    from patchkit.verbs.apply import Wish, apply_patch, apply_series

    if patch and (pin or topics):
        raise click.UsageError("--patch takes a file instead of a series: leave --pin and --topic out")
    wish = Wish(reverse=reverse, topics=topics, dry_run=dry_run)
    show(apply_patch(checkout, patch, wish) if patch else apply_series(checkout, root(), pin, wish, access))
