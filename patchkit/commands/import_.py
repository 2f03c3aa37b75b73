"""The command `import`."""

import re
from pathlib import Path

import click

from patchkit.errors import PatchkitError
from patchkit.invocation import Command, access, root, show


@click.command("import", cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="PATH ...", type=click.Path(exists=True, path_type=Path))
@click.option("--from-git", metavar="BASE..BRANCH", help="Adopt these commits of the repository PATH.")
@click.option("--pin", "version", metavar="VERSION", help="The release, where the patches do not say.")
@click.option(
    "--upstream",
    "base",
    metavar="CLONE|DIR",
    help="Where the patches' upstream is: a clone, whose commit is found, or a directory as it stands.",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--in-place", is_flag=True, help="Leave every patch where it is; the pins' folders lead there.")
@click.option("--split", "split_by", metavar="file|PLAN", default="", help="Take a single big patch apart.")
@click.option("--partial", is_flag=True, help="Leave out hunks that have no place; they are kept as TOPIC.rej.")
@click.option("--dry-run", is_flag=True, help="Report, and write nothing.")
def import_(
    paths: tuple[Path, ...],
    *,
    from_git: str | None,
    version: str | None,
    base: Path | None,
    in_place: bool,
    split_by: str,
    partial: bool,
    dry_run: bool,
) -> None:
    """Adopt an existing patch folder, and tell what is wrong with it.

    \b
    patchkit import docker/patch              a folder a version, with `latest`
    patchkit import --dry-run docker/patch    only the report
    patchkit import 000*.patch                a numbered series
    patchkit import --from-git v0.5.16..mine ../sglang
    patchkit import --upstream ../sglang docker/patch    written between releases
    """
    from patchkit.verbs.adopt import adopt_branch, adopt_folder
    from patchkit.versions import bare

    try:
        here = root()
    except PatchkitError:
        here = Path.cwd()
    is_commit = base is not None and version is not None and re.fullmatch(r"[0-9a-f]{7,40}", version) is not None
    bare_version = version if is_commit or version is None else bare(version)
    if from_git is not None:
        if len(paths) > 1 or in_place or partial or base is not None:
            raise click.UsageError("--from-git takes one repository, and no --in-place, --upstream or --partial")
        show(adopt_branch(paths[0], from_git, here, access(), version=bare_version, dry_run=dry_run))
    if partial and in_place:
        raise click.UsageError("--partial writes other patches than the project has, so it cannot go with --in-place")
    if split_by not in ("", "file") and not Path(split_by).is_file():
        raise click.UsageError(f"--split is `file` or the path of a plan: {split_by}")
    show(
        adopt_folder(
            paths,
            here,
            access(),
            version=bare_version,
            base=base,
            dry_run=dry_run,
            in_place=in_place,
            split_by=split_by,
            partial=partial,
        )
    )
