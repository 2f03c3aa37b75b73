"""The names that a module uses and nobody binds, by CPython's own symbol tables."""

import builtins
import symtable
import warnings
from collections.abc import Iterator

KNOWN = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__package__",
    "__spec__",
    "__path__",
    "__class__",
}


def undefined_names(data: bytes) -> frozenset[str]:
    """Return the names that are used and bound nowhere they could be seen; none for text that does not parse.

    A module with `from x import *` may bind anything: none are returned for it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = symtable.symtable(data.decode("utf-8", "replace"), "<result>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    if b"import *" in data:
        return frozenset()
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    bound |= {table.get_name() for table in top.get_children()}
    bound |= {
        symbol.get_name()
        for table in _below(top)
        for symbol in table.get_symbols()
        if symbol.is_declared_global() and symbol.is_assigned()
    }
    return frozenset(name for name in _globals_read(top) if name not in bound and name not in KNOWN)


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)


def _globals_read(top: symtable.SymbolTable) -> Iterator[str]:
    for symbol in top.get_symbols():
        if symbol.is_referenced():
            yield symbol.get_name()
    for table in _below(top):
        for symbol in table.get_symbols():
            if symbol.is_referenced() and symbol.is_global():
                yield symbol.get_name()
