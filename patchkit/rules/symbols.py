"""Look names up in the patched tree: modules, what they bind, classes with their bases and members."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.rules.subject import Source, Subject, definitions_in
from patchkit.source.scopes import BODIES

PACKAGE = "sglang"
_ROOT = SOURCE_PREFIX.removesuffix(f"{PACKAGE}/")
_MAX_HOPS = 12  # of re-exports and of base classes; a longer chain is a cycle

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Bases from outside of the tree that bring no attribute that a reader would take for the class's own.
_PLAIN_BASES = {"object", "ABC", "Protocol", "Generic"}
# A value of such a class has more than the class says: it is another class, which need not inherit from this one.
_STRUCTURAL = "Protocol"


class Kind(Enum):
    """What a name stands for. UNKNOWN: it is bound, but what to is not read here, or it is from another package."""

    CLASS = auto()
    INSTANCE = auto()  # of the class that `node` is
    FUNCTION = auto()
    MODULE = auto()
    UNKNOWN = auto()
    MISSING = auto()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that was looked up. source, node: where it is defined, for CLASS, FUNCTION and MODULE."""

    kind: Kind
    source: Source | None = None
    node: ast.AST | None = None

    @property
    def is_class(self) -> bool:
        """Whether it is a class of the tree."""
        return self.kind is Kind.CLASS


UNKNOWN = Symbol(Kind.UNKNOWN)
MISSING = Symbol(Kind.MISSING)


@dataclass(frozen=True, slots=True)
class Binding:
    """One statement that binds a name in a module. module, name: what an import names; name is empty for `import m`."""

    node: ast.AST
    module: str = ""
    name: str = ""
    for_types: bool = False  # under `if TYPE_CHECKING`: it does not exist when the code runs


class Scope:
    """What the statements of one module or function bind, nested blocks included, nested definitions not."""

    def __init__(self, body: list[ast.stmt], package: str) -> None:
        self.names: dict[str, list[Binding]] = {}
        self.stars: list[str] = []
        self._package = package
        self._for_types = False
        for statement in body:
            self._take(statement)

    def _bind(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(replace(binding, for_types=self._for_types))

    def _take(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._bind(node.name, Binding(node))
                return
            case ast.Lambda():
                return
            case ast.If(test=test, body=body, orelse=orelse) if last_name(test) == "TYPE_CHECKING":
                self._for_types = True
                for statement in body:
                    self._take(statement)
                self._for_types = False
                for statement in orelse:
                    self._take(statement)
                return
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self._bind(name, Binding(node, alias.name if alias.asname else name))
            case ast.ImportFrom():
                module = absolute_module(node, self._package)
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(module)
                    else:
                        self._bind(alias.asname or alias.name, Binding(node, module, alias.name))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)) if name == other:
                return  # as a renaming of both sides leaves it
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._bind(name, Binding(node))
                self._take(value)
                return
            case ast.AnnAssign(target=ast.Name(id=name)):
                self._bind(name, Binding(node))
                return
            case ast.Name(id=name, ctx=ast.Store()):
                self._bind(name, Binding(node))
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self._bind(name, Binding(node))
            case _:
                pass
        for below in ast.iter_child_nodes(node):
            self._take(below)


@dataclass(frozen=True)
class ClassMembers:
    """What one class body says, its bases left out.

    open_ended: it answers to names that its text does not show (`__getattr__`, `setattr(self, ...)`).
    """

    names: frozenset[str]
    methods: Mapping[str, Function]
    annotations: Mapping[str, ast.expr]
    open_ended: bool


