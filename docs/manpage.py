"""patchkit(1) as roff, out of the same help that `--help` shows.

click-man writes a page a command and refills the examples in it; one page with the examples as they are is easier to
search.
"""

import re
from collections.abc import Iterator, Mapping
from inspect import cleandoc

import click

ENVIRONMENT = {
    "PATCHKIT_ENGINE": "The engine of run, build and smoke where --engine does not say: auto, podman, docker or venv.",
    "XDG_CACHE_HOME": "Upstreams, runtimes and control runs are kept in $XDG_CACHE_HOME/patchkit (~/.cache/patchkit).",
    "SOURCE_DATE_EPOCH": "The time that images and pages are given, so that the same input makes the same bytes.",
    "NO_COLOR": "When it is set and not empty, a terminal gets no colour, unless --color always asks for it.",
    "PIP_*, pip.conf": "Releases are downloaded by pip with its own settings.",
}
FILES = {
    "patches/": "The store: topics.toml, one folder a pin, guards, smoke tests, the ledger.",
    "version.txt": "The nightly tag, one line; written by bump alone.",
    ".patchkit/": "In a checkout: what apply did there, so that --reverse restores every byte.",
}


def man_page(group: click.Group, version: str, exit_codes: Mapping[int, str]) -> str:
    """Return the page."""
    context = click.Context(group, info_name="patchkit")
    lines = [f'.TH PATCHKIT 1 "" "patchkit {version}" "User Commands"', ".SH NAME"]
    lines += [f"patchkit \\- {_roff(group.get_short_help_str(200))}", ".SH SYNOPSIS", ".B patchkit"]
    lines += ["[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]...", ".SH DESCRIPTION", *_prose(group)]
    lines += [".SH OPTIONS", "These may stand before or after the name of the command.", *_options(group, context)]
    lines.append(".SH COMMANDS")
    for name, command in sorted(group.commands.items()):
        lines += _command(f"patchkit {name}", command, context)
        if isinstance(command, click.Group):
            for inner, found in sorted(command.commands.items()):
                lines += _command(f"patchkit {name} {inner}", found, context)
    lines += [".SH EXIT STATUS", *_pairs({str(code): meaning for code, meaning in exit_codes.items()})]
    lines += [".SH ENVIRONMENT", *_pairs(ENVIRONMENT), ".SH FILES", *_pairs(FILES)]
    lines += [".SH SEE ALSO", ".BR git\\-apply (1),", ".BR git\\-range\\-diff (1),", ".BR quilt (1)"]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    yield f".SS {_roff(name)}"
    yield f".B {_roff(' '.join([name, *command.collect_usage_pieces(context)]))}"
    yield ".PP"
    yield from _prose(command)
    yield from _options(command, context)


def _prose(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a command's help; those that click keeps as they are stay so."""
    for at, paragraph in enumerate(re.split(r"\n{2,}", cleandoc(command.help or ""))):
        if at:
            yield ".PP"
        if paragraph.startswith("\b\n"):
            yield from (".nf", *map(_roff, paragraph.split("\n")[1:]), ".fi")
        else:
            yield _roff(" ".join(paragraph.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            records[record[0]] = record[1]
    return _pairs(records)


def _pairs(pairs: Mapping[str, str]) -> Iterator[str]:
    for name, meaning in pairs.items():
        yield from (".TP", f"\\fB{_roff(name)}\\fR", _roff(meaning))


def _roff(text: str) -> str:
    """Return text that roff shows as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
