"""Whether a call fits a signature, as far as the text can tell."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.rules.subject import Function
from patchkit.rules.symbols import Kind, Symbol, Symbols, last_name

# Decorators that leave the signature as it is.
_TRANSPARENT = {"staticmethod", "classmethod", "abstractmethod", "no_grad", "inference_mode", "cache", "lru_cache",
                "contextmanager", "asynccontextmanager", "wraps", "override", "final", "deprecated"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments that a callable takes. positional: names in order, with whether each has a default."""

    positional: tuple[tuple[str, bool], ...]
    keyword_only: tuple[tuple[str, bool], ...] = ()
    positional_only: int = 0
    takes_more: bool = False  # *args
    takes_keywords: bool = False  # **kwargs


def signature_of(function: Function, *, is_bound: bool) -> Signature | None:
    """Return a function's signature, without the instance that a bound call passes; None where a decorator hides it."""
    if any(last_name(decorator) not in _TRANSPARENT for decorator in function.decorator_list):
        return None
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args]
    required = len(names) - len(arguments.defaults)
    positional = tuple((name.arg, at >= required) for at, name in enumerate(names))
    keyword_only = tuple(
        (name.arg, default is not None)
        for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    )
    is_static = any(last_name(decorator) == "staticmethod" for decorator in function.decorator_list)
    skipped = 1 if is_bound and not is_static else 0
    return Signature(
        positional[skipped:],
        keyword_only,
        max(len(arguments.posonlyargs) - skipped, 0),
        arguments.vararg is not None,
        arguments.kwarg is not None,
    )


def constructor_of(symbols: Symbols, symbol: Symbol) -> Signature | None:
    """Return what calling a class takes: its `__init__`, or a dataclass's fields; None where neither is plain."""
    classes, complete = symbols.ancestry(symbol)
    nodes = [each.node for each in classes if isinstance(each.node, ast.ClassDef)]
    if not complete or any("__new__" in symbols.members(node).names for node in nodes):
        return None
    decorators = [last_name(decorator) for node in nodes for decorator in node.decorator_list]
    initializer = symbols.method(symbol, "__init__")
    if initializer.kind is Kind.FUNCTION and isinstance(initializer.node, Function):
        return None if "dataclass" in decorators else signature_of(initializer.node, is_bound=True)
    if initializer.kind is not Kind.MISSING or any(name != "dataclass" for name in decorators):
        return None
    is_dataclass = all(any(last_name(each) == "dataclass" for each in node.decorator_list) for node in nodes)
    if is_dataclass and nodes:
        return dataclass_fields(nodes)
    return None if decorators else Signature(())


def dataclass_fields(nodes: Sequence[ast.ClassDef]) -> Signature | None:
    """Return a dataclass's signature from its fields, bases first; None where an option changes it."""
    fields: dict[str, bool] = {}
    for node in reversed(nodes):
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    kind = last_name(annotation)
                    if kind in ("InitVar", "KW_ONLY") or _has_option(value):
                        return None
                    if kind != "ClassVar":
                        fields[name] = value is not None
                case _:
                    pass
    options = [keyword.arg for node in nodes for each in node.decorator_list if isinstance(each, ast.Call)
               for keyword in each.keywords]  # fmt: skip
    return None if {"init", "kw_only"} & set(options) else Signature(tuple(fields.items()))


def _has_option(value: ast.expr | None) -> bool:
    """Whether a field says `init=` or `kw_only=`, or gives no default although it looks like one."""
    if not isinstance(value, ast.Call) or last_name(value) != "field":
        return False
    names = {keyword.arg for keyword in value.keywords}
    return bool({"init", "kw_only"} & names) or not {"default", "default_factory"} & names


def misfit(call: ast.Call, signature: Signature) -> str:
    """Return why the call does not fit; empty where it fits or the text cannot tell."""
    has_star = any(isinstance(argument, ast.Starred) for argument in call.args)
    has_mapping = any(keyword.arg is None for keyword in call.keywords)
    given = len(call.args)
    names = [name for name, _ in signature.positional]
    keywords = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
    if not has_star and given > len(names) and not signature.takes_more:
        only = [name for name, _ in signature.keyword_only if name not in keywords]
        more = f"; {', '.join(only)} can be given by keyword only" if only else ""
        return f"it takes {len(names)} positional arguments, {given} are given{more}"
    by_keyword = {*names[signature.positional_only :], *(name for name, _ in signature.keyword_only)}
    for keyword in keywords:
        if keyword not in by_keyword and not signature.takes_keywords:
            return f"it has no argument `{keyword}`"
        if not has_star and keyword in names[:given]:
            return f"`{keyword}` is given twice"
    if has_star or has_mapping:
        return ""
    missing = [name for name, has_default in signature.positional[given:] if not has_default and name not in keywords]
    missing += [name for name, has_default in signature.keyword_only if not has_default and name not in keywords]
    return f"it needs {', '.join(f'`{name}`' for name in missing)}" if missing else ""
