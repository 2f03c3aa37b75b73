"""Do the calls that an edit brings still fit upstream's functions?"""

import ast
import re
import textwrap
from collections.abc import Iterator
from itertools import islice

from patchkit.carry.follow import Library
from patchkit.carry.nouns import Outcome, Source
from patchkit.carry.scene import Scene
from patchkit.source.scopes import parse_python

Function = ast.FunctionDef | ast.AsyncFunctionDef

TELLING_NAME = 5  # shorter names of methods are too common to be looked for in all files
MOST_FILES = 6

_METHOD_CALL = re.compile(r"(?<!self)(?<!cls)\.(\w+)\(")
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


def renamed_parameters(outcome: Outcome, scene: Scene, library: Library, earlier: Library) -> str:
    """The edit calls a method, on anything but self, whose required parameters have other names in all that define it.

    Asked of methods that few files define; what the method is given may still stand for something else.
    """
    if not outcome.pieces:
        return ""
    for name in sorted(set(_METHOD_CALL.findall("\n".join(outcome.edit.new))) - scene.vocabulary.brought):
        if len(name) < TELLING_NAME:
            continue
        files = list(islice(library.defining(name), MOST_FILES + 1))
        if not 0 < len(files) <= MOST_FILES:
            continue
        if any(_opening(name, source) & _opening(name, earlier.source(path)) for path, source in files):
            continue
        now = {required for _, source in files for required in _required(name, source)}
        before = {required for path, _ in files for required in _required(name, earlier.source(path))}
        if not before:
            before = {required for _, source in earlier.defining(name) for required in _required(name, source)}
        if now and before and not now & before:
            return f"{name}() now requires {_listed(now)}, no longer {_listed(before)}"
    return ""


def _opening(name: str, source: Source) -> frozenset[bytes]:
    """Return the text of each definition of a name up to its first closing bracket: cheap, where nothing changed."""
    return frozenset(re.findall(rb"\bdef " + name.encode() + rb"\([^)]*", source.data))


def _listed(found: set[tuple[str, ...]]) -> str:
    return " or ".join(sorted(f"({', '.join(names)})" for names in found))


def _required(name: str, source: Source) -> Iterator[tuple[str, ...]]:
    """Yield the names of the required parameters of each function of a name, without self."""
    for function in _functions(name, source):
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        names = names[: len(names) - len(function.args.defaults)]
        yield tuple(name for name in names if name not in {"self", "cls"})


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
    found = list(_functions(name, source))
    return found[0] if len(found) == 1 else None


def _functions(name: str, source: Source) -> Iterator[Function]:
    """Yield the functions of this bare name in a file."""
    for one in source.scopes.definitions:
        if not one.is_class and one.name.rpartition(".")[2].partition("#")[0] == name:
            text = textwrap.dedent("\n".join(source.lines[one.first - 1 : one.last]))
            try:
                node = parse_python(text.encode("utf-8", "surrogateescape")).body[0]
            except (SyntaxError, ValueError, IndexError):
                continue
            if isinstance(node, Function):
                yield node


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
