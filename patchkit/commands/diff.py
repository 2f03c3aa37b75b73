"""The command `diff`."""

from pathlib import Path

import click

from patchkit.invocation import Command, root, show


@click.command(cls=Command)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option("--markdown", is_flag=True, help="As a Markdown table.")
def diff(old: str, new: str, markdown: bool) -> None:
    """Tell what changed between two pins, or two patch files, hunk by hunk, and why.

    \b
    patchkit diff v0.5.20 v0.5.23
    patchkit diff old.patch new.patch --markdown
    """
    from patchkit.verbs.diff import diff_series

    files = Path(old).is_file() and Path(new).is_file()
    result = diff_series(None if files else root(), old, new)
    if markdown:
        from patchkit.render.diff import markdown as as_markdown

        click.echo(as_markdown(result))
        return
    show(result)
