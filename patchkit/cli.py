"""The only importer of click: parse, call one verb, render, exit code.

Verbs are imported inside their commands: `patchkit --help` costs what click costs.
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from patchkit import __version__
from patchkit.errors import PatchkitError

if TYPE_CHECKING:
    from patchkit.results import Rebase, Result
    from patchkit.upstream import Access

INTERRUPTED = 130
FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")
_ENGINES = click.Choice(["auto", "podman", "docker", "venv"])


@dataclass(frozen=True, slots=True)
class Settings:
    """The global options. Each may stand before or after the command's name."""

    root: Path | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: str = "auto"
    offline: bool = False
    deadline: float = 900.0


def settings() -> Settings:
    """Return the global options of this call."""
    found = click.get_current_context().find_root().obj
    return found if isinstance(found, Settings) else Settings()


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Store one global option where every command finds it; a default never undoes what was said."""
    root = context.find_root()
    current = root.obj if isinstance(root.obj, Settings) else Settings()
    assert parameter.name is not None
    source = context.get_parameter_source(parameter.name)
    said = source is not None and source.name != "DEFAULT"
    root.obj = replace(current, **{parameter.name: value}) if said else current


@cache
def _global_options(*, hidden: bool = False) -> tuple[click.Option, ...]:
    """Return the options that every command takes; made once, as there are some thirty commands."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _keep, "is_eager": True, "hidden": hidden}
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return (
        click.Option(["--root"], type=folder, help="The folder with patches/ (default: the nearest above).", **shared),
        click.Option(["--json"], is_flag=True, help="One JSON document on stdout.", **shared),
        click.Option(["-q", "--quiet"], is_flag=True, help="No progress.", **shared),
        click.Option(["-v", "--verbose"], is_flag=True, help="Progress also where stderr is no terminal.", **shared),
        click.Option(["--color"], type=click.Choice(["auto", "always", "never"]), help="Colour (auto).", **shared),
        click.Option(["--offline"], is_flag=True, help="Never touch the network.", **shared),
        click.Option(["--deadline"], type=float, metavar="S", help="Seconds for one outside step (900).", **shared),
    )


class Command(click.Command):
    """A command that also takes the global options; its help names them and leaves their words to the group's."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params.extend(_global_options(hidden=True))
        self.epilog = "Also takes the global options: --root, --json, -q, -v, --color, --offline, --deadline."


class Group(click.Group):
    """Turns every failure whose cause is known into its message and exit code."""

    command_class = Command

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the command line; SIGTERM cleans up as Ctrl-C does."""
        previous = signal.signal(signal.SIGTERM, _interrupt)
        try:
            return super().main(*arguments, **keywords)
        finally:
            signal.signal(signal.SIGTERM, previous)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print a PatchkitError as STYLE says and end with its exit code."""
        try:
            return super().invoke(ctx)
        except PatchkitError as error:
            _fail(ctx, error)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except OSError as error:
            if error.errno is None or isinstance(error, BrokenPipeError):
                raise
            from patchkit.errors import CommandError

            reason = error.strerror or str(error)
            _fail(ctx, CommandError(f"a file cannot be read or written: {reason}", where=str(error.filename or "")))
        except Exception:
            import traceback  # loaded only for this

            traceback.print_exc()
            click.echo("this is a bug in patchkit: please report it with the lines above", err=True)
            ctx.exit(1)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _fail(ctx: click.Context, error: PatchkitError) -> NoReturn:
    from patchkit.render import render_error, render_error_json

    if settings().json:
        click.echo(render_error_json(error))
    click.echo(render_error(error), err=True)
    ctx.exit(error.exit_code)


def show(result: "Result") -> None:
    """Print the result as text or JSON and end with its exit code."""
    from patchkit.render import render_json, render_text

    click.echo(render_json(result) if settings().json else render_text(result), color=_color())
    click.get_current_context().exit(result.exit_code)


def progress(text: str) -> None:
    """Tell on stderr what goes on; silent where nobody watches."""
    if settings().verbose or (sys.stderr.isatty() and not settings().quiet):
        click.echo(f"patchkit: {text}", err=True)


def root() -> Path:
    """Return the store's root: as said, else the nearest folder above with patches/."""
    from patchkit.store import find_root

    return settings().root or find_root(Path.cwd())


