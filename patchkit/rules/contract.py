"""PK605-PK608: what the added lines rely on is still there and still takes these arguments, and callers still fit."""

import ast
import re
from collections.abc import Iterator, Mapping

from patchkit.model import Finding, Severity
from patchkit.rules.signature import Signature, constructor_of, misfit, signature_of
from patchkit.rules.subject import Definition, Function, PatchedFile, Source, Subject, finding_at
from patchkit.rules.symbols import (
    Kind,
    Place,
    Symbol,
    Symbols,
    absolute_module,
    callee,
    is_own,
    last_name,
    named,
    package_of,
    type_of,
)

_Use = tuple[ast.AST, Place]
# What values of Python's own types have; their type is not followed.
_BUILT_IN = {name for kind in (str, bytes, list, dict, set, tuple, int, float, BaseException) for name in dir(kind)}


def find(subject: Subject, symbols: Symbols) -> Iterator[Finding]:
    """Yield each use in an added line that the patched tree does not answer."""
    for file in subject.python_files():
        assert file.after is not None
        if file.after.tree is None:
            continue
        for node, place in _added_uses(file, file.after.tree.body, Place(file.after)):
            match node:
                case ast.Import() | ast.ImportFrom():
                    yield from _imports(symbols, file, node)
                case ast.Attribute(ctx=ast.Load()):
                    yield from _attribute(symbols, subject, file, node, place)
                case ast.Call():
                    yield from _call(symbols, file, node, place)
                case _:
                    pass
        yield from _callers(subject, file)


def _added_uses(file: PatchedFile, body: list[ast.stmt], place: Place) -> Iterator[_Use]:
    """Yield each node that an added line holds, with the functions and the class around it."""
    for statement in body:
        if file.has_added(_first_line(statement), statement.end_lineno or statement.lineno):
            yield from _uses_below(file, statement, place)


def _uses_below(file: PatchedFile, node: ast.AST, place: Place) -> Iterator[_Use]:
    if isinstance(node, ast.ClassDef):
        place = Place(place.source, (), node)
    elif isinstance(node, Function):
        place = Place(place.source, (*place.functions, node), place.owner)
    elif isinstance(node, ast.expr | ast.Import | ast.ImportFrom):
        first, last = node.lineno, node.end_lineno or node.lineno
        # A name of a chain stands on its last line; a call is new when any line of it is.
        if file.has_added(last if isinstance(node, ast.Attribute) else first, last):
            yield node, place
    for below in ast.iter_child_nodes(node):
        if not isinstance(below, ast.stmt) or file.has_added(_first_line(below), below.end_lineno or below.lineno):
            yield from _uses_below(file, below, place)


def _first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, Definition) else []
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


# -- PK606: imports ---------------------------------------------------------------------------------------


