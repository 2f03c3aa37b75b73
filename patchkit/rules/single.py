"""PK5xx: what the series adds is there once: not defined twice, not already upstream, not called twice."""

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchkit.model import Finding, Severity
from patchkit.rules.subject import Definition, Function, PatchedFile, Subject, finding_at

# A second definition under one of these is how the decorator works, not a mistake.
_REPEATING_DECORATORS = {"overload", "setter", "getter", "deleter", "register", "register_fake", "dispatch"}
# Calls whose second run on one path frees, ends or counts a thing twice. `append`, `log` and the like may repeat.
_ONCE = ("release", "free", "abort", "close", "delete", "remove", "pop", "unlock", "deregister", "dec_", "decrement",
         "clear", "stream_output", "finish", "conclude", "send_", "increment")  # fmt: skip


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
                if name != "_" and not (value and name in _names(value)):
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
    return any(_last_name(decorator) in _REPEATING_DECORATORS for decorator in definition.decorator_list)


# -- PK502, PK505: applied twice --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of a function: its normal form, whether the series added it, and its place in the tree."""

    node: ast.stmt
    text: str
    added: bool
    path: tuple[tuple[int, str, int], ...]  # from the function: (id of the owner, field, index)

    @property
    def first(self) -> int:
        """Its first line."""
        return self.node.lineno

    @property
    def last(self) -> int:
        """Its last line."""
        return self.node.end_lineno or self.node.lineno


def applied_twice(file: PatchedFile) -> Iterator[Finding]:
    """Yield each added statement that the same path of its function already runs."""
    for function in file.changed_definitions():
        if isinstance(function, Function):
            yield from _repeats(file, function)


def _repeats(file: PatchedFile, function: Function) -> Iterator[Finding]:
    owners: dict[int, ast.AST] = {}
    statements = list(_statements(file, function, (), owners))
    by_text: dict[str, list[_Statement]] = defaultdict(list)
    for statement in statements:
        by_text[statement.text].append(statement)
    reported: set[int] = set()
    for statement in statements:
        if not statement.added or statement.first in reported:
            continue
        for twin in by_text[statement.text]:
            if twin is statement or (twin.added and twin.first > statement.first):
                continue
            if not _on_one_path(statement, twin, owners) or _means_another(statement, twin, function):
                continue
            rule = _weight(statement, twin, by_text)
            if rule:
                reported.update(range(statement.first, statement.last + 1))
                yield _repeat_finding(file, rule, statement, twin)
                break


def _counts(node: ast.AST) -> bool:
    """Whether a second run of the statement may do harm, or shows that a change is there twice."""
    match node:
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith() | ast.Try():
            return any(isinstance(below, ast.Call) for part in _bodies(node) for below in ast.walk(part))
        case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
            return _last_name(call).lstrip("_").startswith(_ONCE)
        case ast.Assign() | ast.AugAssign():
            return any(isinstance(target, ast.Attribute | ast.Subscript) for target in _targets(node))
        case _:
            return False


def _weight(statement: _Statement, twin: _Statement, by_text: dict[str, list[_Statement]]) -> str:
    """Return the rule that a repeated statement breaks; empty for one that may well be there twice."""
    node = statement.node
    if isinstance(node, ast.Expr):
        return "PK505"
    if isinstance(node, ast.Assign | ast.AugAssign):
        same_list = statement.path[:-1] == twin.path[:-1] and statement.path[-1][:2] == twin.path[-1][:2]
        return "PK502" if same_list and _alone(_targets(node), by_text) else ""
    return "PK502"


def _means_another(one: _Statement, other: _Statement, function: ast.AST) -> bool:
    """Whether a name that the statement reads is bound anew between the two, as by another loop over other things."""
    first, second = sorted((one, other), key=lambda statement: statement.first)
    read = _names(first.node)
    return any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id in read
        and first.last < node.lineno < second.first
        for node in ast.walk(function)
    )


