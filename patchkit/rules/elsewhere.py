"""PK503, PK504: what the series defines is not already upstream in another place, and hides nothing of upstream."""

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher

from patchkit.model import Finding, Severity
from patchkit.rules.subject import Definition, Function, PatchedFile, Subject, finding_at
from patchkit.rules.symbols import Kind, Symbol, Symbols, last_name

_ALIKE = 0.8  # of the lines of both bodies, after formatting; two unrelated functions of one name share far less
_MIN_STATEMENTS = 3  # a body of two statements is alike by chance


def find(subject: Subject, symbols: Symbols) -> Iterator[Finding]:
    """Yield each added definition that upstream has elsewhere, or that hides a method of a base class."""
    for file in subject.python_files():
        assert file.after is not None
        for node in file.after.tree.body if file.after.tree else ():
            if isinstance(node, Definition) and _is_new(file, node):
                yield from _in_another_file(symbols, subject, file, node)
            elif isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, Function) and _is_new(file, method):
                        yield from _in_a_base(symbols, subject, file, node, method)


def _is_new(file: PatchedFile, node: Definition) -> bool:
    return file.origin_at(node.lineno) is not None and file.is_added(node.lineno, node.end_lineno or node.lineno)


def _in_another_file(symbols: Symbols, subject: Subject, file: PatchedFile, node: Definition) -> Iterator[Finding]:
    assert subject.index is not None
    for path, line in subject.index.definitions(node.name):
        source = symbols.source(path) if path != file.path else None
        for other in source.tree.body if source and source.tree else ():
            if isinstance(other, Definition) and other.name == node.name and _are_alike(node, other):
                yield finding_at(
                    "PK503", file, node.lineno, f"upstream already has {node.name} in another file",
                    found=f"{path}:{line} is nearly the same", hint="import it from there, and drop the hunk",
                )  # fmt: skip


def _in_a_base(
    symbols: Symbols, subject: Subject, file: PatchedFile, owner: ast.ClassDef, method: Function
) -> Iterator[Finding]:
    if method.name.startswith("__"):
        return
    bases, _ = symbols.ancestry(Symbol(Kind.CLASS, file.after, owner))
    for base in bases[1:]:
        assert isinstance(base.node, ast.ClassDef)
        hidden = symbols.members(base.node).methods.get(method.name)
        if hidden is None or base.source is None:
            continue
        found = f"{base.source.path}:{hidden.lineno}"
        name = f"{owner.name}.{method.name}"
        if _are_alike(method, hidden):
            yield finding_at(
                "PK503", file, method.lineno, f"upstream already has {name} in its base class {base.node.name}",
                found=f"{found} is nearly the same", hint="drop the hunk: the class inherits it",
            )  # fmt: skip
        elif not (
            _is_abstract(hidden)
            or _calls_on(method, base.node.name)
            or _is_hook(symbols, subject, owner, base.node.name, method.name)
        ):
            yield finding_at(
                "PK504", file, method.lineno, f"{name} hides {base.node.name}.{method.name} and does not call it",
                severity=Severity.WARNING, found=f"upstream has it at {found}",
                hint=f"call super().{method.name}, or accept the finding with the reason",
            )  # fmt: skip
        return


def _is_hook(symbols: Symbols, subject: Subject, owner: ast.ClassDef, base: str, method: str) -> bool:
    """Whether upstream itself replaces the method in another class below the base: it is meant to be replaced."""
    for heir in symbols.heirs(subject, base):
        assert isinstance(heir.node, ast.ClassDef)
        if heir.node.name != owner.name and method in symbols.members(heir.node).methods:
            return True
    return False


def _are_alike(one: Definition, other: Definition) -> bool:
    if type(one) is not type(other) or min(len(_statements(one)), len(_statements(other))) < _MIN_STATEMENTS:
        return False
    first, second = (_normal_lines(each) for each in (one, other))
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= _ALIKE


def _normal_lines(node: Definition) -> list[str]:
    """Return the body's lines as one formatter would write them."""
    return [line for statement in _statements(node) for line in ast.unparse(statement).splitlines()]


def _statements(node: Definition) -> list[ast.stmt]:
    """Return the body without its docstring."""
    body = node.body
    has_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] if has_text else body


def _is_abstract(method: Function) -> bool:
    """Whether a body is only there to be replaced: empty, `...`, `return None`, or it raises NotImplementedError."""
    if any(last_name(decorator) == "abstractmethod" for decorator in method.decorator_list):
        return True
    match _statements(method):
        case [] | [ast.Pass()] | [ast.Return(value=None | ast.Constant())] | [ast.Expr(value=ast.Constant())]:
            return True
        case [ast.Raise(exc=ast.expr() as exc)]:
            return last_name(exc) == "NotImplementedError"
        case _:
            return False


def _calls_on(method: Function, base: str) -> bool:
    """Whether the method calls the one that it hides."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == method.name and last_name(node.value) in ("super", base)
        for node in ast.walk(method)
    )
