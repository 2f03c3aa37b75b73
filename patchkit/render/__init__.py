"""Results -> text, JSON. One module a verb, named as the verb, with one function `text`."""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from patchkit.errors import PatchkitError

if TYPE_CHECKING:
    from patchkit.results import Result


def render_text(result: "Result") -> str:
    """Return the result as a person reads it, without a final line feed."""
    module = import_module(f"patchkit.render.{result.verb}")
    text: str = module.text(result)
    return text.rstrip("\n")


def render_as(result: "Result", form: str) -> str:
    """Return the result in a format of `patchkit verify --format`."""
    if form in ("text", "json"):
        return render_text(result) if form == "text" else render_json(result)
    return printable(import_module(f"patchkit.render.{form}").text(result))


def render_json(result: "Result") -> str:
    """Return the result as one JSON document, with its schema name first."""
    assert dataclasses.is_dataclass(result)
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    document = {"schema": f"patchkit/{result.verb}/{result.schema}", "exit_code": result.exit_code, **fields}
    return json.dumps(plain(document), indent=2)


def render_error_json(error: PatchkitError) -> str:
    """Return a failure as one JSON document."""
    fields = {name: getattr(error, name) for name in ("what", "where", "found", "kept", "hint")}
    return json.dumps({"schema": "patchkit/error/1", "exit_code": error.exit_code, **plain(fields)}, indent=2)


def render_error(error: PatchkitError) -> str:
    """Return a failure as a person reads it: what is wrong, then what it takes to act."""
    lines = [f"error: {error.what}"]
    for name in ("where", "found", "kept", "hint"):
        value = getattr(error, name)
        first, *rest = value.split("\n") if value else [""]
        if value:
            lines += [f"  {name + ':':<6} {first}", *(f"         {line}" for line in rest)]
    return printable("\n".join(lines))


def plain(value: Any) -> Any:
    """Return the value in JSON's own types; bytes and odd file names become readable text."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {printable(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, PurePath):
        return printable(str(value))
    return value


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
