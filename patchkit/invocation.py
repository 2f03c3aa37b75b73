"""One call of the command line: its global options, what every command shows, and how it ends.

Only this module, the commands and cli.py import click.
"""

import math
import os
import signal
import sys
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click
from click.types import StringParamType

from patchkit.errors import INTERRUPTED, PatchkitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from patchkit.results import Result
    from patchkit.upstream.access import Access

ENGINES = click.Choice(["auto", "podman", "docker", "venv"])


class Name(StringParamType):
    """A word that a shell can complete out of those that the store, or patchkit, knows; any other is taken too."""

    def __init__(self, name: str, known: "Callable[[Path], Iterable[str]]") -> None:
        self.name = name
        self.known = known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[click.shell_completion.CompletionItem]":
        """Return the known names that begin so; none where there is no store."""
        from click.shell_completion import CompletionItem

        with ctx.scope(cleanup=False):
            try:
                names = sorted(self.known(root()))
            except PatchkitError:
                return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _pins(root: "Path") -> "Iterable[str]":
    from patchkit.store import pin_names

    return pin_names(root)


def _topics(root: "Path") -> "Iterable[str]":
    from patchkit.store import read_topics

    return read_topics(root)


def _rules(_root: "Path") -> "Iterable[str]":
    from patchkit.rules.explained import CATALOG

    return CATALOG


class Seconds(click.FloatRange):
    """A time that a step can be given: above nothing, and no more than a month."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=30 * 24 * 3600.0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a number; what is none compares with nothing, so no range refuses it."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value} is no time in seconds.", param, ctx)
        return seconds


PIN = Name("pin", _pins)
TOPIC = Name("topic", _topics)
RULE = Name("rule", _rules)


class Settings(NamedTuple):
    """The global options. Each may stand before or after the command's name."""

    root: str | None = None
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
    root.obj = current._replace(**{parameter.name: value}) if said else current


@cache
def global_options(*, hidden: bool = False) -> tuple[click.Option, ...]:
    """Return the options that every command takes; made once, as there are some thirty commands."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _keep, "is_eager": True, "hidden": hidden}
    folder = click.Path(exists=True, file_okay=False)
    return (
        click.Option(["--root"], type=folder, help="The folder with patches/ (default: the nearest above).", **shared),
        click.Option(["--json"], is_flag=True, help="One JSON document on stdout.", **shared),
        click.Option(["-q", "--quiet"], is_flag=True, help="No progress.", **shared),
        click.Option(["-v", "--verbose"], is_flag=True, help="Progress also where stderr is no terminal.", **shared),
        click.Option(["--color"], type=click.Choice(["auto", "always", "never"]), help="Colour (auto).", **shared),
        click.Option(["--offline"], is_flag=True, help="Never touch the network.", **shared),
        click.Option(["--deadline"], type=Seconds(), metavar="S", help="Seconds for one outside step (900).", **shared),
    )


class Command(click.Command):
    """A command that also takes the global options; its help names them and leaves their words to the group's."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params.extend(global_options(hidden=True))
        self.epilog = "Also takes the global options: --root, --json, -q, -v, --color, --offline, --deadline."


class Interrupted(click.ClickException):
    """Ctrl-C or SIGTERM; click itself would end with 1."""

    exit_code = INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted")

    def show(self, file: Any = None) -> None:
        """Say it in one word."""
        click.echo(self.message, err=True)


class Group(click.Group):
    """Turns every failure whose cause is known into its message and exit code."""

    command_class = Command

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the command line; SIGTERM cleans up as Ctrl-C does."""
        previous = signal.signal(signal.SIGTERM, _interrupt)
        given = arguments[0] if arguments else keywords.get("args")
        self._said = sys.argv[1:] if given is None else list(given)
        try:
            return super().main(*arguments, **keywords)
        finally:
            signal.signal(signal.SIGTERM, previous)

    def make_context(self, *arguments: Any, **keywords: Any) -> click.Context:
        """Read the command line."""
        try:
            return super().make_context(*arguments, **keywords)
        except KeyboardInterrupt:
            raise self._told(Interrupted()) from None
        except click.ClickException as error:
            raise self._told(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print a PatchkitError as STYLE says and end with its exit code."""
        try:
            return super().invoke(ctx)
        except PatchkitError as error:
            _fail(ctx, error)
        except KeyboardInterrupt:
            raise self._told(Interrupted()) from None
        except click.ClickException as error:
            raise self._told(error) from None
        except (click.exceptions.Exit, click.Abort):
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

    def _told(self, error: click.ClickException) -> click.ClickException:
        """Return the failure that click will show, after telling it as JSON where that was asked for."""
        if "--json" in self._said:
            from patchkit.render.json import document_of

            click.echo(document_of(error.exit_code, what=error.format_message()))
        return error


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _fail(ctx: click.Context, error: PatchkitError) -> NoReturn:
    from patchkit.render import render_error

    if settings().json:
        from patchkit.render.json import error_text

        click.echo(error_text(error))
    say(render_error(error), err=True)
    ctx.exit(error.exit_code)


def show(result: "Result") -> None:
    """Print the result as text or JSON and end with its exit code."""
    from patchkit.render import render_as

    if settings().json:
        click.echo(render_as(result, "json"))
    else:
        say(render_as(result, "text"))
    click.get_current_context().exit(result.exit_code)


def say(text: str, *, err: bool = False) -> None:
    """Print text: on a terminal broken to its width and in colour, elsewhere as it is, so that grep finds its lines."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # closed by the caller
        return
    color = is_coloured(settings().color, os.environ, is_terminal=stream.isatty())
    if color or stream.isatty():
        import shutil  # 2 ms, for terminals alone

        from patchkit.render.terminal import fit, paint

        text = fit(text, shutil.get_terminal_size().columns) if stream.isatty() else text
        text = paint(text) if color else text
    click.echo(text, err=err, color=color)


def is_coloured(said: str, environ: "Mapping[str, str]", *, is_terminal: bool) -> bool:
    """Say whether to colour: as asked; else on a terminal, if neither NO_COLOR nor TERM says otherwise."""
    if said != "auto":
        return said == "always"
    return is_terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def progress(text: str) -> None:
    """Tell on stderr what goes on; silent where nobody watches."""
    if settings().verbose or (sys.stderr.isatty() and not settings().quiet):
        say(f"patchkit: {text}", err=True)


def root() -> "Path":
    """Return the store's root: as said, else the nearest folder above with patches/."""
    from pathlib import Path

    from patchkit.store import find_root

    said = settings().root
    return Path(said) if said else find_root(Path.cwd())


def store_or_none() -> "Path | None":
    """Return the store's root; None outside of any, for commands that need none."""
    from patchkit.errors import ConfigError

    try:
        return root()
    except ConfigError:
        return None


def access() -> "Access":
    """Return how upstream may be reached in this call."""
    from patchkit.upstream.access import Access, cache_folder

    said = settings()
    return Access(cache_folder(), offline=said.offline, deadline_s=said.deadline, progress=progress)
