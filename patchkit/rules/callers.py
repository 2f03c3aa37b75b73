"""PK608: what upstream calls, makes or imports of the series's changes still fits."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patchkit.model import Finding, Severity
from patchkit.rules.signature import Signature, dataclass_fields, misfit, signature_of
from patchkit.rules.subject import Definition, Function, PatchedFile, Source, Subject
from patchkit.rules.symbols import Kind, Symbols, absolute_module, last_name, module_of, package_of


@dataclass(frozen=True, slots=True)
class _Change:
    """A function, or a dataclass, that takes other arguments than it took. name: qualified, as `Queue.add`."""

    name: str
    file: PatchedFile
    function: Definition
    old: Signature
    new: Signature

    @property
    def is_method(self) -> bool:
        """Whether it is called on an object."""
        return "." in self.name

    def why_not(self, call: ast.Call) -> str:
        """Return why a call that fitted does not fit any more; empty where it does, or calls something else."""
        if isinstance(call.func, ast.Attribute) != self.is_method or misfit(call, self.old):
            return ""
        return misfit(call, self.new)


def find(subject: Subject, symbols: Symbols) -> Iterator[Finding]:
    """Yield each upstream line that no longer fits: a call of what the series changed, an import of what it removed.

    Where several functions of the tree have its name, which one a call means cannot be told: nothing is yielded.
    """
    yield from _removed(subject, symbols)
    changes = {each.function.name: each for file in subject.python_files() for each in _changes(subject, file)}
    if not changes:
        return
    for source in _sources(subject, symbols, changes):
        for node in ast.walk(source.tree) if source.tree else ():
            change = changes.get(last_name(node.func)) if isinstance(node, ast.Call) else None
            if change and isinstance(node, ast.Call) and (reason := change.why_not(node)):
                yield _finding(change, source, node, reason)


def _changes(subject: Subject, file: PatchedFile) -> Iterator[_Change]:
    assert subject.index is not None
    if file.before is None or file.after is None:
        return
    changed = {name: each for name, each in _functions(file.after).items() if _has_new_header(file, each)}
    former = _functions(file.before) if changed else {}
    for name, function in changed.items():
        before = former.get(name)
        if before is None or ast.dump(before.args) == ast.dump(function.args):
            continue
        old, new = (signature_of(each, is_bound="." in name) for each in (before, function))
        if old is not None and new is not None and len(subject.index.definitions(function.name)) == 1:
            yield _Change(name, file, function, old, new)
    for former_class, node in _changed_dataclasses(file):
        fields, now = dataclass_fields([former_class]), dataclass_fields([node])
        if fields and now and fields != now and len(subject.index.definitions(node.name)) == 1:
            yield _Change(node.name, file, node, fields, now)


def _changed_dataclasses(file: PatchedFile) -> Iterator[tuple[ast.ClassDef, ast.ClassDef]]:
    """Yield each dataclass without bases in which the series added a line, as it was and as it is."""
    assert file.before is not None
    former = {node.name: node for node in _classes(file.before)}
    for node in _classes(file.after):
        if node.name in former and not node.bases and file.has_added(node.lineno, node.end_lineno or node.lineno):
            yield former[node.name], node


def _classes(source: Source | None) -> Iterator[ast.ClassDef]:
    for node in source.tree.body if source and source.tree else ():
        if isinstance(node, ast.ClassDef) and [last_name(each) for each in node.decorator_list] == ["dataclass"]:
            yield node


# -- what the series removed ------------------------------------------------------------------------------


def _removed(subject: Subject, symbols: Symbols) -> Iterator[Finding]:
    """Yield each import, in a file that the series does not touch, of a name that it took away."""
    assert subject.index is not None
    gone = {name: file for file in subject.files.values() for name in _names_gone(file, symbols)}
    if not gone:
        return
    wanted = [name.encode() for name in gone]
    for path, text in subject.index.sources().items():
        if path in subject.files or not any(name in text for name in wanted):
            continue
        source = symbols.source(path)
        for node in ast.walk(source.tree) if source and source.tree else ():
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                file = gone.get(alias.name)
                if file and isinstance(node, ast.ImportFrom) and _imports_from(node, path, file.path):
                    yield _removal(file, alias.name, path, alias.lineno)


def _names_gone(file: PatchedFile, symbols: Symbols) -> Iterator[str]:
    """Yield each class and function of the unpatched module that the patched one does not bind."""
    if file.before is None or file.before.tree is None or (file.after and file.after.tree is None):
        return
    for node in file.before.tree.body:
        if not isinstance(node, Definition):
            continue
        if file.after is None or symbols.look_up(file.after, node.name).kind is Kind.MISSING:
            yield node.name


def _imports_from(node: ast.ImportFrom, importer: str, path: str) -> bool:
    return absolute_module(node, package_of(importer)) == module_of(path)


def _removal(file: PatchedFile, name: str, path: str, line: int) -> Finding:
    added = [origin for origin in file.origins if origin]
    origin = added[0] if added else None
    return Finding(
        "PK608", Severity.ERROR, f"upstream imports {name}, which the series removed", path=path, line=line,
        topic=origin.topic if origin else "", patch_file=origin.patch_file if origin else "",
        patch_line=origin.patch_line if origin else 0, found=f"it was in {file.path}",
        hint="keep the old name, or change this importer in the same topic",
    )  # fmt: skip


# -- what the series changed ------------------------------------------------------------------------------


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


def _sources(subject: Subject, symbols: Symbols, names: Mapping[str, _Change]) -> Iterator[Source]:
    """Yield each Python file of the patched tree that has one of the names."""
    assert subject.index is not None
    wanted = [name.encode() for name in names]
    for path, text in subject.index.sources().items():
        if path not in subject.files and any(name in text for name in wanted):
            source = symbols.source(path)
            assert source is not None
            yield source
    for file in subject.python_files():
        if file.after is not None:
            yield file.after


def _finding(change: _Change, caller: Source, call: ast.Call, reason: str) -> Finding:
    file, function = change.file, change.function
    origin = next((each for each in file.origins[function.lineno - 1 : function.end_lineno] if each), None)
    return Finding(
        "PK608", Severity.ERROR, f"upstream's call of {change.name} no longer fits: {reason}", path=caller.path,
        line=call.lineno, topic=origin.topic if origin else "", patch_file=origin.patch_file if origin else "",
        patch_line=origin.patch_line if origin else 0,
        found=f"the series changed the signature at {file.path}:{function.lineno}",
        hint="give the new argument a default, or change this caller in the same topic",
    )  # fmt: skip
