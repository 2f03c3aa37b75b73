"""PK601, PK602, PK605-PK607, PK609: what the added lines rely on is still there and still takes these arguments."""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from patchkit.model import Finding, Severity
from patchkit.rules.signature import Signature, constructor_of, dataclass_fields, misfit, signature_of
from patchkit.rules.subject import Definition, Function, PatchedFile, Subject, UpstreamIndex, finding_at
from patchkit.rules.symbols import (
    Kind,
    Place,
    Symbol,
    Symbols,
    absolute_module,
    all_parameters,
    callee,
    is_own,
    last_name,
    named,
    package_of,
    type_of,
)

_Use = tuple[ast.AST, Place]
_ALWAYS_BOUND = {*dir(builtins), "__file__", "__path__", "__class__"}
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_STORED = re.compile(rb"(\bself)?\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)")
_GIVEN = re.compile(rb"\b(?:def|class) (\w+)|^[ \t]*(?:self\.)?(\w+)[ \t]*[:=]|[\"'](\w+)[\"']", re.MULTILINE)
# What values of Python's own types have; their type is not followed.
_BUILT_IN = {name for kind in (str, bytes, list, dict, set, tuple, int, float, BaseException) for name in dir(kind)}


@dataclass(frozen=True)
class _Tree:
    """The patched tree, with the names that the series itself gives."""

    symbols: Symbols
    subject: Subject

    @property
    def index(self) -> UpstreamIndex:
        """The names of the unpatched tree."""
        assert self.subject.index is not None
        return self.subject.index

    @cached_property
    def stored(self) -> frozenset[bytes]:
        """Each attribute that a touched file assigns on an object other than `self`."""
        return frozenset(name for text in self._texts for owner, name in _STORED.findall(text) if not owner)

    @cached_property
    def given(self) -> frozenset[bytes]:
        """Each name that a touched file defines, assigns, or has in a string, as register_parameter("x", ...)."""
        found = (match for text in self._texts for match in _GIVEN.finditer(text))
        return self.stored | {match[match.lastindex or 0] for match in found}

    def is_own(self, file: PatchedFile, node: ast.expr) -> bool:
        """Whether most attributes that the unpatched file takes from this expression are ones that upstream gives."""
        if file.before is None:
            return False
        taken = re.compile(rb"(?<![\w.])%s\.(\w+)" % re.escape(ast.unparse(node).encode()))
        names = {name.decode() for name in taken.findall(file.before.text)}
        own = [name for name in names if self.index.is_stored(name) or self.index.definitions(name)]
        return 2 * len(own) > len(names)

    @cached_property
    def _texts(self) -> list[bytes]:
        return [file.after.text for file in self.subject.python_files() if file.after]


def find(subject: Subject, symbols: Symbols) -> Iterator[Finding]:
    """Yield each use in an added line that the patched tree does not answer."""
    tree = _Tree(symbols, subject)
    for file in subject.python_files():
        assert file.after is not None
        if file.after.tree is None:
            continue
        for node, place in _added_uses(file, file.after.tree.body, Place(file.after)):
            match node:
                case ast.Import() | ast.ImportFrom():
                    found = list(_imports(symbols, file, node))
                    if found and not _may_fail(file.after.tree, node):
                        yield from found
                case ast.Attribute(ctx=ast.Load()):
                    yield from _attribute(tree, file, node, place)
                case ast.Call():
                    yield from _call(tree, file, node, place)
                case ast.Expr(value=ast.Call() as call):
                    yield from _not_awaited(symbols, file, call, place)
                case ast.Name(ctx=ast.Load()):
                    yield from _name(symbols, file, node, place)
                case _:
                    pass
        yield from _field_order(file)


def _added_uses(file: PatchedFile, body: list[ast.stmt], place: Place) -> Iterator[_Use]:
    """Yield each node that an added line holds, with the functions and the class around it."""
    for statement in body:
        if file.has_added(_first_line(statement), statement.end_lineno or statement.lineno):
            yield from _uses_below(file, statement, place)


