"""The only importer of click: parse, call one verb, render, exit code."""

import click

from patchkit import __version__


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Keep a versioned sglang.patch alive across upstream releases."""
