"""The command line: the names of the commands, each loaded when it is asked for."""

from collections.abc import Iterable, Iterator, MutableMapping
from importlib import import_module

import click

from patchkit import __version__
from patchkit.invocation import Group, global_options

COMMANDS = (
    "apply",
    "build",
    "bump",
    "diff",
    "doctor",
    "edit",
    "explain",
    "identify",
    "import",
    "inspect",
    "ledger",
    "matrix",
    "nightly",
    "propose",
    "rebase",
    "refresh",
    "report",
    "run",
    "smoke",
    "split",
    "squash",
    "status",
    "topic",
    "verify",
    "weather",
    "why",
)


class Commands(MutableMapping[str, click.Command]):
    """The commands by name. One is `patchkit.commands.NAME.NAME`, and loaded when it is first looked up."""

    def __init__(self, names: Iterable[str]) -> None:
        self._loaded: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        found = self._loaded[name]
        if found is None:
            known_as = f"{name}_" if name == "import" else name  # a word of Python
            found = self._loaded[name] = getattr(import_module(f"patchkit.commands.{known_as}"), known_as)
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


@click.group(
    cls=Group,
    commands=Commands(COMMANDS),
    params=list(global_options()),
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