def _imports(symbols: Symbols, file: PatchedFile, node: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if is_own(alias.name) and symbols.module(alias.name) is None:
                yield _import_finding(file, _alias_line(file, node, alias), f"there is no module {alias.name}")
        return
    module = absolute_module(node, package_of(file.path))
    for alias in node.names:
        line = _alias_line(file, node, alias)
        if alias.name == "*" or not file.origin_at(line):
            continue
        if symbols.imported(module, alias.name).kind is Kind.MISSING:
            is_there = symbols.module(module) is not None
            what = f"{module} has no {alias.name}" if is_there else f"there is no module {module}"
            yield _import_finding(file, line, what)


def _alias_line(file: PatchedFile, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> int:
    return alias.lineno if file.origin_at(alias.lineno) else node.lineno


def _import_finding(file: PatchedFile, line: int, message: str) -> Finding:
    return finding_at("PK606", file, line, message, hint="upstream moved or renamed it: git log -S, or patchkit rebase")


# -- PK605: attributes ------------------------------------------------------------------------------------


def _attribute(
    symbols: Symbols, subject: Subject, file: PatchedFile, node: ast.Attribute, place: Place
) -> Iterator[Finding]:
    owner = type_of(symbols, node.value, place)
    chain = ast.unparse(node)
    line = node.end_lineno or node.lineno
    if owner.is_class:
        assert isinstance(owner.node, ast.ClassDef)
        if symbols.has_member(owner, node.attr) is False and not _is_given_elsewhere(
            symbols, subject, file, owner, node
        ):
            what = f"`{chain}` is not there: {owner.node.name} has no {node.attr}"
            yield finding_at("PK605", file, line, what, found=_successors(symbols, owner, node.attr),
                             hint="use its new place, or let the topic add it")  # fmt: skip
        return
    module = named(symbols, node.value, place)
    if module.kind is not Kind.MODULE or module.source is None:
        yield from _nowhere(symbols, subject, file, node, place)
        return
    if symbols.look_up(module.source, node.attr).kind is Kind.MISSING and not _is_submodule(module, node, subject):
        what = f"`{chain}` is not there: the module has no {node.attr}"
        yield finding_at("PK605", file, line, what, hint="upstream moved or renamed it")


def _nowhere(
    symbols: Symbols, subject: Subject, file: PatchedFile, node: ast.Attribute, place: Place
) -> Iterator[Finding]:
    """Yield an attribute of an object of unknown type whose name stands nowhere in the tree: renamed, or misspelt."""
    assert subject.index is not None
    root: ast.expr = node
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if (
        not isinstance(root, ast.Name)
        or _is_foreign(symbols, root.id, place)
        or node.attr in _BUILT_IN
        or node.attr[:2] == "__"
    ):
        return
    if subject.index.has_word(node.attr):
        return
    # Given by the series: defined, assigned, or named in a string, as register_parameter("x", ...) does.
    gives = re.compile(
        rb"\b(def|class) %s\b|\.%s\b\s*(:[^=\n]+)?=(?!=)|^\s*%s\s*[:=]|[\"']%s[\"']" % ((node.attr.encode(),) * 4),
        re.MULTILINE,
    )
    if any(each.after and gives.search(each.after.text) for each in subject.python_files()):
        return
    what = f"`{ast.unparse(node)}`: the name {node.attr} stands nowhere in the tree"
    yield finding_at("PK609", file, node.end_lineno or node.lineno, what, severity=Severity.WARNING,
                     hint="upstream renamed it, or it is misspelt")  # fmt: skip


def _is_foreign(symbols: Symbols, name: str, place: Place) -> bool:
    """Whether a name comes from another package, of which this tree says nothing."""
    scopes = [symbols.local_scope(function, place.source) for function in place.functions]
    bindings = [each for scope in (*scopes, symbols.scope(place.source)) for each in scope.names.get(name, ())]
    imports = [each for each in bindings if isinstance(each.node, ast.Import | ast.ImportFrom)]
    return any(not is_own(each.module) for each in imports)


def _is_submodule(module: Symbol, node: ast.Attribute, subject: Subject) -> bool:
    assert module.source is not None
    folder = module.source.path.removesuffix("__init__.py")
    names = (f"{folder}{node.attr}.py", f"{folder}{node.attr}/__init__.py")
    return any(name in subject.files or (subject.index and subject.index.read(name) is not None) for name in names)


def _is_given_elsewhere(
    symbols: Symbols, subject: Subject, file: PatchedFile, owner: Symbol, node: ast.Attribute
) -> bool:
    """Whether the attribute comes from outside of the class.

    That is so where the unpatched file uses the same chain, where some line sets it on an instance, and where a
    class that inherits has it: a mixin, or an annotation that names a base.
    """
    assert subject.index is not None
    chain = re.compile(rb"(?<![\w.])%s\b" % re.escape(ast.unparse(node).encode()))
    if file.before is not None and chain.search(file.before.text):
        return True
    stored = re.compile(rb"\.%s[ \t]*(:[^=\n]+)?=(?!=)" % node.attr.encode())
    if subject.index.is_stored(node.attr) or any(
        each.after and stored.search(each.after.text) for each in subject.python_files()
    ):
        return True
    assert isinstance(owner.node, ast.ClassDef)
    return any(symbols.has_member(heir, node.attr) is not False for heir in symbols.heirs(subject, owner.node.name))


def _successors(symbols: Symbols, owner: Symbol, name: str) -> str:
    """Return where an attribute of this name is now, one step away from the object: `self.ps.tp_rank`."""
    places = []
    for each in symbols.ancestry(owner)[0]:
        assert isinstance(each.node, ast.ClassDef)
        for held, annotation in symbols.members(each.node).annotations.items():
            kind = symbols.expression(annotation, each.source) if each.source else None
            if kind and kind.is_class and symbols.has_member(kind, name):
                places.append(f".{held}.{name}")
    return f"there is {', '.join(sorted(set(places)))}" if places else ""


def _sources(subject: Subject) -> Iterator[tuple[str, bytes]]:
    """Yield every Python file of the patched tree."""
    assert subject.index is not None
    for path, text in subject.index.sources().items():
        if path not in subject.files:
            yield path, text
    for file in subject.python_files():
        if file.after is not None:
            yield file.path, file.after.text


# -- PK607: calls in added lines --------------------------------------------------------------------------


def _call(symbols: Symbols, file: PatchedFile, node: ast.Call, place: Place) -> Iterator[Finding]:
    called = callee(symbols, node.func, place)
    signature = _signature(symbols, called, is_bound=_is_bound(symbols, node, place))
    reason = misfit(node, signature) if signature else ""
    if not reason:
        return
    first, last = node.lineno, node.end_lineno or node.lineno
    line = next((at for at in range(first, last + 1) if file.origin_at(at)), first)
    assert isinstance(called.node, Definition)
    assert called.source is not None
    yield finding_at(
        "PK607", file, line, f"the call of {last_name(node.func)} does not fit: {reason}",
        found=f"defined at {called.source.path}:{called.node.lineno}", hint="give the arguments as it takes them now",
    )  # fmt: skip


def _is_bound(symbols: Symbols, node: ast.Call, place: Place) -> bool:
    """Whether the call passes an instance: a method called on one. `Class.method(x)` and `module.f(x)` do not."""
    if not isinstance(node.func, ast.Attribute):
        return False
    return named(symbols, node.func.value, place).kind not in (Kind.MODULE, Kind.CLASS)


def _signature(symbols: Symbols, called: Symbol, *, is_bound: bool) -> Signature | None:
    if called.is_class:
        return constructor_of(symbols, called)
    if called.kind is Kind.FUNCTION and isinstance(called.node, Function):
        return signature_of(called.node, is_bound=is_bound)
    return None


# -- PK608: upstream's callers of what the series changed -------------------------------------------------


def _callers(subject: Subject, file: PatchedFile) -> Iterator[Finding]:
    """Yield each call in an upstream line that no longer fits a function whose signature the series changed."""
    if file.before is None or file.after is None:
        return
    changed = {name: each for name, each in _functions(file.after).items() if _has_new_header(file, each)}
    former = _functions(file.before) if changed else {}
    for name, function in changed.items():
        before = former.get(name)
        if before is None or ast.dump(before.args) == ast.dump(function.args):
            continue
        origin = next((each for each in file.origins[function.lineno - 1 : function.end_lineno] if each), None)
        for path, line, reason in _misfitting_callers(subject, name, before, function):
            yield Finding(
                "PK608", Severity.ERROR, f"upstream's call of {name} no longer fits: {reason}", path=path, line=line,
                topic=origin.topic if origin else "", patch_file=origin.patch_file if origin else "",
                patch_line=origin.patch_line if origin else 0,
                found=f"the series changed the signature at {file.path}:{function.lineno}",
                hint="give the new argument a default, or change this caller in the same topic",
            )  # fmt: skip


def _has_new_header(file: PatchedFile, function: Function) -> bool:
    """Whether the series added a line of the signature, but did not add the function as a whole."""
    return file.has_added(function.lineno, function.body[0].lineno - 1) and not file.is_added(
        function.lineno, function.end_lineno or function.lineno
    )


def _functions(source: Source) -> Mapping[str, Function]:
    """Return each module-level function and method by its qualified name."""
    found: dict[str, Function] = {}
    for node in source.tree.body if source.tree else ():
        if isinstance(node, Function):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found.update({f"{node.name}.{each.name}": each for each in node.body if isinstance(each, Function)})
    return found


def _misfitting_callers(
    subject: Subject, name: str, before: Function, after: Function
) -> Iterator[tuple[str, int, str]]:
    """Yield (path, line, reason) of each call that fitted the former signature and does not fit the new one."""
    is_method = "." in name
    assert subject.index is not None
    old, new = signature_of(before, is_bound=is_method), signature_of(after, is_bound=is_method)
    if old is None or new is None or len(subject.index.definitions(after.name)) != 1:
        return  # where several have this name, which one a call means cannot be told
    called = re.compile(rb"\b%s\s*\(" % after.name.encode())
    for path, text in _sources(subject):
        tree = Source(path, text).tree if called.search(text) else None
        for node in ast.walk(tree) if tree else ():
            if not isinstance(node, ast.Call) or last_name(node.func) != after.name:
                continue
            if isinstance(node.func, ast.Attribute) != is_method or misfit(node, old):
                continue
            if reason := misfit(node, new):
                yield path, node.lineno, reason
