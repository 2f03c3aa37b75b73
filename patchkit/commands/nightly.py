"""The command `nightly`."""

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from patchkit.invocation import ENGINES, Command, access, root, show


@click.command(cls=Command)
@click.option("--onto", default="newest", metavar="newest|P", help="The release to carry to (newest).")
@click.option("--engine", type=ENGINES, default="auto", help="As in `build`.")
@click.option("--base", default="", metavar="IMAGE|cpu", help="As in `build`.")
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d", "%Y%m%d"]), help="The day of the tag (today, UTC).")
@click.option("--published", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="As in `bump`.")
@click.option("--registry", default="", metavar="REPOSITORY", help="As in `bump`.")
@click.option("--upstream", default="", metavar="REPOSITORY", help="A git repository: its tags are the releases.")
@click.option("--accept-suspects", is_flag=True, help="As in `rebase`: the pull request lists them.")
@click.option("--push", default="", metavar="REMOTE", help="Push the branch and the tag at the end.")
@click.option("--hook", default="", metavar="CMD", help="Run this at the end; the report is on its stdin.")
@click.option("--resume", is_flag=True, help="Go on with the night that failed or was killed.")
@click.option("--dry-run", is_flag=True, help="Tell what would be done and write nothing.")
def nightly(
    *, onto: str, engine: str, base: str, day: datetime | None, published: Path | None, push: str, hook: str,
    registry: str, upstream: str, accept_suspects: bool, resume: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Carry to the newest release, verify, bump, build, smoke and publish, in order.

    The work is done in a scratch repository below out/. What is published is one commit and one tag on the
    branch nightly/TAG; your branch and files stay as they are. A failure leaves only its report in
    out/nightly-TAG/. GitHub's $GITHUB_OUTPUT and $GITHUB_STEP_SUMMARY are written where they are set.

    \b
    patchkit nightly --dry-run               what would be done
    patchkit nightly                         do it
    patchkit nightly --resume                go on after a failure or a crash
    """
    from patchkit.nightly.report import Surroundings
    from patchkit.verbs.nightly import Wish, run_nightly

    now = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.now(UTC).timestamp()), UTC)
    names = os.environ.get("GIT_AUTHOR_NAME", ""), os.environ.get("GIT_AUTHOR_EMAIL", "")
    wish = Wish(
        day=(day or now).date(), when=int(now.timestamp()), author=names if all(names) else None, onto=onto,
        engine=engine, base=base, push=push, listed=published, dry_run=dry_run, resume=resume,
        registry=registry, upstream=upstream, accept_suspects=accept_suspects,
    )  # fmt: skip
    show(run_nightly(root(), access(), wish, Surroundings(_file("GITHUB_OUTPUT"), _file("GITHUB_STEP_SUMMARY"), hook)))


def _file(variable: str) -> Path | None:
    """Return the file that the CI system names in a variable of the environment."""
    return Path(os.environ[variable]) if os.environ.get(variable) else None
