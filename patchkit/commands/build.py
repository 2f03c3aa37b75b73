"""The command `build`."""

import click

from patchkit.invocation import ENGINES, PIN, Command, access, root, show


@click.command(cls=Command)
@click.argument("pins", type=PIN, metavar="[PIN ...]", nargs=-1)
@click.option("--engine", type=ENGINES, default="auto", help="auto: $PATCHKIT_ENGINE, else podman, docker, venv.")
@click.option("--base", default="", metavar="IMAGE|cpu", help="An image with the pin's sglang, or a CPU stand-in.")
@click.option("--tag", default="", help="Name the image so.")
@click.option("--push", is_flag=True, help="Send it to the registry of --tag; record the digest in images.json.")
@click.option("--no-cache", is_flag=True, help="Build every layer again.")
def build(*, pins: tuple[str, ...], engine: str, base: str, tag: str, push: bool, no_cache: bool) -> None:
    """Build the image of each PIN on a proven base.

    \b
    patchkit build                                           the newest pin
    patchkit build --base lmsysorg/sglang:v0.5.12.post1      on upstream's image
    patchkit build --base cpu --engine podman                no GPU, no registry
    """
    from patchkit.verbs.build import BuildOptions, build_images

    options = BuildOptions(base=base, tag=tag, push=push, use_cache=not no_cache)
    show(build_images(root(), pins, access(), engine=engine, options=options))
