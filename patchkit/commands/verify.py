"""The command `verify`."""

from pathlib import Path

import click

from patchkit.invocation import PIN, Command, access, root, settings, show, store_or_none

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")


@click.command(cls=Command)
@click.argument("subjects", type=PIN, nargs=-1, metavar="[PIN|FILE.patch ...]")
@click.option("--all", "every", is_flag=True, help="Verify every pin of the store.")
@click.option("--patch", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Verify this file instead.")
@click.option("--upstream", metavar="VERSION|DIR", help="The upstream that the patch file is written for.")
@click.option("--checkout", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Prove this tree too.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Of stdout.")
@click.option("--write", "files", metavar="FORMAT=FILE", multiple=True, help="Write the result to FILE too.")
def verify(
    *,
    subjects: tuple[str, ...],
    every: bool,
    patch: Path | None,
    upstream: str | None,
    checkout: Path | None,
    form: str,
    files: tuple[str, ...],
) -> None:
    """Prove that each series is right, not only that it applies. Changes nothing.

    \b
    patchkit verify                    the newest pin
    patchkit verify --all              every pin
    patchkit verify fix.patch          the text of a patch file alone
    patchkit verify --patch fix.patch --upstream 0.5.16
    patchkit verify v0.5.16 --checkout /src/sglang
    patchkit verify --format github --write sarif=verify.sarif
    """
    from patchkit.render import render_as
    from patchkit.store import pin_names
    from patchkit.verbs.verify import verify_checkout, verify_patch, verify_pins, verify_text

    patches = [Path(each) for each in subjects if each.endswith((".patch", ".diff"))]
    pins = [each for each in subjects if not each.endswith((".patch", ".diff"))]
    if checkout is not None and (every or patch or patches or len(pins) > 1):
        raise click.UsageError("--checkout is for one pin")
    if patch is not None and (upstream is None or subjects or every):
        raise click.UsageError("--patch needs --upstream, and stands alone")
    if patches and (pins or every or upstream is not None):
        raise click.UsageError("patch files stand alone; with --upstream: --patch FILE")
    outputs = [_output(each) for each in files]
    if patch is not None and upstream is not None:
        result = verify_patch(patch, upstream, access(), store_or_none())
    elif patches:
        result = verify_text(patches)
    elif checkout is not None:
        result = verify_checkout(root(), pins[0] if pins else None, checkout, access())
    else:
        result = verify_pins(root(), pin_names(root()) if every else pins, access())
    for name, path in outputs:
        path.write_text(render_as(result, name) + "\n", "utf-8")
    if form == "text" or settings().json:
        show(result)
    click.echo(render_as(result, form))
    click.get_current_context().exit(result.exit_code)


def _output(value: str) -> tuple[str, Path]:
    """Read FORMAT=FILE."""
    name, equals, file = value.partition("=")
    if name not in FORMATS or not equals or not file:
        raise click.BadParameter(f"{value} is not FORMAT=FILE; formats: {', '.join(FORMATS)}", param_hint="--write")
    return name, Path(file)