def _uses_below(file: PatchedFile, node: ast.AST, place: Place) -> Iterator[_Use]:
    if isinstance(node, ast.ClassDef):
        place = Place(place.source, (), node)
    elif isinstance(node, Function | ast.Lambda):
        place = Place(place.source, (*place.functions, node), place.owner)
    elif isinstance(node, ast.expr | ast.Expr | ast.Import | ast.ImportFrom):
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
            if is_own(alias.name) and symbols.module(alias.name) is None and not _is_compiled(alias.name):
                yield _import_finding(file, _alias_line(file, node, alias), f"there is no module {alias.name}")
        return
    module = absolute_module(node, package_of(file.path))
    for alias in node.names:
        line = _alias_line(file, node, alias)
        if alias.name == "*" or not file.origin_at(line):
            continue
        if symbols.imported(module, alias.name).kind is Kind.MISSING:
            is_there = symbols.module(module) is not None
            if not is_there and _is_compiled(module):
                continue
            what = f"{module} has no {alias.name}" if is_there else f"there is no module {module}"
            yield _import_finding(file, line, what)


def _is_compiled(module: str) -> bool:
    """Whether the name is one as compiled modules have, which are no source and not in the tree."""
    return module.rpartition(".")[2].startswith("_")


def _may_fail(tree: ast.Module, node: ast.stmt) -> bool:
    """Whether the import stands where its failure is taken: in a `try` for it, or in a `suppress`."""
    for each in ast.walk(tree):
        match each:
            case ast.Try(body=body, handlers=handlers):
                taken = [last_name(name) for handler in handlers for name in _taken(handler)]
            case ast.With(body=body, items=[ast.withitem(context_expr=ast.Call(args=names) as call)]):
                taken = [last_name(name) for name in names] if last_name(call) == "suppress" else []
            case _:
                continue
        if _IMPORT_ERRORS & set(taken) and any(node is below for statement in body for below in ast.walk(statement)):
            return True
    return False


def _taken(handler: ast.ExceptHandler) -> list[ast.expr]:
    """Return the exceptions that a handler names; one that names none takes all."""
    match handler.type:
        case None:
            return [ast.Name("BaseException")]
        case ast.Tuple(elts=names):
            return names
        case name:
            return [name]


