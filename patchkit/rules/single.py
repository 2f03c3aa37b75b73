"""PK5xx: what the series adds is there once: not defined twice, not already upstream, not called twice."""

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

from patchkit.model import Finding, Severity
from patchkit.rules.paths import Paths, Statement, bodies_of, leaves, names_in
from patchkit.rules.subject import Definition, Function, PatchedFile, Subject, finding_at
from patchkit.rules.symbols import last_name

# A second definition under one of these is how the decorator works, not a mistake.
_REPEATING_DECORATORS = {"overload", "setter", "getter", "deleter", "register", "register_fake", "dispatch"}
# Calls whose second run on one path frees, ends or counts a thing twice. `append`, `log` and the like may repeat too.
_ONCE = ("release", "free", "abort", "close", "delete", "remove", "pop", "unlock", "deregister", "dec_", "decrement",
         "stream_output", "finish", "conclude", "send_", "increment")  # fmt: skip


def find(subject: Subject) -> Iterator[Finding]:
    """Yield what the series has twice."""
    for file in subject.python_files():
        if file.after is not None and file.after.tree is not None:
            yield from defined_twice(file)
            yield from applied_twice(file)


# -- PK501: defined twice ---------------------------------------------------------------------------------


def defined_twice(file: PatchedFile) -> Iterator[Finding]:
    """Yield each name that one body binds twice, where the series brought one of the two."""
    assert file.after is not None
    assert file.after.tree is not None
    for owner in (file.after.tree, *file.changed_definitions()):
        for name, bindings in _bindings(owner).items():
            for former, later in itertools.pairwise(bindings):
                yield from _twice(file, name, former, later)
        if isinstance(owner, Function):
            yield from _flags_twice(file, owner)


def _bindings(owner: ast.Module | Definition) -> dict[str, list[ast.stmt]]:
    """Return the statements of a body that define each name; a function's plain assignments may repeat."""
    found: dict[str, list[ast.stmt]] = defaultdict(list)
    for statement in owner.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                if name != "_" and not _may_repeat(statement):
                    found[name].append(statement)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ) if isinstance(owner, ast.ClassDef | ast.Module):
                if name != "_" and not (value and name in names_in(value)):
                    found[name].append(statement)
            case _:
                pass
    return found


def _twice(file: PatchedFile, name: str, former: ast.stmt, later: ast.stmt) -> Iterator[Finding]:
    added = [statement for statement in (former, later) if file.origin_at(statement.lineno)]
    if not added or (isinstance(former, ast.AnnAssign) and former.value is None):
        return
    assert file.after is not None
    scope = file.after.scopes.at(later.lineno).partition("#")[0]
    shown = scope if scope.endswith(name) else name
    kind = "defined" if isinstance(later, Definition) else "assigned"
    whose = "both by the series" if len(added) == 2 else "upstream has it too"
    yield finding_at(
        "PK501",
        file,
        added[-1].lineno,
        f"{shown} is {kind} twice in one body, {whose}",
        found=f"lines {former.lineno} and {later.lineno}; Python keeps the one at {later.lineno}",
        hint="drop the hunk if upstream's does the same; else change upstream's in place",
    )


def _flags_twice(file: PatchedFile, function: Function) -> Iterator[Finding]:
    """Yield each command line flag that one function adds twice: argparse then refuses to start."""
    seen: dict[str, int] = {}
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[ast.Constant(value=str(flag)), *_]):
                former = seen.setdefault(flag, node.lineno)
                line = next((at for at in (node.lineno, former) if file.origin_at(at)), 0)
                if former != node.lineno and line:
                    yield finding_at("PK501", file, line, f"the flag {flag} is added twice", found=f"first at {former}")
            case _:
                pass


def _may_repeat(definition: Definition) -> bool:
    return any(last_name(decorator) in _REPEATING_DECORATORS for decorator in definition.decorator_list)


# -- PK502, PK505: applied twice --------------------------------------------------------------------------


def applied_twice(file: PatchedFile) -> Iterator[Finding]:
    """Yield each added statement that the same path of its function already runs."""
    for function in file.changed_definitions():
        if isinstance(function, Function):
            yield from _repeats(file, function)


