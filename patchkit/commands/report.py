"""The command `report`."""

from pathlib import Path

import click

from patchkit.invocation import Command, access, root, show


@click.command(cls=Command)
@click.option(
    "--evidence", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Documents of the verbs."
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write one static page here.")
@click.option(
    "--matrix", type=click.Path(dir_okay=False, path_type=Path), help="Write the table pin x smoke test here."
)
def report(evidence: Path | None, html: Path | None, matrix: Path | None) -> None:
    """Put what the store holds and what the verbs have shown on one page.

    \b
    patchkit run --all --evidence out
    patchkit report --evidence out --html out/report.html
    """
    from patchkit.render import report as pages
    from patchkit.store import replace_file
    from patchkit.verbs.report import make_report

    result = make_report(root(), evidence, access().objects if html else None)
    if html is not None:
        replace_file(html, pages.html(result).encode())
    if matrix is not None:
        replace_file(matrix, pages.matrix(result).encode())
    show(result)