def access() -> "Access":
    """Return how upstream may be reached in this call."""
    from patchkit.upstream import Access, cache_folder

    said = settings()
    return Access(cache_folder(), offline=said.offline, deadline_s=said.deadline, progress=progress)


def _color() -> bool | None:
    return {"auto": None, "always": True, "never": False}[settings().color]


@click.group(cls=Group, params=list(_global_options()), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="patchkit")
def main() -> None:
    """Keep a versioned sglang.patch alive across upstream releases.

    \b
    patchkit run                       apply, verify, build and smoke the newest pin
    patchkit apply /src/sglang         write the series into a checkout
    patchkit verify                    prove that it is right
    patchkit rebase --onto v0.5.16     carry it to a new release
    patchkit explain PK502             what a rule means and how to mend it

    Exit codes: 0 done; 2 usage, settings or a bad patch; 3 conflict; 4 verify; 5 smoke;
    6 environment or deadline; 130 interrupted.
    """


command: Callable[..., Any] = main.command


@main.command()
@click.argument("pins", nargs=-1, metavar="[PIN] ...")
@click.option("--all", "every", is_flag=True, help="Every pin of the store.")
@click.option("--engine", type=_ENGINES, default="auto", help="auto: $PATCHKIT_ENGINE, else podman, docker, venv.")
@click.option("--evidence", type=click.Path(file_okay=False, path_type=Path), help="Keep each step's document here.")
def run(pins: tuple[str, ...], every: bool, engine: str, evidence: Path | None) -> None:
    """Do the main job for each PIN: apply, verify, build, smoke --control.

    \b
    patchkit run                          the newest pin, with the engine that is here
    patchkit run v0.5.16 --engine podman
    patchkit run --all --evidence out     every pin; `patchkit report --evidence out` shows it
    """
    from patchkit.store import pin_names
    from patchkit.verbs.run import run_main_job

    names = pin_names(root()) if every else pins
    show(run_main_job(root(), names, access(), engine=engine, evidence=evidence))


@main.command()
@click.argument("pin", required=False)
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


@main.command()
@click.argument("pin", required=False)
@click.argument("topic_name", required=False, metavar="[TOPIC]")
@click.option("--fresh", is_flag=True, help="Put an edit that is open aside, and begin anew.")
@click.option("--close", is_flag=True, help="Remove the worktree, if the series has all of it.")
def edit(pin: str | None, topic_name: str | None, fresh: bool, close: bool) -> None:
    """Open a worktree at PIN with one commit a topic, to be changed with any git tool.

    \b
    patchkit edit v0.5.16              all topics, the last on top
    patchkit edit v0.5.16 timeouts     stop at one topic
    patchkit refresh v0.5.16           take over what was committed
    """
    from patchkit.verbs.edit import close_edit, edit_pin

    show(close_edit(root(), pin) if close else edit_pin(root(), pin, access(), topic=topic_name, fresh=fresh))


@main.command()
def doctor() -> None:
    """Tell what is missing here, and the line that mends it."""
    from patchkit.verbs.doctor import examine

    show(examine(access()))


@main.command()
@click.option("--topic", help="Tell all about one topic.")
@click.option("--markdown", is_flag=True, help="Print the page of all topics, docs/topics.md.")
def status(topic: str | None, markdown: bool) -> None:
    """Show pins, topics, what is stale, and the next step."""
    from patchkit.verbs.status import tell_status, tell_topics

    if markdown:
        from patchkit.render import topics_page

        pins, topics = tell_topics(root())
        click.echo(topics_page.markdown(topics, pins), nl=False)
        return
    show(tell_status(root(), access(), today=datetime.now(UTC).date(), topic=topic))


@main.command()
@click.argument("subjects", nargs=-1, metavar="[PIN|FILE.patch ...]")
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
        result = verify_patch(patch, upstream, access())
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


