"""Which statements of a function run on one path: what a rule about "twice" has to know."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from patchkit.rules.subject import Definition, Function, PatchedFile
from patchkit.source.scopes import BODIES

_Path = tuple[tuple[int, str, int], ...]  # from the function: (id of the owner, field, index)


@dataclass(frozen=True)
class Statement:
    """A statement of a function: whether the series added it, and its place in the tree."""

    node: ast.stmt
    added: bool
    path: _Path

    @cached_property
    def text(self) -> str:
        """Its normal form, as one formatter would write it."""
        return ast.unparse(self.node)

    @property
    def first(self) -> int:
        """Its first line."""
        return self.node.lineno

    @property
    def last(self) -> int:
        """Its last line."""
        return self.node.end_lineno or self.node.lineno

    def is_beside(self, other: "Statement") -> bool:
        """Whether both stand in one list of statements."""
        return self.path[:-1] == other.path[:-1] and self.path[-1][:2] == other.path[-1][:2]


class Paths:
    """The statements of one function that count, outer before inner, and how runs of the function pass them.

    Nested functions and classes are bodies of their own and are left out.
    """

    def __init__(self, file: PatchedFile, function: Function, counts: Callable[[ast.stmt], bool]) -> None:
        self._file = file
        self._counts = counts
        self._owners: dict[int, ast.AST] = {}
        self.function = function
        self.statements = tuple(self._read(function, ()))

    def _read(self, owner: ast.AST, path: _Path) -> Iterator[Statement]:
        self._owners[id(owner)] = owner
        for field in BODIES.get(type(owner), ()):
            for index, node in enumerate(getattr(owner, field)):
                here = (*path, (id(owner), field, index))
                if isinstance(node, Definition):
                    continue
                if isinstance(node, ast.stmt) and self._counts(node):
                    added = self._file.is_added(node.lineno, node.end_lineno or node.lineno)
                    yield Statement(node, added, here)
                if type(node) in BODIES:
                    yield from self._read(node, here)

    def meet(self, one: Statement, other: Statement) -> bool:
        """Whether some run of the function passes both statements.

        They part at the deepest owner that holds both: two branches of an `if` or `match` exclude each other, and
        so do two handlers; a `finally` is passed by all; in one list the earlier must be able to reach its end.
        """
        first, second = sorted((one, other), key=lambda statement: statement.first)
        depth = 0
        while depth < min(len(first.path), len(second.path)) and first.path[depth] == second.path[depth]:
            depth += 1
        if depth in (len(first.path), len(second.path)):
            return False  # one inside the other
        (owner_id, field, index), (_, other_field, other_index) = first.path[depth], second.path[depth]
        owner = self._owners[owner_id]
        if field == other_field and field in ("handlers", "cases") and index != other_index:
            return False
        if isinstance(owner, ast.If) and field != other_field:
            return False
        if isinstance(owner, ast.Try | ast.TryStar) and field != other_field:
            if other_field == "finalbody":
                return True
            if field == "body" and other_field == "handlers":
                return not self._is_last_act(first, depth)
            if (field, other_field) == ("handlers", "orelse"):
                return False
        return not self._leaves_before(first, depth)

    def means_another(self, one: Statement, other: Statement) -> bool:
        """Whether a name that they read is bound anew between the two, as by another loop over other things."""
        first, second = sorted((one, other), key=lambda statement: statement.first)
        read = names_in(first.node)
        return any(
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.id in read
            and first.last < node.lineno < second.first
            for node in ast.walk(self.function)
        )

    def _leaves_before(self, statement: Statement, depth: int) -> bool:
        """Whether every run of the statement leaves the list in which its ancestor at this depth stands.

        That is so when a list on the way down ends by `return`, `raise`, `continue` or `break` after it; a loop on
        the way takes in its own `continue` and `break`, a `try` with handlers its own `raise`.
        """
        in_loop = in_try = False
        for owner_id, field, index in statement.path[depth + 1 :]:
            owner = self._owners[owner_id]
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

    def _is_last_act(self, statement: Statement, depth: int) -> bool:
        """Whether nothing that may raise follows the statement in the `try` body: the handlers then run without it."""
        leaving = (ast.Return, ast.Continue, ast.Break, ast.Pass)
        for owner_id, field, index in statement.path[depth:]:
            if field not in ("handlers", "cases"):
                following = getattr(self._owners[owner_id], field)[index + 1 :]
                if not all(isinstance(node, leaving) for node in following):
                    return False
        return True


def always_run(function: Function) -> Iterator[ast.stmt]:
    """Yield each statement that every run of the function passes, but for exceptions; up to where one may leave."""
    yield from _always(function.body)


def _always(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.With | ast.AsyncWith):
            yield from _always(node.body)
        elif isinstance(node, ast.Try | ast.TryStar):
            yield from _always([*node.body, *node.finalbody])
        if any(isinstance(below, ast.Return | ast.Raise | ast.Break | ast.Continue) for below in ast.walk(node)):
            return


def bodies_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield each statement and handler directly below."""
    for field in BODIES.get(type(node), ()):
        yield from getattr(node, field)


def names_in(node: ast.AST) -> set[str]:
    """Return every bare name that stands in it."""
    return {below.id for below in ast.walk(node) if isinstance(below, ast.Name)}


def leaves(body: list[ast.stmt]) -> bool:
    """Whether a list of statements ends by leaving."""
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
