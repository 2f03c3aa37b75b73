"""PK505 beyond one function: a call that the path makes itself, and that a function which it calls makes too."""

import ast
import copy
from collections.abc import Iterator, Mapping
from functools import cached_property

from patchkit.model import Finding
from patchkit.rules.paths import Paths, Statement, always_run
from patchkit.rules.single import is_once
from patchkit.rules.subject import Definition, Function, PatchedFile, Source, Subject, finding_at
from patchkit.rules.symbols import Kind, Place, Symbol, Symbols, all_parameters, callee, last_name

_MANY = 10  # definitions of one name
_LONG = 200  # lines of a function; a longer one has its releases before


def find(subject: Subject, symbols: Symbols) -> Iterator[Finding]:
    """Yield each release that a function makes, and that one of those it calls makes on every run, for the same thing.

    One of the two, or the call between them, must be the series's. What the called function releases under a
    condition, or after it may have returned, is not counted, nor what its own variables hold.
    """
    texts = _Texts(subject, symbols)
    for file in subject.python_files():
        changed = {each.name for each in file.changed_definitions() if isinstance(each, Function)}
        for function, owner in _functions(file) if changed else ():
            paths = Paths(file, function, _is_call)
            once = [each for each in paths.statements if is_once(_call(each.node))]
            if not once or not (function.name in changed or changed & {_name(each) for each in paths.statements}):
                continue
            assert file.after is not None
            place = Place(file.after, (function,), owner)
            for through in paths.statements:
                # What the call names is looked up last, and what it meets before that: both take time.
                is_ours = through.added or _name(through) in changed
                wanted = [each for each in once if is_ours or each.added]
                if not wanted or not texts.may_make(_name(through), {_name(each) for each in wanted}):
                    continue
                met = [each for each in wanted if _is_beside(paths, each, through)]
                if met:
                    yield from _made_by(subject, symbols, place, through, met)


def _made_by(
    subject: Subject, symbols: Symbols, place: Place, through: Statement, once: list[Statement]
) -> Iterator[Finding]:
    call = _call(through.node)
    assert isinstance(call, ast.Call)
    called = callee(symbols, call.func, place)
    if called.kind is not Kind.FUNCTION or called.source is None or not isinstance(called.node, Function):
        return
    there = subject.files.get(called.source.path)
    for inner in always_run(called.node):
        text = _seen_from(symbols, called, call, inner) if is_once(_call(inner)) else ""
        for statement in once:
            is_ours = statement.added or through.added or (there is not None and there.origin_at(inner.lineno))
            if is_ours and text and ast.unparse(_call(statement.node)) == text:
                yield _finding(subject, place, statement, through, (called, inner))


class _Texts:
    """The text of every function, by its bare name; read once for all calls of it."""

    def __init__(self, subject: Subject, symbols: Symbols) -> None:
        self._subject = subject
        self._symbols = symbols
        self._texts: dict[str, list[bytes]] = {}

    def may_make(self, name: str, made: set[str]) -> bool:
        """Whether some function of this name has one of the calls in it; a name that many have is not followed."""
        if name not in self._texts:
            self._texts[name] = list(self._of(name))
        return any(f"{each}(".encode() in text for text in self._texts[name] for each in made)

    def _of(self, name: str) -> Iterator[bytes]:
        assert self._subject.index is not None
        known = self._subject.index.definitions(name)
        if len(known) > _MANY:
            return
        for path, line in known:
            source = self._symbols.source(path) if path not in self._subject.files else None
            if source is not None:
                yield b"\n".join(source.lines[line : line + _LONG])
        for source, node in self._touched.get(name, ()):
            yield b"\n".join(source.lines[node.lineno : node.end_lineno])

    @cached_property
    def _touched(self) -> Mapping[str, list[tuple[Source, Definition]]]:
        found: dict[str, list[tuple[Source, Definition]]] = {}
        for file in self._subject.python_files():
            for node in file.after.definitions if file.after else ():
                assert file.after is not None
                found.setdefault(node.name, []).append((file.after, node))
        return found


def _is_beside(paths: Paths, statement: Statement, through: Statement) -> bool:
    """Whether one run passes both, and what they name is the same in both."""
    if statement is through or not paths.meet(statement, through):
        return False
    return not paths.means_another(statement, through)


def _functions(file: PatchedFile) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """Yield each function of the module and each method, with its class."""
    assert file.after is not None
    for node in file.after.tree.body if file.after.tree else ():
        if isinstance(node, Function):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            yield from ((each, node) for each in node.body if isinstance(each, Function))


def _call(node: ast.stmt) -> ast.expr:
    """Return what a statement evaluates, an `await` left out; a constant for a statement that is no call."""
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    value = value.value if isinstance(value, ast.Await) else value
    return value if isinstance(value, ast.Call) else ast.Constant(value=None)


def _is_call(node: ast.stmt) -> bool:
    return isinstance(_call(node), ast.Call)


def _name(statement: Statement) -> str:
    return last_name(_call(statement.node))


def _seen_from(symbols: Symbols, called: Symbol, call: ast.Call, inner: ast.stmt) -> str:
    """Return the inner call in the words of the caller; empty where it uses variables of the called function."""
    assert isinstance(called.node, Function)
    assert called.source is not None
    given = _arguments(call, called.node)
    if given is None:
        return ""
    parameters = {parameter.arg for parameter in all_parameters(called.node)}
    own = symbols.local_scope(called.node, called.source).names
    names = {node.id for node in ast.walk(_call(inner)) if isinstance(node, ast.Name)}
    if names & own.keys() or (names & parameters) - given.keys():
        return ""
    return ast.unparse(_Renamed(given).visit(copy.deepcopy(_call(inner))))


def _arguments(call: ast.Call, function: Function) -> Mapping[str, ast.expr] | None:
    """Return the expression that the call gives for each parameter; None where stars leave that open."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(not each.arg for each in call.keywords):
        return None
    names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    is_static = any(last_name(decorator) == "staticmethod" for decorator in function.decorator_list)
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) and names[:1] == ["self"] else []
    if is_static:
        receiver = []
    given = dict(zip(names, [*receiver, *call.args], strict=False))
    return {**given, **{each.arg: each.value for each in call.keywords if each.arg}}


class _Renamed(ast.NodeTransformer):
    """Puts what was given in the place of each parameter."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what was given for the name."""
        return self._given.get(node.id, node)


def _finding(
    subject: Subject, place: Place, statement: Statement, through: Statement, made: tuple[Symbol, ast.stmt]
) -> Finding:
    called, inner = made
    assert called.source is not None
    assert isinstance(called.node, Function)
    file = subject.files[place.source.path]
    there = subject.files.get(called.source.path)
    ours = next((each for each in (statement, through) if each.added), statement)
    origin = file.origin_at(ours.first) or (there.origin_at(inner.lineno) if there else None)
    return finding_at(
        "PK505", file, ours.first, f"`{statement.text}` is called twice on one path: {called.node.name} makes it too",
        origin=origin, found=f"line {through.first} calls it; {called.source.path}:{inner.lineno} does it on every run",
        hint="keep one of the two; if both are meant, accept the finding with the reason",
    )  # fmt: skip
