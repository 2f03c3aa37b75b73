"""The command `rebase`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from patchkit.invocation import Command, access, root, show

if TYPE_CHECKING:
    from patchkit.results.rebase import Rebase


@click.command(cls=Command)
@click.option("--onto", metavar="PIN", default=None, help="The release to carry to; with --patch also a directory.")
@click.option("--from", "source", metavar="PIN", default=None, help="The pin to carry from (the latest).")
@click.option("--through", is_flag=True, help="Step through the releases between.")
@click.option("--accept-suspects", is_flag=True, help="Do not stop for suspect hunks; a proposal always stops.")
@click.option("--resolver", metavar="CMD", default="", help="A program that may propose the text of a conflict.")
@click.option("--upstream", metavar="REPOSITORY", default="", help="A git repository: its tags are the releases.")
@click.option("--continue", "go_on", is_flag=True, help="Take the settled files and go on.")
@click.option("--skip", is_flag=True, help="Leave the topic out that it stopped at.")
@click.option("--abort", is_flag=True, help="End the rebase; the store is as before.")
@click.option("--status", is_flag=True, help="Tell where the rebase stands.")
@click.option("--why", default="", help="With --continue: the reason, for the ledger.")
@click.option("--patch", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="One patch file, no store.")
@click.option("--base", metavar="PIN|DIR", default=None, help="With --patch: the upstream that it was made for.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="With --patch: where the outcome goes.")
@click.option("--markdown", is_flag=True, help="The text for the pull request.")
def rebase(markdown: bool, **wish: Any) -> None:
    """Carry the series, or one patch file, to a new release.

    \b
    patchkit rebase --onto v0.5.16
    patchkit rebase --onto main --upstream ../sglang    a commit between releases
    patchkit rebase --continue
    patchkit rebase --patch my.patch --base v0.5.9 --onto v0.5.16 --out out/my
    """
    result = _rebase(wish)
    if markdown:
        from patchkit.render.rebase import markdown as as_markdown

        click.echo(as_markdown(result))
        click.get_current_context().exit(result.exit_code)
    show(result)


_WITH_ONTO = {
    "source": "--from",
    "through": "--through",
    "accept_suspects": "--accept-suspects",
    "resolver": "--resolver",
    "upstream": "--upstream",
}
_WITH_PATCH = {"base": "--base", "out": "--out"}
_GOES_WITH = {
    **dict.fromkeys(_WITH_ONTO.values(), "--onto"),
    **dict.fromkeys(_WITH_PATCH.values(), "--patch"),
    "--why": "--continue",
}


def _rebase(wish: dict[str, Any]) -> "Rebase":
    from patchkit.verbs import rebase as verb

    if wish["patch"]:
        from patchkit.verbs.rebase_file import rebase_file

        if not (wish["base"] and wish["onto"] and wish["out"]):
            raise click.UsageError("--patch needs --base, --onto and --out")
        return rebase_file(wish["patch"], wish["base"], wish["onto"], wish["out"], access(), resolver=wish["resolver"])
    chosen = [name for name in ("onto", "go_on", "skip", "abort", "status") if wish[name]]
    if len(chosen) != 1:
        raise click.UsageError("give one of --onto, --continue, --skip, --abort and --status")
    lost = [option for name, option in _WITH_ONTO.items() if wish[name] and not wish["onto"]]
    lost += [option for name, option in _WITH_PATCH.items() if wish[name]]
    lost += ["--why"] if wish["why"] and not wish["go_on"] else []
    if lost:
        raise click.UsageError(f"{lost[0]} does not count here: it goes with {_GOES_WITH[lost[0]]}")
    if wish["go_on"]:
        return verb.continue_rebase(root(), access(), verb.Settling(datetime.now(UTC).date(), wish["why"]))
    if wish["skip"]:
        return verb.skip_topic(root(), access())
    if wish["abort"]:
        return verb.abort_rebase(root())
    if wish["status"]:
        return verb.rebase_status(root(), access())
    asked = verb.Wish(
        wish["onto"], wish["source"], wish["through"], wish["accept_suspects"], wish["resolver"], wish["upstream"]
    )
    return verb.begin_rebase(root(), access(), asked)