@main.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Tell what a RULE of verify means, why it matters, and how to mend what breaks it: patchkit explain PK502."""
    from patchkit.verbs.explain import explain_rule

    show(explain_rule(rule))


@main.command()
@click.argument("pins", metavar="[PIN ...]", nargs=-1)
@click.option("--engine", type=_ENGINES, default="auto", help="auto: $PATCHKIT_ENGINE, else podman, docker, venv.")
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


@main.command()
@click.argument("pin", required=False)
@click.option("--engine", type=_ENGINES, default="auto", help="auto: $PATCHKIT_ENGINE, else podman, docker, venv.")
@click.option("--image", default="", help="Instead of the image that `build` made.")
@click.option("--control", is_flag=True, help="Run without the series too: each fault must fail there.")
@click.option("--topic", default="", help="Only this topic's tests.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write the verdicts here.")
@click.option("--fresh", is_flag=True, help="Run the control again although its result is known.")
@click.option("--keep", is_flag=True, help="Leave the containers for a look inside.")
def smoke(
    *, pin: str | None, engine: str, image: str, control: bool, topic: str, junit: Path | None, fresh: bool, keep: bool
) -> None:  # fmt: skip
    """Run the topics' smoke tests in the image of PIN.

    \b
    patchkit smoke --control                  prove that each test needs the series
    patchkit smoke v0.5.16 --topic timeouts   one topic
    """
    from patchkit.verbs.smoke import run_smoke

    show(
        run_smoke(
            root(),
            pin,
            access(),
            engine=engine,
            image=image,
            topic=topic,
            junit=junit,
            control=control,
            fresh=fresh,
            keep=keep,
        )
    )


@main.command("apply")
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--pin", metavar="P", help="The pin whose series is applied (default: the latest).")
@click.option("--topic", "topics", multiple=True, metavar="T", help="Only this topic; may be given again.")
@click.option("--patch", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="This file, not a series.")
@click.option("--reverse", is_flag=True, help="Take it out again: every byte and mode as before.")
@click.option("--dry-run", is_flag=True, help="Tell what would change and write nothing.")
def apply_command(
    checkout: Path, *, pin: str | None, topics: tuple[str, ...], patch: Path | None, reverse: bool, dry_run: bool
) -> None:
    """Write a series, or one patch file, into CHECKOUT.

    CHECKOUT is a git checkout, an unpacked wheel, a site-packages folder or the sglang package itself. All of it
    is written or nothing; what is there already is not written twice. Killed at any instant, the next call ends it.
    """
    from patchkit.verbs.apply import Wish, apply_patch, apply_series

    if patch and (pin or topics):
        raise click.UsageError("--patch takes a file instead of a series: leave --pin and --topic out")
    wish = Wish(reverse=reverse, topics=topics, dry_run=dry_run)
    show(apply_patch(checkout, patch, wish) if patch else apply_series(checkout, root(), pin, wish, access))


@main.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
def identify(path: Path) -> None:
    """Tell which upstream release a patch file, a checkout or an installed package belongs to.

    By blob ids, not by names: the index lines of a patch say what it was written for.
    """
    from patchkit.verbs.identify import identify as identify_path

    show(identify_path(path, access()))


@main.command()
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d", "%Y%m%d"]), help="The day of the tag (today, UTC).")
@click.option("--published", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A list of more tags.")
@click.option("--dry-run", is_flag=True, help="Tell the tag and write nothing.")
def bump(day: datetime | None, published: Path | None, dry_run: bool) -> None:
    """Write the next nightly tag to version.txt and every declared pin site.

    It comes after every published one: version.txt, the git tags, and --published (one a line, as a
    registry lists them). More places that name it are declared in patches/sites.toml.

    \b
    patchkit bump
    patchkit bump --dry-run --published tags.txt
    """
    from patchkit.verbs.bump import bump_version

    today = day or datetime.now(UTC)
    show(bump_version(root(), today.date(), published=published, dry_run=dry_run))


@main.command()
@click.option("--onto", default="newest", metavar="newest|P", help="The release to carry to (newest).")
@click.option("--engine", type=_ENGINES, default="auto", help="As in `build`.")
@click.option("--base", default="", metavar="IMAGE|cpu", help="As in `build`.")
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d", "%Y%m%d"]), help="The day of the tag (today, UTC).")
@click.option("--published", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="As in `bump`.")
@click.option("--accept-suspects", is_flag=True, help="As in `rebase`: the pull request lists them.")
@click.option("--push", default="", metavar="REMOTE", help="Push the branch and the tag at the end.")
@click.option("--hook", default="", metavar="CMD", help="Run this at the end; the report is on its stdin.")
@click.option("--resume", is_flag=True, help="Go on with the night that failed or was killed.")
@click.option("--dry-run", is_flag=True, help="Tell what would be done and write nothing.")
def nightly(
    *, onto: str, engine: str, base: str, day: datetime | None, published: Path | None, push: str, hook: str,
    accept_suspects: bool, resume: bool, dry_run: bool,
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
        accept_suspects=accept_suspects,
    )  # fmt: skip
    show(run_nightly(root(), access(), wish, Surroundings(_file("GITHUB_OUTPUT"), _file("GITHUB_STEP_SUMMARY"), hook)))


def _file(variable: str) -> Path | None:
    """Return the file that the CI system names in a variable of the environment."""
    return Path(os.environ[variable]) if os.environ.get(variable) else None


@main.command()
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

    result = make_report(root(), evidence)
    if html is not None:
        replace_file(html, pages.html(result).encode())
    if matrix is not None:
        replace_file(matrix, pages.matrix(result).encode())
    show(result)


@main.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH ...", type=click.Path(exists=True, path_type=Path))
@click.option("--from-git", metavar="BASE..BRANCH", help="Adopt these commits of the repository PATH.")
@click.option("--pin", "version", metavar="VERSION", help="The release, where the patches do not say.")
@click.option("--in-place", is_flag=True, help="Leave every patch where it is; the pins' folders lead there.")
@click.option("--split", "split_by", metavar="file|PLAN", default="", help="Take a single big patch apart.")
@click.option("--dry-run", is_flag=True, help="Report, and write nothing.")
def import_(
    paths: tuple[Path, ...],
    *,
    from_git: str | None,
    version: str | None,
    in_place: bool,
    split_by: str,
    dry_run: bool,
) -> None:
    """Adopt an existing patch folder, and tell what is wrong with it.

    \b
    patchkit import docker/patch              a folder a version, with `latest`
    patchkit import --dry-run docker/patch    only the report
    patchkit import 000*.patch                a numbered series
    patchkit import --from-git v0.5.16..mine ../sglang
    """
    from patchkit.store import find_root
    from patchkit.verbs.adopt import adopt_branch, adopt_folder
    from patchkit.versions import bare

    here = settings().root
    if here is None:
        try:
            here = find_root(Path.cwd())
        except PatchkitError:
            here = Path.cwd()
    bare_version = bare(version) if version else None
    if from_git is not None:
        if len(paths) > 1 or in_place:
            raise click.UsageError("--from-git takes one repository, and no --in-place")
        show(adopt_branch(paths[0], from_git, here, access(), version=bare_version, dry_run=dry_run))
    if split_by not in ("", "file") and not Path(split_by).is_file():
        raise click.UsageError(f"--split is `file` or the path of a plan: {split_by}")
    show(
        adopt_folder(paths, here, access(), version=bare_version, dry_run=dry_run, in_place=in_place, split_by=split_by)
    )


@main.command()
@click.argument("pin")
@click.argument("topic")
@click.option("--plan", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Which hunk goes where.")
@click.option("--write-plan", is_flag=True, help="Print a plan to edit: one line a hunk; change nothing.")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def split(pin: str, topic: str, plan: Path | None, write_plan: bool, dry_run: bool) -> None:
    """Take TOPIC of PIN apart, by file or by a plan. Every file ends as before.

    \b
    patchkit split v0.5.16 downstream --write-plan > plan.txt
    patchkit split v0.5.16 downstream --plan plan.txt
    """
    from patchkit.verbs.split import split_topic, tell_plan

    if write_plan:
        show(tell_plan(root(), pin, topic, access()))
    show(split_topic(root(), pin, topic, access(), plan=plan, dry_run=dry_run))


@main.command()
@click.argument("pin")
@click.argument("topics", nargs=-1, metavar="[TOPIC ...]")
@click.option("--into", metavar="NAME", help="The name of the whole (the first topic's).")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def squash(pin: str, topics: tuple[str, ...], into: str | None, dry_run: bool) -> None:
    """Put several TOPICs of PIN together as one; all of them where none is named. Every file ends as before."""
    from patchkit.verbs.squash import squash_topics

    show(squash_topics(root(), pin, topics, access(), into=into, dry_run=dry_run))


@main.group(cls=Group)
def topic() -> None:
    """Begin, rename, reorder, drop and fold topics of a series."""


@topic.command()
@click.argument("pin")
@click.argument("name")
def new(pin: str, name: str) -> None:
    """Begin the topic NAME: an empty commit on top of the edit of PIN, to be filled and amended."""
    from patchkit.verbs.edit import begin_topic

    show(begin_topic(root(), pin, name, access()))


@topic.command()
@click.argument("former")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def rename(former: str, name: str, dry_run: bool) -> None:
    """Call the topic FORMER by NAME, at every pin."""
    from patchkit.verbs.topic import rename_topic

    show(rename_topic(root(), former, name, dry_run=dry_run))


@topic.command()
@click.argument("pin")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC ...")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def reorder(pin: str, topics: tuple[str, ...], dry_run: bool) -> None:
    """Put the series of PIN into this order. Every file ends as before, or nothing is changed."""
    from patchkit.verbs.topic import reorder_topics

    show(reorder_topics(root(), pin, topics, access(), dry_run=dry_run))


@topic.command()
@click.argument("pin")
@click.argument("topic_name", metavar="TOPIC")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def drop(pin: str, topic_name: str, dry_run: bool) -> None:
    """Take TOPIC out of the series of PIN; those behind it are written anew without it."""
    from patchkit.verbs.topic import drop_topic

    show(drop_topic(root(), pin, topic_name, access(), dry_run=dry_run))


@topic.command()
@click.argument("pin")
@click.argument("topic_name", metavar="TOPIC")
@click.option("--into", required=True, metavar="TOPIC", help="The topic that takes it up.")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and write nothing.")
def fold(pin: str, topic_name: str, into: str, dry_run: bool) -> None:
    """Fold TOPIC of PIN into another one. Every file ends as before."""
    from patchkit.verbs.squash import squash_topics

    show(squash_topics(root(), pin, (into, topic_name), access(), into=into, dry_run=dry_run))


@main.command()
@click.argument("place", metavar="PATH[:LINE]")
@click.option("--pin", help="The pin (the newest).")
def why(place: str, pin: str | None) -> None:
    """Tell which topic, hunk and upstream reference a line of the patched source comes from.

    \b
    patchkit why srt/managers/scheduler.py:5955
    patchkit why srt/managers/scheduler.py      every hunk of the file
    """
    from patchkit.verbs.why import tell_why

    show(tell_why(root(), place, access(), pin=pin))


@main.command()
@click.argument("topic_name", metavar="TOPIC")
@click.option("--pin", help="The pin that the branch is on (the newest that carries the topic).")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Where (.patchkit/propose/TOPIC).")
@click.option(
    "--repository", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A clone of upstream."
)
def propose(topic_name: str, pin: str | None, output: Path | None, repository: Path | None) -> None:
    """Write the branch and the text of an upstream pull request for TOPIC. Sends nothing.

    \b
    patchkit propose timeouts --repository ../sglang
    """
    from patchkit.verbs.propose import propose_topic

    show(propose_topic(root(), topic_name, access(), pin=pin, output=output, repository=repository))


@main.command()
@click.argument("target", metavar="IMAGE|DIR")
@click.option("--engine", type=_ENGINES, default="auto", help="As in `build`.")
@click.option("--cyclonedx", type=click.Path(dir_okay=False, path_type=Path), help="Write a CycloneDX 1.6 document.")
@click.option("--provenance", type=click.Path(dir_okay=False, path_type=Path), help="Write an in-toto statement.")
def inspect(target: str, engine: str, cyclonedx: Path | None, provenance: Path | None) -> None:
    """Ask an image, or a directory, what it carries and whether it is unmodified.

    Its files count, not its labels: those are held against what is there. Ends with 4 when a file or a label
    is not as it must be, with 2 when there is no series of ours.

    \b
    patchkit inspect patchkit/sglang:nightly-dev-20260810a-v0.5.16
    patchkit inspect /sgl-workspace/sglang
    patchkit inspect IMAGE --cyclonedx sbom.json --provenance statement.json
    """
    from patchkit.errors import ConfigError
    from patchkit.verbs.inspect import Documents, inspect_target

    try:
        store = root()
    except ConfigError:
        store = None
    show(inspect_target(store, target, access(), engine=engine, documents=Documents(cyclonedx, provenance)))


_PLATFORMS = ("linux/amd64", "linux/arm64")


@main.command()
@click.argument("pins", metavar="[PIN ...]", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every pin of the store.")
@click.option("--format", "kind", type=click.Choice(["github", "gitlab", "bake"]), required=True, help="For whom.")
@click.option("--variant", "variants", multiple=True, metavar="V", help="default, cu129, ..., cpu (every base image).")
@click.option("--platform", "platforms", multiple=True, type=click.Choice(_PLATFORMS), help="linux/amd64.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it there.")
@click.option("--contexts", type=click.Path(file_okay=False, path_type=Path), help="Write bake's contexts below it.")
def matrix(
    *, pins: tuple[str, ...], every: bool, kind: str, variants: tuple[str, ...], platforms: tuple[str, ...],
    output: Path | None, contexts: Path | None,
) -> None:  # fmt: skip
    """Split verify, build and smoke for an engine that runs many cells.

    \b
    patchkit matrix --format github --output .github/workflows/images.yml
    patchkit matrix v0.5.16 v0.5.23 --format gitlab --variant cu129
    patchkit matrix --all --format bake --output docker/docker-bake.json
    patchkit matrix --format bake --output bake.json --contexts out/contexts
    """
    from patchkit.model import MatrixFormat
    from patchkit.store import pin_names
    from patchkit.verbs.matrix import Choice, split_work

    choice = Choice(pin_names(root()) if every else pins, variants, platforms or _PLATFORMS[:1])
    show(split_work(root(), choice, MatrixFormat(kind), output=output, contexts=contexts))


@main.command()
@click.option("--onto", metavar="PIN", default=None, help="The release to carry to; with --patch also a directory.")
@click.option("--from", "source", metavar="PIN", default=None, help="The pin to carry from (the latest).")
@click.option("--through", is_flag=True, help="Step through the releases between.")
@click.option("--accept-suspects", is_flag=True, help="Do not stop for hunks that a person should look at.")
@click.option("--resolver", metavar="CMD", default="", help="A program that may propose the text of a conflict.")
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
    patchkit rebase --continue
    patchkit rebase --patch my.patch --base v0.5.9 --onto v0.5.16 --out out/my
    """
    result = _rebase(wish)
    if markdown:
        from patchkit.render.rebase import markdown as as_markdown

        click.echo(as_markdown(result))
        click.get_current_context().exit(result.exit_code)
    show(result)


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
    if wish["go_on"]:
        return verb.continue_rebase(root(), access(), verb.Settling(datetime.now(UTC).date(), wish["why"]))
    if wish["skip"]:
        return verb.skip_topic(root(), access())
    if wish["abort"]:
        return verb.abort_rebase(root())
    if wish["status"]:
        return verb.rebase_status(root(), access())
    asked = verb.Wish(wish["onto"], wish["source"], wish["through"], wish["accept_suspects"], wish["resolver"])
    return verb.begin_rebase(root(), access(), asked)


@main.command()
@click.option("--drop", metavar="NAME", default=None, help="Remove one recorded resolution.")
def ledger(drop: str | None) -> None:
    """List the recorded resolutions of conflicts, or remove one."""
    from patchkit.verbs.ledger import show_ledger

    show(show_ledger(root(), drop=drop))


@main.command()
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option("--markdown", is_flag=True, help="As a Markdown table.")
def diff(old: str, new: str, markdown: bool) -> None:
    """Tell what changed between two pins, or two patch files, hunk by hunk."""
    from patchkit.verbs.diff import diff_series

    files = Path(old).is_file() and Path(new).is_file()
    result = diff_series(None if files else root(), old, new)
    if markdown:
        from patchkit.render.diff import markdown as as_markdown

        click.echo(as_markdown(result))
        return
    show(result)