def _alias_line(file: PatchedFile, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> int:
    return alias.lineno if file.origin_at(alias.lineno) else node.lineno


def _import_finding(file: PatchedFile, line: int, message: str) -> Finding:
    return finding_at("PK606", file, line, message, hint="upstream moved or renamed it: git log -S, or patchkit rebase")


# -- PK605: attributes ------------------------------------------------------------------------------------


def _attribute(tree: _Tree, file: PatchedFile, node: ast.Attribute, place: Place) -> Iterator[Finding]:
    symbols = tree.symbols
    owner = type_of(symbols, node.value, place)
    chain = ast.unparse(node)
    line = node.end_lineno or node.lineno
    if owner.is_class:
        assert isinstance(owner.node, ast.ClassDef)
        if symbols.has_member(owner, node.attr) is False and not _is_given_elsewhere(tree, file, owner, node):
            what = f"`{chain}` is not there: {owner.node.name} has no {node.attr}"
            yield finding_at("PK605", file, line, what, found=_successors(symbols, owner, node.attr),
                             hint="use its new place, or let the topic add it")  # fmt: skip
        return
    module = named(symbols, node.value, place)
    if module.kind is not Kind.MODULE or module.source is None:
        yield from _nowhere(tree, file, node, place)
        return
    if symbols.look_up(module.source, node.attr).kind is Kind.MISSING and not _is_submodule(tree, module, node):
        what = f"`{chain}` is not there: the module has no {node.attr}"
        yield finding_at("PK605", file, line, what, hint="upstream moved or renamed it")


def _nowhere(tree: _Tree, file: PatchedFile, node: ast.Attribute, place: Place) -> Iterator[Finding]:
    """Yield an attribute of an object of unknown type whose name stands nowhere in the tree: renamed, or misspelt.

    The object must be upstream's own, as the attributes show that upstream's lines of this file take from it:
    what a tensor or a library's object has is not written in this tree.
    """
    root: ast.expr = node
    if not place.owner and ast.unparse(node.value).split(".")[0] == "self":
        return  # a function that is put into another package's class
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if (
        not isinstance(root, ast.Name)
        or _is_foreign(tree.symbols, root.id, place)
        or node.attr in _BUILT_IN
        or node.attr[:2] == "__"
    ):
        return
    if tree.index.has_word(node.attr) or node.attr.encode() in tree.given or not tree.is_own(file, node.value):
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


def _is_submodule(tree: _Tree, module: Symbol, node: ast.Attribute) -> bool:
    assert module.source is not None
    folder = module.source.path.removesuffix("__init__.py")
    names = (f"{folder}{node.attr}.py", f"{folder}{node.attr}/__init__.py")
    return any(tree.symbols.source(name) is not None for name in names)


def _is_given_elsewhere(tree: _Tree, file: PatchedFile, owner: Symbol, node: ast.Attribute) -> bool:
    """Whether the attribute comes from outside of the class.

    That is so where the unpatched file uses the same chain, where some line sets it on an instance, and where a
    class that inherits has it: a mixin, or an annotation that names a base.
    """
    chain = re.compile(rb"(?<![\w.])%s\b" % re.escape(ast.unparse(node).encode()))
    if file.before is not None and chain.search(file.before.text):
        return True
    if tree.index.is_stored_from_outside(node.attr) or node.attr.encode() in tree.stored:
        return True
    assert isinstance(owner.node, ast.ClassDef)
    heirs = list(tree.symbols.heirs(tree.subject, owner.node.name))
    if not heirs and ("Mixin" in owner.node.name or "/test/" in file.path):
        return True  # whoever takes it in is outside of the tree: a test case
    return any(tree.symbols.has_member(heir, node.attr) is not False for heir in heirs)


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


# -- PK601: a class that cannot be made -------------------------------------------------------------------


def _field_order(file: PatchedFile) -> Iterator[Finding]:
    """Yield an added dataclass field that makes the import fail: one without a default behind one with."""
    for node in file.changed_definitions():
        if not isinstance(node, ast.ClassDef) or "dataclass" not in map(last_name, node.decorator_list):
            continue
        fields = dataclass_fields([node])
        names = [name for name, _ in fields.positional] if fields else []
        required = [name for name, has_default in fields.positional if not has_default] if fields else []
        late = [name for name in required if required.index(name) != names.index(name)]
        if late and fields:
            line = next((each.lineno for each in node.body if file.origin_at(each.lineno)), node.lineno)
            what = f"{node.name} cannot be made: its field {late[0]} has no default and stands behind one that has"
            yield finding_at(
                "PK601", file, line, what, hint="give the new field a default, or move it above those that have one"
            )


# -- PK602: names that ruff takes for bound ----------------------------------------------------------------


def _name(symbols: Symbols, file: PatchedFile, node: ast.Name, place: Place) -> Iterator[Finding]:
    """Yield a name that is bound for type checkers only, or that a star import was to bring and does not."""
    if node.id in _ALWAYS_BOUND or any(_binds(symbols, function, node.id, place) for function in place.functions):
        return
    if place.owner is not None and node.id in symbols.members(place.owner).names:
        return
    scope = symbols.scope(place.source)
    bindings = scope.names.get(node.id)
    if bindings and all(binding.for_types for binding in bindings):
        what = f"`{node.id}` is imported for type checkers only, and used when the code runs"
    elif not bindings and scope.stars and symbols.look_up(place.source, node.id).kind is Kind.MISSING:
        what = f"`{node.id}` is not defined: {' and '.join(scope.stars)} no longer brings it by `*`"
    else:
        return
    assert file.after is not None
    assert file.after.tree is not None
    if not _is_type_only(file.after.tree, node):
        yield finding_at("PK602", file, node.lineno, what, hint="import it where it is used, or at the top")


def _binds(symbols: Symbols, function: Function | ast.Lambda, name: str, place: Place) -> bool:
    is_parameter = any(parameter.arg == name for parameter in all_parameters(function))
    return is_parameter or name in symbols.local_scope(function, place.source).names


def _is_type_only(tree: ast.Module, node: ast.Name) -> bool:
    """Whether the name stands where it is not evaluated: under TYPE_CHECKING, or in an annotation that is kept as text.

    An annotation is text by `from __future__ import annotations`, and of a variable in a function always.
    """
    is_text = any(isinstance(each, ast.ImportFrom) and each.module == "__future__" for each in tree.body)
    for each in _around(tree, node.lineno):
        match each:
            case ast.If(test=test, body=body) if last_name(test) == "TYPE_CHECKING":
                unread: list[ast.AST] = [*body]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                local = [below.annotation for below in ast.walk(each) if isinstance(below, ast.AnnAssign)]
                kept = [parameter.annotation for parameter in all_parameters(each)] if is_text else []
                unread = [part for part in (*local, *kept, each.returns if is_text else None) if part is not None]
            case ast.AnnAssign(annotation=annotation) if is_text:
                unread = [annotation]
            case _:
                continue
        if any(node is below for part in unread for below in ast.walk(part)):
            return True
    return False


def _around(tree: ast.Module, line: int) -> Iterator[ast.stmt]:
    """Yield the statements that a line is part of, outer before inner."""
    pending: list[ast.AST] = [tree]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                continue
            if isinstance(child, ast.match_case) or child.lineno <= line <= (child.end_lineno or line):
                pending.append(child)
                if isinstance(child, ast.stmt):
                    yield child


# -- PK607: calls in added lines --------------------------------------------------------------------------


def _call(tree: _Tree, file: PatchedFile, node: ast.Call, place: Place) -> Iterator[Finding]:
    symbols = tree.symbols
    called = callee(symbols, node.func, place)
    signature = _signature(symbols, called, is_bound=_is_bound(symbols, node, place))
    reason = misfit(node, signature) if signature else ""
    if not reason or _fits_an_heir(tree, node, place):
        return
    first, last = node.lineno, node.end_lineno or node.lineno
    line = next((at for at in range(first, last + 1) if file.origin_at(at)), first)
    assert isinstance(called.node, Definition)
    assert called.source is not None
    yield finding_at(
        "PK607", file, line, f"the call of {last_name(node.func)} does not fit: {reason}",
        found=f"defined at {called.source.path}:{called.node.lineno}", hint="give the arguments as it takes them now",
    )  # fmt: skip


def _not_awaited(symbols: Symbols, file: PatchedFile, call: ast.Call, place: Place) -> Iterator[Finding]:
    """Yield a statement that calls a coroutine and drops it: upstream made the function async, and nothing runs."""
    called = callee(symbols, call.func, place)
    if not isinstance(called.node, ast.AsyncFunctionDef) or called.node.decorator_list or called.source is None:
        return
    yield finding_at(
        "PK607", file, call.lineno, f"the call of {last_name(call.func)} does not fit: it is never awaited",
        found=f"async at {called.source.path}:{called.node.lineno}", hint="await it, or make a task of it",
    )  # fmt: skip


def _fits_an_heir(tree: _Tree, node: ast.Call, place: Place) -> bool:
    """Whether the object may be of a class further down, whose method of this name takes these arguments."""
    if not isinstance(node.func, ast.Attribute):
        return False
    owner = type_of(tree.symbols, node.func.value, place)
    heirs = tree.symbols.heirs(tree.subject, owner.node.name) if isinstance(owner.node, ast.ClassDef) else ()
    for heir in heirs:
        assert isinstance(heir.node, ast.ClassDef)
        method = tree.symbols.members(heir.node).methods.get(node.func.attr)
        signature = signature_of(method, is_bound=True) if method else None
        if method and (signature is None or not misfit(node, signature)):
            return True
    return False


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
