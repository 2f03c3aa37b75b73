"""Results -> text. One module a verb or format, named as it, with one function `text`."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from patchkit.errors import PatchError, PatchkitError

if TYPE_CHECKING:
    from patchkit.results import Result


def render_text(result: "Result") -> str:
    """Return the result as a person reads it, without a final line feed."""
    module = import_module(f"patchkit.render.{result.verb}")
    text: str = module.text(result)
    return text.rstrip("\n")


def render_as(result: "Result", form: str) -> str:
    """Return the result in a format of `patchkit verify --format`."""
    if form == "text":
        return render_text(result)
    return printable(import_module(f"patchkit.render.{form}").text(result))


def render_error(error: PatchkitError) -> str:
    """Return a failure as a person reads it: what is wrong, then what it takes to act."""
    lines = [f"error: {error.what}"]
    for name in ("where", "found", "kept", "hint"):
        value = getattr(error, name)
        first, *rest = value.split("\n") if value else [""]
        if value:
            lines += [f"  {name + ':':<6} {first}", *(f"         {line}" for line in rest)]
    if isinstance(error, PatchError) and error.rule:
        lines.append(f"  rule:  patchkit explain {error.rule}")
    return printable("\n".join(lines))


def printable(text: str) -> str:
    """Return the text without lone surrogates, which no stream can write, and without terminal controls."""
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in readable)


def near(path: str) -> str:
    """Return a path relative to the working directory where it lies below it, else as it is."""
    return os.path.relpath(path) if path.startswith(f"{os.getcwd()}{os.sep}") else path


def table(rows: Sequence[tuple[str, ...]], *, indent: str = "") -> str:
    """Return the rows in aligned columns, two spaces apart."""
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(indent + line for line in lines)