def _repeats(file: PatchedFile, function: Function) -> Iterator[Finding]:
    paths = Paths(file, function, _counts)
    reported: set[int] = set()
    for alike in _groups(paths.statements):
        for statement in alike:
            if not statement.added or statement.first in reported:
                continue
            for twin in alike:
                if twin is statement or (twin.added and twin.first > statement.first):
                    continue
                if statement.text != twin.text or not paths.meet(statement, twin):
                    continue
                if paths.means_another(statement, twin) or not (weight := _weight(statement, twin, paths.statements)):
                    continue
                reported.update(range(statement.first, statement.last + 1))
                yield _repeat_finding(file, *weight, statement, twin)
                break


def _groups(statements: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Yield the statements that may be equal, where one of several is added: to write each one out is what costs."""
    groups: dict[object, list[Statement]] = defaultdict(list)
    for statement in statements:
        node = statement.node
        called = last_name(node.value) if isinstance(node, ast.Expr) else ""
        groups[type(node), called, *(type(below) for below in bodies_of(node))].append(statement)
    for group in groups.values():
        if len(group) > 1 and any(statement.added for statement in group):
            yield group


def _counts(node: ast.stmt) -> bool:
    """Whether a second run of the statement may do harm, or shows that a change is there twice."""
    match node:
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith() | ast.Try():
            return any(isinstance(below, ast.Call) for part in bodies_of(node) for below in ast.walk(part))
        case ast.Expr(value=value):
            return is_once(value.value if isinstance(value, ast.Await) else value)
        case ast.Assign() | ast.AugAssign():
            return any(isinstance(target, ast.Attribute | ast.Subscript) for target in _targets(node))
        case _:
            return False


def is_once(node: ast.expr) -> bool:
    """Whether it is a call that a path makes once: it releases, ends or counts something."""
    if not isinstance(node, ast.Call) or not last_name(node).lstrip("_").startswith(_ONCE):
        return False
    # `pop(key)` takes that key; `pop()` takes another thing each time, and `pop(key, None)` is told what to do again.
    return not last_name(node).startswith("pop") or (last_name(node) == "pop" and len(node.args) == 1)


def _weight(statement: Statement, twin: Statement, every: Sequence[Statement]) -> tuple[str, Severity] | None:
    """Return the rule that a repeated statement breaks, and how badly; None for one that may well be there twice."""
    match statement.node:
        case ast.Expr():
            return ("PK505", Severity.ERROR)
        case ast.Assign() | ast.AugAssign() as node:
            is_sole = statement.is_beside(twin) and _is_sole(node, every)
            return ("PK502", Severity.ERROR) if is_sole else None
        case ast.If(body=body, orelse=[]) if leaves(body):
            # A test that leaves cannot act twice: the second one is dead, or asks again after something happened.
            return ("PK502", Severity.WARNING) if statement.is_beside(twin) else None
        case node if twin.added and not _does_more(node):
            return None
        case _:
            return ("PK502", Severity.ERROR)


def _does_more(node: ast.stmt) -> bool:
    """Whether a block releases something or sets a state, so that one would not write it twice on purpose."""
    return any(
        (isinstance(below, ast.Call) and is_once(below))
        or (isinstance(below, ast.Attribute) and isinstance(below.ctx, ast.Store))
        for below in ast.walk(node)
    )


def _targets(node: ast.Assign | ast.AugAssign) -> Sequence[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_sole(node: ast.Assign | ast.AugAssign, every: Sequence[Statement]) -> bool:
    """Whether nothing else in the function writes these targets: a second equal write then does nothing."""
    written = [statement for statement in every if isinstance(statement.node, ast.Assign | ast.AugAssign)]
    targets = tuple(f"{ast.unparse(target)} " for target in _targets(node))
    return len({statement.text for statement in written if statement.text.startswith(targets)}) == 1


def _repeat_finding(file: PatchedFile, rule: str, severity: Severity, statement: Statement, twin: Statement) -> Finding:
    first_line = statement.text.partition("\n")[0]
    whose = "the series adds it twice" if twin.added else "upstream already has it"
    what = "is called twice on one path" if rule == "PK505" else "is applied twice"
    return finding_at(
        rule,
        file,
        statement.first,
        f"`{first_line}` {what}: {whose} at line {twin.first}",
        severity=severity,
        found=f"line {statement.first} is added, line {twin.first} says the same",
        hint="drop the hunk if upstream has the fix; else show that the second is on another path",
    )
