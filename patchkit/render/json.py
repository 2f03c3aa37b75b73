"""Results, and failures, -> one JSON document each."""

import dataclasses
import json
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from patchkit.errors import PatchError, PatchkitError
from patchkit.render import printable

if TYPE_CHECKING:
    from patchkit.results import Result


def text(result: "Result") -> str:
    """Return the result as one JSON document, with its schema name first."""
    head = {"schema": f"patchkit/{result.verb}/{result.schema}", "exit_code": result.exit_code}
    return json.dumps(head | plain(result), indent=2)


def error_text(error: PatchkitError) -> str:
    """Return a failure as one JSON document."""
    fields = {name: getattr(error, name) for name in ("where", "found", "kept", "hint")}
    if isinstance(error, PatchError):
        fields["rule"] = error.rule
    return document_of(error.exit_code, what=error.what, **fields)


def document_of(exit_code: int, *, what: str, **fields: str) -> str:
    """Return the document of any failure; the command line's own have nothing but what they say."""
    told = {"what": what, **dict.fromkeys(("where", "found", "kept", "hint"), ""), **fields}
    return json.dumps({"schema": "patchkit/error/1", "exit_code": exit_code, **plain(told)}, indent=2)


def plain(value: Any) -> Any:
    """Return the value in JSON's own types; bytes and odd file names become readable text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(getattr(value, name)) for name in value._fields}
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
