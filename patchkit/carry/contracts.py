"""Do the calls that an edit brings still fit upstream's functions?"""

import ast
import re
import textwrap
from collections.abc import Iterator
from itertools import islice

from patchkit.carry.follow import Library
from patchkit.carry.nouns import Source
from patchkit.scopes import parse_python

Function = ast.FunctionDef | ast.AsyncFunctionDef

_CALL = re.compile(r"(?:\bself\.|\bcls\.|(?<![\w.]))(\w+)\(")


def misfits(result: Source, old: Source, lines: tuple[int, int], library: Library) -> Iterator[str]:
    """Yield each call on the result's lines (first, last) that its function does not take.

    Of this file's functions only those are asked that upstream changed: what was wrong before is not the rebase's
    doing. A method that the file inherits is asked where the whole tree has just one of its name.
    """
    first, last = lines
    called = frozenset(_CALL.findall("\n".join(result.lines[first - 1 : last])))
    changed = {**_changed(called, result, old), **_inherited(called, result, library)}
    if not changed:
        return
    for node in ast.walk(parse_python(result.data)):
        if not first <= getattr(node, "lineno", 0) <= last:
            continue
        if isinstance(node, ast.Call):
            function = changed.get(_called(node))
            if function is not None:
                yield from _unbound(node, function)
        elif isinstance(node, ast.Assign):
            yield from _unpacked(node, changed)


def _changed(called: frozenset[str], result: Source, old: Source) -> dict[str, Function]:
    """Return the called functions whose parameters or returned tuples upstream changed."""
    changed: dict[str, Function] = {}
    for name in called:
        now, before = _function(name, result), _function(name, old)
        if now is not None and before is not None and _contract(now) != _contract(before):
            changed[name] = now
    return changed


def _inherited(called: frozenset[str], result: Source, library: Library) -> dict[str, Function]:
    """Return the called methods that are defined once in the new tree, and not in this file."""
    found: dict[str, Function] = {}
    own = {one.name.rpartition(".")[2] for one in result.scopes.definitions}
    for name in called - own:
        if b"self." + name.encode() + b"(" in result.data:
            files = list(islice(library.defining(name), 2))
            method = _function(name, files[0][1]) if len(files) == 1 else None
            if method is not None:
                found[name] = method
    return found


def _function(name: str, source: Source) -> Function | None:
    """Return the only function of this bare name in a file; None for none or several."""
    found = [one for one in source.scopes.definitions if one.name.rpartition(".")[2] == name and not one.is_class]
    if len(found) != 1:
        return None
    text = textwrap.dedent("\n".join(source.lines[found[0].first - 1 : found[0].last]))
    try:
        node = parse_python(text.encode("utf-8", "surrogateescape")).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None
    return node if isinstance(node, Function) else None


def _contract(function: Function) -> tuple[str, frozenset[int]]:
    return ast.dump(function.args), _return_sizes(function)


def _return_sizes(function: Function) -> frozenset[int]:
    """Return how many values the function's tuples have; -1 for anything else it returns."""
    return frozenset(
        len(node.value.elts) if isinstance(node.value, ast.Tuple) else -1
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
    )


def _called(call: ast.Call) -> str:
    """Return the bare name of `f(...)` or `self.f(...)`; "" for a call on anything else."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id in {"self", "cls"} else ""
    return ""


def _unbound(call: ast.Call, function: Function) -> Iterator[str]:
    arguments = function.args
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    optional = len(arguments.defaults)
    required = positional[: len(positional) - optional]
    if positional[:1] in (["self"], ["cls"]):
        positional, required = positional[1:], required[1:]
    given = {one.arg for one in call.keywords if one.arg}
    known = {*positional, *(one.arg for one in arguments.kwonlyargs)}
    keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    required += [one.arg for one, default in keyword_only if default is None]
    if len(call.args) > len(positional) and arguments.vararg is None:
        yield f"{function.name}() takes {len(positional)} positional arguments, not {len(call.args)}"
    if given - known and arguments.kwarg is None:
        yield f"{function.name}() has no parameter {min(given - known)}"
    missing = [name for name in required if name not in given and name not in positional[: len(call.args)]]
    if missing:
        yield f"{function.name}() now requires {missing[0]}"


def _unpacked(node: ast.Assign, changed: dict[str, Function]) -> Iterator[str]:
    value = node.value.value if isinstance(node.value, ast.Await) else node.value
    target = node.targets[0]
    if not isinstance(value, ast.Call) or not isinstance(target, ast.Tuple):
        return
    function = changed.get(_called(value))
    if function is None or any(isinstance(one, ast.Starred) for one in target.elts):
        return
    sizes = _return_sizes(function)
    if sizes and -1 not in sizes and len(target.elts) not in sizes:
        yield f"{function.name}() now returns {min(sizes)} values, not {len(target.elts)}"