class Symbols:
    """Looks names up in the patched tree. read: returns a file that the series does not touch."""

    def __init__(self, files: Mapping[str, Source | None], read: Callable[[str], bytes | None]) -> None:
        self._touched = dict(files)
        self._sources = dict(files)
        self._read = read
        self._scopes: dict[int, Scope] = {}
        self._members: dict[int, ClassMembers] = {}
        self._ancestries: dict[int, tuple[list[Symbol], bool]] = {}

    @classmethod
    def of(cls, subject: Subject) -> "Symbols":
        """Return the symbols of the patched tree. One serves all rules: parsing is what costs."""
        assert subject.index is not None
        return cls({path: file.after for path, file in subject.files.items()}, subject.index.read)

    def source(self, path: str) -> Source | None:
        """Return a file of the patched tree; None where there is none."""
        if path not in self._sources:
            text = self._read(path)
            self._sources[path] = None if text is None else Source(path, text)
        return self._sources[path]

    def sources(self) -> Mapping[str, Source | None]:
        """Return every file that was looked at so far."""
        return self._sources

    def module(self, dotted: str) -> Source | None:
        """Return the file of a module; None for one that is not in the tree."""
        stem = _ROOT + dotted.replace(".", "/")
        return self.source(f"{stem}.py") or self.source(f"{stem}/__init__.py")

    def scope(self, source: Source) -> Scope:
        """Return what a module binds."""
        tree = source.tree
        assert tree is not None
        if id(tree) not in self._scopes:
            self._scopes[id(tree)] = Scope(tree.body, package_of(source.path))
        return self._scopes[id(tree)]

    def local_scope(self, function: Function | ast.Lambda, source: Source) -> Scope:
        """Return what a function binds besides its parameters."""
        if id(function) not in self._scopes:
            body = [] if isinstance(function, ast.Lambda) else function.body
            self._scopes[id(function)] = Scope(body, package_of(source.path))
        return self._scopes[id(function)]

    def look_up(self, source: Source, name: str, hops: int = 0) -> Symbol:
        """Return what a module-level name of a file stands for, through re-exports."""
        if source.tree is None or hops > _MAX_HOPS:
            return UNKNOWN
        scope = self.scope(source)
        if name in scope.names:
            bindings = scope.names[name]
            return self.bound(bindings[-1], source, hops) if len(bindings) == 1 else UNKNOWN
        if "__getattr__" in scope.names:
            return UNKNOWN
        for module in scope.stars:
            found = self.imported(module, name, hops + 1) if self._gives_by_star(module, name) else MISSING
            if found.kind is not Kind.MISSING:
                return found
        return MISSING

    def _gives_by_star(self, module: str, name: str) -> bool:
        """Whether `from module import *` may bring the name: what `__all__` lists, or what has no underscore before."""
        source = self.module(module) if is_own(module) else None
        if source is None or source.tree is None:
            return True
        if b"__all__." in source.text:
            return True  # it is changed later
        listed = self.scope(source).names.get("__all__", [])
        match [binding.node for binding in listed]:
            case []:
                return not name.startswith("_")
            case [ast.Assign(value=ast.List(elts=names) | ast.Tuple(elts=names))] if all(
                isinstance(each, ast.Constant) for each in names
            ):
                return name in [each.value for each in names if isinstance(each, ast.Constant)]
            case _:
                return True  # built from other lists

    def bound(self, binding: Binding, source: Source, hops: int = 0) -> Symbol:
        """Return what one binding stands for."""
        match binding.node:
            case ast.ClassDef():
                return Symbol(Kind.CLASS, source, binding.node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return Symbol(Kind.FUNCTION, source, binding.node)
            case ast.Import():
                module = self.module(binding.module)
                return Symbol(Kind.MODULE, module, module.tree) if module else UNKNOWN
            case ast.ImportFrom():
                found = self.imported(binding.module, binding.name, hops + 1)
                return UNKNOWN if found.kind is Kind.MISSING else found
            case ast.Assign(value=ast.Name() | ast.Attribute() as other):  # an alias: Old = New
                return self.expression(other, source, hops + 1)
            case ast.Assign(value=ast.Call(func=maker)):
                return instance_of(self.expression(maker, source, hops + 1))
            case ast.AnnAssign(annotation=annotation):
                return instance_of(self.expression(annotation, source, hops + 1))
            case _:
                return UNKNOWN

    def imported(self, module: str, name: str, hops: int = 0) -> Symbol:
        """Return what `from module import name` brings; MISSING where a module of the tree has no such name."""
        if not is_own(module):
            return UNKNOWN
        source = self.module(module)
        below = self.module(f"{module}.{name}")
        if source is None:
            return Symbol(Kind.MODULE, below, below.tree) if below else MISSING
        found = self.look_up(source, name, hops)
        if found.kind is Kind.MISSING and (below or self._is_folder(f"{module}.{name}")):
            return Symbol(Kind.MODULE, below, below.tree) if below else UNKNOWN
        return found

    def _is_folder(self, dotted: str) -> bool:
        # A namespace package has no file of its own. That is rare in sglang; a module below it settles it.
        folder = _ROOT + dotted.replace(".", "/") + "/"
        return any(path.startswith(folder) and source is not None for path, source in self._sources.items())

    # -- classes ------------------------------------------------------------------------------------------

    def members(self, node: ast.ClassDef) -> ClassMembers:
        """Return what one class body says."""
        if id(node) not in self._members:
            self._members[id(node)] = _read_members(node)
        return self._members[id(node)]

    def ancestry(self, symbol: Symbol) -> tuple[list[Symbol], bool]:
        """Return the class with its bases, nearest first, and whether all of them were found in the tree."""
        if id(symbol.node) not in self._ancestries:
            self._ancestries[id(symbol.node)] = self._ancestry(symbol)
        return self._ancestries[id(symbol.node)]

    def _ancestry(self, symbol: Symbol) -> tuple[list[Symbol], bool]:
        found: list[Symbol] = []
        complete = True
        pending = [symbol]
        while pending and len(found) < 4 * _MAX_HOPS:
            here = pending.pop(0)
            if any(here.node is there.node for there in found):
                continue
            found.append(here)
            assert isinstance(here.node, ast.ClassDef)
            assert here.source is not None
            complete = complete and not here.node.keywords
            for base in here.node.bases:
                above = self.expression(base, here.source)
                if above.is_class:
                    pending.append(above)
                else:
                    complete = complete and last_name(base) in _PLAIN_BASES
        return found, complete

    def heirs(self, subject: Subject, name: str) -> Iterator[Symbol]:
        """Yield each class of the tree that inherits from one of this bare name, near or far."""
        assert subject.index is not None
        seen = {name}
        pending = [name]
        while pending:
            base = pending.pop()
            untouched = [each for each in subject.index.heirs(base) if each[0] not in self._touched]
            for path, heir in (*untouched, *self._touched_heirs.get(base, ())):
                source = self.source(path)
                found = self.look_up(source, heir) if source else None
                if found and found.is_class:
                    yield found
                if heir not in seen:
                    seen.add(heir)
                    pending.append(heir)

    @cached_property
    def _touched_heirs(self) -> Mapping[str, list[tuple[str, str]]]:
        """(path, name) of each class in a touched file, by the bare name of each of its bases."""
        found: dict[str, list[tuple[str, str]]] = {}
        for path, source in self._touched.items():
            for node in definitions_in(source.tree) if source and source.tree else ():
                for base in node.bases if isinstance(node, ast.ClassDef) else ():
                    found.setdefault(last_name(base), []).append((path, node.name))
        return found

    def has_member(self, symbol: Symbol, name: str) -> bool | None:
        """Return whether instances of the class have the attribute; None where its text cannot tell."""
        classes, complete = self.ancestry(symbol)
        assert isinstance(symbol.node, ast.ClassDef)
        open_ended = not complete or any(last_name(base) == _STRUCTURAL for base in symbol.node.bases)
        for each in classes:
            assert isinstance(each.node, ast.ClassDef)
            members = self.members(each.node)
            if name in members.names:
                return True
            open_ended = open_ended or members.open_ended
        return True if hasattr(object, name) else None if open_ended else False

    def method(self, symbol: Symbol, name: str) -> Symbol:
        """Return the method that the class's instances have under this name; UNKNOWN where it cannot be told."""
        classes, complete = self.ancestry(symbol)
        for each in classes:
            assert isinstance(each.node, ast.ClassDef)
            members = self.members(each.node)
            if name in members.methods:
                return Symbol(Kind.FUNCTION, each.source, members.methods[name])
            if name in members.names:
                return UNKNOWN
        return MISSING if complete else UNKNOWN

    def expression(self, node: ast.expr, source: Source, hops: int = 0) -> Symbol:
        """Return what a name, an attribute of a module or a quoted annotation stands for, at module level."""
        match node:
            case ast.Name(id=name):
                found = self.look_up(source, name, hops)
                return UNKNOWN if found.kind is Kind.MISSING else found
            case ast.Constant(value=str(text)):
                return self.expression(parsed_expression(text), source, hops + 1)
            case ast.Attribute(value=value, attr=name):
                owner = self.expression(value, source, hops)
                if owner.kind is Kind.MODULE and owner.source:
                    return self.expression(ast.Name(id=name), owner.source, hops + 1)
                return UNKNOWN
            case ast.Subscript(value=value, slice=inner) if last_name(value) in ("Optional", "Annotated", "Final"):
                first = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
                return self.expression(first, source, hops)
            case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
                return self.expression(left, source, hops)
            case _:
                return UNKNOWN


@dataclass(frozen=True)
class Place:
    """Where an expression stands: its file, the functions around it (outer first) and the class of the innermost."""

    source: Source
    functions: tuple[Function | ast.Lambda, ...] = ()
    owner: ast.ClassDef | None = None

    @cached_property
    def first_parameter(self) -> str:
        """The name that holds the instance or class, in a method; else empty."""
        if not self.functions or self.owner is None:
            return ""
        method = self.functions[0]
        if isinstance(method, ast.Lambda) or any(
            last_name(decorator) == "staticmethod" for decorator in method.decorator_list
        ):
            return ""
        positional = [*method.args.posonlyargs, *method.args.args]
        return positional[0].arg if positional else ""


def type_of(symbols: Symbols, node: ast.expr, place: Place) -> Symbol:
    """Return the class of which the expression is an instance; UNKNOWN where the text does not say."""
    match node:
        case ast.Name(id=name):
            return _type_of_name(symbols, name, place)
        case ast.Attribute(value=value, attr=name):
            owner = type_of(symbols, value, place)
            if not owner.is_class:
                return UNKNOWN
            for each in symbols.ancestry(owner)[0]:
                assert isinstance(each.node, ast.ClassDef)
                annotation = symbols.members(each.node).annotations.get(name)
                if annotation is not None and each.source is not None:
                    found = symbols.expression(annotation, each.source)
                    return found if found.is_class else UNKNOWN
            return UNKNOWN
        case ast.Call(func=function):
            called = callee(symbols, function, place)
            if called.kind is Kind.FUNCTION and isinstance(called.node, Function) and called.source is not None:
                returns = called.node.returns
                found = symbols.expression(returns, called.source) if returns is not None else UNKNOWN
                return found if found.is_class else UNKNOWN
            return called if called.is_class else UNKNOWN
        case _:
            return UNKNOWN


def callee(symbols: Symbols, node: ast.expr, place: "Place") -> Symbol:
    """Return the function or class that a call's left side names; UNKNOWN where the text does not say."""
    found = named(symbols, node, place)
    if found.kind is Kind.UNKNOWN and isinstance(node, ast.Attribute):
        owner = type_of(symbols, node.value, place)
        return symbols.method(owner, node.attr) if owner.is_class else UNKNOWN
    return found


def _type_of_name(symbols: Symbols, name: str, place: Place) -> Symbol:
    for function in reversed(place.functions):
        if name in symbols.local_scope(function, place.source).names:
            return UNKNOWN
        for parameter in all_parameters(function):
            if parameter.arg != name:
                continue
            if parameter.annotation is not None:
                found = symbols.expression(parameter.annotation, place.source)
                return found if found.is_class else UNKNOWN
            if (
                isinstance(function, Function)
                and function is place.functions[0]
                and name == place.first_parameter
                and place.owner is not None
            ):
                is_class_method = any(last_name(each) == "classmethod" for each in function.decorator_list)
                return UNKNOWN if is_class_method else Symbol(Kind.CLASS, place.source, place.owner)
            return UNKNOWN
    found = symbols.look_up(place.source, name)
    return Symbol(Kind.CLASS, found.source, found.node) if found.kind is Kind.INSTANCE else UNKNOWN


def instance_of(symbol: Symbol) -> Symbol:
    """Return the symbol of an instance of a class."""
    return Symbol(Kind.INSTANCE, symbol.source, symbol.node) if symbol.is_class else UNKNOWN


def named(symbols: Symbols, node: ast.expr, place: Place) -> Symbol:
    """Return what a name or an attribute of a module stands for, seen from inside a function."""
    match node:
        case ast.Name(id=name):
            for function in reversed(place.functions):
                local = symbols.local_scope(function, place.source).names.get(name)
                if local:
                    return symbols.bound(local[0], place.source) if len(local) == 1 else UNKNOWN
                if any(parameter.arg == name for parameter in all_parameters(function)):
                    return UNKNOWN
            found = symbols.look_up(place.source, name)
            return UNKNOWN if found.kind is Kind.MISSING else found
        case ast.Attribute(value=value, attr=name):
            owner = named(symbols, value, place)
            if owner.kind is Kind.MODULE and owner.source is not None:
                return symbols.imported(module_of(owner.source.path), name)
            return UNKNOWN
        case _:
            return UNKNOWN


def _read_members(node: ast.ClassDef) -> ClassMembers:
    names: set[str] = set()
    methods: dict[str, Function] = {}
    annotations: dict[str, ast.expr] = {}
    scope = Scope(node.body, "")
    names.update(scope.names)
    open_ended = bool({"__getattr__", "__getattribute__"} & names)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotations[statement.target.id] = statement.annotation
    for method in (each for bindings in scope.names.values() for each in (bindings[-1].node,)):
        if isinstance(method, Function):
            methods[method.name] = method
            open_ended = _read_instance(method, names, annotations) or open_ended
    return ClassMembers(frozenset(names), methods, annotations, open_ended)


def _read_instance(method: Function, names: set[str], annotations: dict[str, ast.expr]) -> bool:
    """Take in the attributes that a method gives to its instance; return whether it gives more than is seen."""
    positional = [*method.args.posonlyargs, *method.args.args]
    own = positional[0].arg if positional else ""
    types = {parameter.arg: parameter.annotation for parameter in all_parameters(method)}
    open_ended = False
    for statement in _statements_below(method):
        names.update(attr for attr in map(_attribute_of(own), _targets_of(statement)) if attr)
        open_ended = open_ended or _opens(statement, own)
        match statement:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id=name), attr=attr), annotation=kind):
                if name == own:
                    annotations.setdefault(attr, kind)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=attr)], value=ast.Name(id=given)):
                kind_of_given = types.get(given)
                if name == own and kind_of_given is not None:
                    annotations.setdefault(attr, kind_of_given)
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=name), attr=attr)], value=ast.Call(func=ast.Name() as maker)
            ):
                if name == own:
                    annotations.setdefault(attr, maker)
            case _:
                pass
    return open_ended