def _targets(node: ast.Assign | ast.AugAssign) -> Sequence[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _alone(targets: Sequence[ast.expr], by_text: dict[str, list[_Statement]]) -> bool:
    """Whether nothing else in the function writes these targets: a second equal write then does nothing."""
    prefixes = tuple(f"{ast.unparse(target)} " for target in targets)
    return sum(text.startswith(prefixes) for text in by_text) == 1


def _repeat_finding(file: PatchedFile, rule: str, statement: _Statement, twin: _Statement) -> Finding:
    first_line = statement.text.partition("\n")[0]
    whose = "the series adds it twice" if twin.added else "upstream already has it"
    what = "is called twice on one path" if rule == "PK505" else "is applied twice"
    return finding_at(
        rule,
        file,
        statement.first,
        f"`{first_line}` {what}: {whose} at line {twin.first}",
        severity=Severity.ERROR,
        found=f"line {statement.first} is added, line {twin.first} says the same",
        hint="drop the hunk if upstream has the fix; else show that the second is on another path",
    )


def _statements(
    file: PatchedFile, owner: ast.AST, path: tuple[tuple[int, str, int], ...], owners: dict[int, ast.AST]
) -> Iterator[_Statement]:
    """Yield each statement below, outer before inner; nested functions and classes are bodies of their own."""
    owners[id(owner)] = owner
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for index, node in enumerate(getattr(owner, field, None) or ()):
            here = (*path, (id(owner), field, index))
            if isinstance(node, Definition):
                continue
            if isinstance(node, ast.stmt) and _counts(node):
                added = file.is_added(node.lineno, node.end_lineno or node.lineno)
                yield _Statement(node, ast.unparse(node), added, here)
            yield from _statements(file, node, here, owners)


def _on_one_path(one: _Statement, other: _Statement, owners: dict[int, ast.AST]) -> bool:
    """Whether some run of the function passes both statements.

    They part at the deepest owner that holds both: two branches of an `if` or `match` exclude each other, and
    so do two handlers; in one list the earlier must be able to reach its end.
    """
    first, second = sorted((one, other), key=lambda statement: statement.first)
    depth = 0
    while depth < min(len(first.path), len(second.path)) and first.path[depth] == second.path[depth]:
        depth += 1
    if depth in (len(first.path), len(second.path)):
        return False  # one inside the other
    (owner_id, field, index), (_, other_field, other_index) = first.path[depth], second.path[depth]
    owner = owners[owner_id]
    if field == other_field and field in ("handlers", "cases") and index != other_index:
        return False
    if isinstance(owner, ast.If) and field != other_field:
        return False
    if isinstance(owner, ast.Try | ast.TryStar) and field != other_field:
        if field == "body" and other_field == "handlers":
            return not _is_last_act(first, depth, owners)
        return (field, other_field) != ("handlers", "orelse")
    return not _leaves_before(first, depth, owners)


def _leaves_before(statement: _Statement, depth: int, owners: dict[int, ast.AST]) -> bool:
    """Whether every run of the statement leaves the list in which its ancestor at this depth stands.

    That is so when a list on the way down ends by `return`, `raise`, `continue` or `break` after it; a loop on
    the way takes in its own `continue` and `break`, a `try` with handlers its own `raise`.
    """
    in_loop = in_try = False
    for owner_id, field, index in statement.path[depth + 1 :]:
        owner = owners[owner_id]
        in_loop = in_loop or isinstance(owner, ast.For | ast.AsyncFor | ast.While)
        in_try = in_try or (isinstance(owner, ast.Try | ast.TryStar) and field == "body" and bool(owner.handlers))
        if field in ("handlers", "cases"):
            continue
        for node in getattr(owner, field)[index:]:
            if isinstance(node, ast.Return) or (isinstance(node, ast.Raise) and not in_try):
                return True
            if isinstance(node, ast.Continue | ast.Break) and not in_loop:
                return True
    return False


def _is_last_act(statement: _Statement, depth: int, owners: dict[int, ast.AST]) -> bool:
    """Whether nothing that may raise follows the statement in the `try` body: the handlers then run instead of it."""
    leaving = (ast.Return, ast.Continue, ast.Break, ast.Pass)
    for owner_id, field, index in statement.path[depth:]:
        if field not in ("handlers", "cases"):
            following = getattr(owners[owner_id], field)[index + 1 :]
            if not all(isinstance(node, leaving) for node in following):
                return False
    return True


# -- words ------------------------------------------------------------------------------------------------


def _bodies(node: ast.AST) -> Iterator[ast.AST]:
    for field in ("body", "handlers", "orelse", "finalbody"):
        yield from getattr(node, field, None) or ()


def _names(node: ast.AST) -> set[str]:
    return {below.id for below in ast.walk(node) if isinstance(below, ast.Name)}


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Call(func=func):
            return _last_name(func)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