def _statements_below(owner: ast.AST) -> Iterator[ast.AST]:
    """Yield each statement, handler and case below; not the expressions, which are nine tenths of a tree."""
    for field in BODIES.get(type(owner), ()):
        for node in getattr(owner, field):
            yield node
            if type(node) in BODIES:
                yield from _statements_below(node)


def _targets_of(statement: ast.AST) -> Iterator[ast.expr]:
    """Yield what a statement assigns to, tuples taken apart."""
    match statement:
        case ast.Assign(targets=targets):
            pending = [*targets]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            pending = [target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            pending = [item.optional_vars for item in items if item.optional_vars is not None]
        case _:
            pending = []
    while pending:
        target = pending.pop()
        if isinstance(target, ast.Tuple | ast.List):
            pending += target.elts
        else:
            yield target.value if isinstance(target, ast.Starred) else target


def _attribute_of(own: str) -> Callable[[ast.expr], str]:
    """Return what tells the name of an attribute of the instance, or nothing."""

    def name_of(node: ast.expr) -> str:
        is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own
        return node.attr if is_own and isinstance(node, ast.Attribute) else ""

    return name_of


def _opens(statement: ast.AST, own: str) -> bool:
    """Whether a statement gives the instance attributes that no text names: by setattr, or through `__dict__`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=name), *_])):
            return name == own
        case ast.Expr(value=value) | ast.Assign(value=value):
            parts = [value, *(statement.targets if isinstance(statement, ast.Assign) else ())]
            chains = (below for each in parts for below in _chain(each))
            return any(isinstance(below, ast.Attribute) and below.attr == "__dict__" for below in chains)
        case _:
            return False


def _chain(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression and what it is taken from: `a.b[c](d)`, `a.b[c]`, `a.b`, `a`."""
    while True:
        yield node
        match node:
            case ast.Call(func=inner) | ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case _:
                return


# -- small words ------------------------------------------------------------------------------------------


def all_parameters(function: Function | ast.Lambda) -> Iterator[ast.arg]:
    """Yield every parameter, `*args` and `**kwargs` too."""
    arguments = function.args
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (each for each in (arguments.vararg, arguments.kwarg) if each is not None)


def absolute_module(node: ast.ImportFrom, package: str) -> str:
    """Return the dotted module that a `from` names, a relative one resolved from its package."""
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def module_of(path: str) -> str:
    """Return the dotted name of the module in a file."""
    return path.removeprefix(_ROOT).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def package_of(path: str) -> str:
    """Return the dotted name of the package that a file is in."""
    return path.removeprefix(_ROOT).rpartition("/")[0].replace("/", ".")


def is_own(module: str) -> bool:
    """Whether the module belongs to the upstream package."""
    return module == PACKAGE or module.startswith(PACKAGE + ".")


def last_name(node: ast.AST) -> str:
    """Return the last name of a dotted name or call: `f` of `a.b.f(x)`."""
    match node:
        case ast.Call(func=func):
            return last_name(func)
        case ast.Subscript(value=value):
            return last_name(value)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def parsed_expression(text: str) -> ast.expr:
    """Return the expression in a quoted annotation; a plain constant where it is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return ast.Constant(value=None)
