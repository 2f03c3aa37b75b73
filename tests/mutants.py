"""Mutation table: python -m tests.mutants [PIN] [--python RUNTIME] [--topic T].

Deletes or negates each statement that a topic adds, takes back each line that it changes, and drops each hunk, one at
a time. A mutant is killed by verify (rules PK4xx to PK7xx; ids and texts do not count) or, with --python, by a smoke
test of the topics, which is asked before the slow rules. RUNTIME is a Python with torch, transformers and pytest,
and without sglang.
"""

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from patchkit.lint import lint
from patchkit.model import Finding, Severity
from patchkit.patch.hunks import Hunk, LineKind
from patchkit.patch.patchtext import read_patch
from patchkit.rules import callees, callers, contract, elsewhere, guards, python, single
from patchkit.rules.compose import Composed, NamedPatch, compose, touched_paths
from patchkit.rules.subject import Origin, PatchedFile, Source, Subject
from patchkit.rules.symbols import Symbols
from patchkit.series.facts import read_all_guards
from patchkit.source.guards import Guard
from patchkit.store import latest_pin, pin_folder, read_pin, read_series_names
from patchkit.upstream.access import Access, cache_folder
from patchkit.upstream.bring import Upstream, bring_pin
from patchkit.upstream.nameindex import NameIndex

ROOT = Path(__file__).parent.parent
DEADLINE_S = 180.0
ENOUGH = 0.95

# What no run can tell apart, and why that is right. Key: path's last name, first line, operator.
JUSTIFIED: dict[tuple[str, str, str], str] = {}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed file. line: of the patched file. shown: the first line of what was changed."""

    topic: str
    path: str
    line: int
    operator: str
    shown: str
    text: bytes
    origins: tuple[Origin | None, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """What JUSTIFIED names it by."""
        return (self.path.rpartition("/")[2], self.shown, self.operator)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a mutant. killed_by: empty for a survivor. why: what justifies one; empty for nothing."""

    topic: str
    place: str
    operator: str
    shown: str
    killed_by: str
    why: str

    @classmethod
    def of(cls, mutant: Mutant, verdict: str) -> "Judged":
        """Return what the table says of a mutant."""
        place = f"{mutant.path.removeprefix('python/sglang/srt/')}:{mutant.line}"
        shown = mutant.shown.replace("|", "\\|")
        return cls(
            mutant.topic, place, mutant.operator, shown, verdict, "" if verdict else JUSTIFIED.get(mutant.key, "")
        )


# -- making -----------------------------------------------------------------------------------------------


def mutants_of(file: PatchedFile) -> Iterator[Mutant]:
    """Yield each mutant of one patched file, in the order of its lines."""
    assert file.after is not None
    covered: set[int] = set()
    found: list[Mutant] = []
    for statement in _statements(file.after.tree):
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        if file.origin_at(first) and file.is_added(first, last):
            covered.update(range(first, last + 1))
            found += _of_statement(file, statement)
        elif isinstance(statement, ast.If | ast.While) and file.has_added(
            statement.test.lineno, statement.test.end_lineno or statement.test.lineno
        ):
            found.append(_negated(file, statement, statement.test))
    found += _taken_back(file, covered)
    found += _without_hunks(file)
    yield from sorted(found, key=lambda mutant: mutant.line)


def _statements(tree: ast.Module | None) -> Iterator[ast.stmt]:
    return (node for node in (ast.walk(tree) if tree else ()) if isinstance(node, ast.stmt))


def _of_statement(file: PatchedFile, statement: ast.stmt) -> Iterator[Mutant]:
    assert file.after is not None
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    line = file.after.lines[statement.lineno - 1]
    if isinstance(statement, ast.Pass) or is_text:
        return
    if not line.lstrip().startswith(b"elif"):
        indent = line[: len(line) - len(line.lstrip())]
        lines = [*file.after.lines]
        blank = (statement.end_lineno or statement.lineno) - statement.lineno
        lines[statement.lineno - 1 : statement.end_lineno] = [indent + b"pass", *[b""] * blank]
        yield _mutant(file, statement.lineno, "delete", lines, file.origins)
    if isinstance(statement, ast.If | ast.While):
        yield _negated(file, statement, statement.test)
    if isinstance(statement, ast.Return) and isinstance(statement.value, ast.BoolOp | ast.Compare | ast.UnaryOp):
        yield _negated(file, statement, statement.value)


def _negated(file: PatchedFile, statement: ast.stmt, test: ast.expr) -> Mutant:
    assert file.after is not None
    assert test.end_lineno is not None
    assert test.end_col_offset is not None
    lines = [*file.after.lines]
    end = lines[test.end_lineno - 1]
    lines[test.end_lineno - 1] = end[: test.end_col_offset] + b")" + end[test.end_col_offset :]
    start = lines[test.lineno - 1]
    lines[test.lineno - 1] = start[: test.col_offset] + b"not (" + start[test.col_offset :]
    return _mutant(file, statement.lineno, "negate", lines, file.origins)


def _taken_back(file: PatchedFile, covered: set[int]) -> Iterator[Mutant]:
    """Yield a mutant for each run of changed lines that is no whole statement: upstream's lines instead."""
    assert file.after is not None
    groups: dict[tuple[int, int], list[int]] = {}
    for at, origin in enumerate(file.origins, start=1):
        if origin is not None:
            groups.setdefault((id(origin.hunk), _group(origin)), []).append(at)
    for lines in groups.values():
        origin = file.origins[lines[0] - 1]
        assert origin is not None
        code = [at for at in lines if _is_code(file.after.lines[at - 1])]
        is_whole = lines == list(range(lines[0], lines[-1] + 1))
        if not code or set(code) <= covered or not is_whole:
            continue
        removed = _removed(origin.hunk, _group(origin))
        text = [*file.after.lines]
        text[lines[0] - 1 : lines[-1]] = removed
        origins = list(file.origins)
        origins[lines[0] - 1 : lines[-1]] = [None] * len(removed)
        mutant = _mutant(file, code[0], "take back", text, tuple(origins))
        if Source(file.path, mutant.text).tree is not None:
            yield mutant


def _without_hunks(file: PatchedFile) -> Iterator[Mutant]:
    """Yield a mutant for each hunk that adds a line: all of its changes taken back."""
    assert file.after is not None
    runs: dict[int, dict[int, list[int]]] = {}
    for at, origin in enumerate(file.origins, start=1):
        if origin is not None:
            runs.setdefault(id(origin.hunk), {}).setdefault(_group(origin), []).append(at)
    for groups in runs.values():
        lines, origins = [*file.after.lines], list(file.origins)
        for group, places in sorted(groups.items(), reverse=True):
            origin = file.origins[places[0] - 1]
            assert origin is not None
            removed = _removed(origin.hunk, group)
            for at in reversed(places):
                del lines[at - 1], origins[at - 1]
            lines[places[0] - 1 : places[0] - 1] = removed
            origins[places[0] - 1 : places[0] - 1] = [None] * len(removed)
        first = next(iter(groups.values()))[0]
        yield _mutant(file, first, "drop hunk", lines, tuple(origins))


def _group(origin: Origin) -> int:
    """Return which run of changed lines of its hunk a line is in."""
    at = origin.patch_line - origin.hunk.patch_line - 1
    while at > 0 and origin.hunk.lines[at - 1].kind is not LineKind.CONTEXT:
        at -= 1
    return at


def _removed(hunk: Hunk, group: int) -> list[bytes]:
    found = []
    for line in hunk.lines[group:]:
        if line.kind is LineKind.CONTEXT:
            break
        if line.kind is LineKind.REMOVED:
            found.append(line.text.rstrip(b"\n"))
    return found


def _is_code(line: bytes) -> bool:
    return bool(line.strip()) and not line.strip().startswith(b"#")


def _mutant(
    file: PatchedFile, line: int, operator: str, lines: Sequence[bytes], origins: tuple[Origin | None, ...]
) -> Mutant:
    assert file.after is not None
    origin = next(origin for origin in file.origins[line - 1 :] if origin is not None)
    shown = file.after.lines[line - 1].decode("utf-8", "replace").strip()
    return Mutant(origin.topic, file.path, line, operator, shown, b"\n".join(lines) + b"\n", origins)


# -- judging ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bench:
    """What mutants are judged on: the series as it is shipped, its guards, and its upstream."""

    subject: Subject
    guards: tuple[Guard, ...]
    upstream: Upstream
    parsed: dict[str, Source | None] = field(default_factory=dict)  # files beside the series, parsed once

    def verdict(self, mutant: Mutant) -> str:
        """Return the rules of verify that look at one file alone and kill the mutant; empty for none."""
        subject = self._changed(mutant)
        own_guards = [guard for guard in self.guards if guard.path == mutant.path]
        return _names([*guards.find(subject, own_guards, {}), *python.find(subject), *single.find(subject)])

    def wide_verdict(self, mutant: Mutant) -> str:
        """Return the rules that look at several files, and kill the mutant. Slow: seconds."""
        subject = self._changed(mutant)
        assert self.subject.index is not None
        shipped = {path: file.after for path, file in {**self.subject.files, **subject.files}.items()}
        symbols = Symbols({**self.parsed, **shipped}, self.subject.index.read)
        whole = replace(subject, files={**self.subject.files, **subject.files})  # another file may miss a name
        found = [*contract.find(whole, symbols), *callers.find(whole, symbols), *callees.find(whole, symbols)]
        found += elsewhere.find(subject, symbols)
        self.parsed.update({path: source for path, source in symbols.sources().items() if path not in shipped})
        return _names(found)

    def _changed(self, mutant: Mutant) -> Subject:
        file = self.subject.files[mutant.path]
        changed = replace(file, after=Source(mutant.path, mutant.text), origins=mutant.origins)
        before = {mutant.path: file.before.text} if file.before else {}
        diagnostics = lint(before, {mutant.path: mutant.text}, python="3.12")
        return replace(self.subject, files={mutant.path: changed}, lint=diagnostics, steps=(), sites=())


def _names(findings: Iterable[Finding]) -> str:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    return ", ".join(dict.fromkeys(f"{each.rule} {_guard_of(each)}".strip() for each in errors))


def _guard_of(finding: Finding) -> str:
    return finding.message.split(" ")[1] if finding.rule.startswith("PK7") else ""


def bench_of(root: Path, name: str, access: Access) -> Bench:
    """Return the bench of a pin. Its series must be without findings of its own."""
    pin = read_pin(root, name)
    upstream = bring_pin(pin, access)
    folder = pin_folder(root, name)
    patches = [
        NamedPatch(file.removesuffix(".patch"), file, read_patch((folder / file).read_bytes(), name=file))
        for file in read_series_names(root, name)
    ]
    whole: Composed = compose(patches, upstream.read(touched_paths(patches)))
    index = NameIndex.of(upstream, access)
    subject = Subject(pin, whole.files, whole.steps, whole.sites, index=index)
    return Bench(subject, tuple(guard for guard in read_all_guards(root) if guard.is_for(pin.version)), upstream)


class Smoke:
    """The smoke tests on the shipped tree, with one mutant at a time in it."""

    def __init__(self, python: Path, root: Path, bench: Bench, scratch: Path) -> None:
        tree = scratch / "tree"
        smoke = scratch / "smoke"
        bench.upstream.write_to(tree)
        shutil.copytree(root / "patches" / "smoke", smoke)
        for path, file in bench.subject.files.items():
            assert file.after is not None
            (tree / path).write_bytes(file.after.text)
        self.folders = sorted(path.name for path in smoke.iterdir() if list(path.glob("test_*.py")))
        runner = Path(__file__).with_name("mutant_runner.py")
        pin = bench.subject.pin
        assert pin is not None
        self.child = subprocess.Popen(
            [str(python), "-W", "ignore", str(runner), str(tree), str(smoke)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(scratch), "PATCHKIT_PIN": pin.version, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def __enter__(self) -> "Smoke":
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.wait()

    def baseline(self) -> str:
        """Return the first test that fails without any mutant; empty when all pass."""
        return self._ask("", "", self.folders)

    def verdict(self, mutant: Mutant) -> str:
        """Return the smoke test that kills the mutant; empty for none."""
        folders = sorted(self.folders, key=lambda name: name != mutant.topic)
        return self._ask(mutant.path, mutant.text.decode("utf-8"), folders)

    def _ask(self, path: str, text: str, folders: Sequence[str]) -> str:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        request = {"path": path, "text": text, "folders": folders, "deadline_s": DEADLINE_S}
        self.child.stdin.write(json.dumps(request) + "\n")
        self.child.stdin.flush()
        answer = json.loads(self.child.stdout.readline())
        if answer["status"] == 0:
            return ""
        if answer["status"] == -1:
            return "past its deadline"
        if not answer["failed"]:
            raise RuntimeError(f"pytest ended with status {answer['status']} and named no test:\n{answer['tail']}")
        return str(answer["failed"])


# -- telling ----------------------------------------------------------------------------------------------


def main() -> int:
    """Print the pin's table, note it for tests.mutant_table, and return 1 when too many survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("pin", nargs="?", default=latest_pin(ROOT))
    parser.add_argument("--python", type=Path, help="run the smoke tests with it; without, verify alone judges")
    parser.add_argument("--topic", help="only this topic's mutants")
    parser.add_argument("--out", type=Path, help="a folder: write the verdicts there, for python -m tests.mutant_table")
    options = parser.parse_args()
    bench = bench_of(ROOT, options.pin, Access(cache_folder()))
    every = [mutant for file in bench.subject.python_files() for mutant in mutants_of(file)]
    chosen = [mutant for mutant in every if options.topic in (None, mutant.topic)]
    verdicts = [bench.verdict(mutant) for mutant in chosen]
    if options.python:
        with tempfile.TemporaryDirectory() as scratch, Smoke(options.python, ROOT, bench, Path(scratch)) as smoke:
            if failed := smoke.baseline():
                print(f"the smoke tests fail without a mutant: {failed}", file=sys.stderr)
                return 2
            verdicts = _ask_open(chosen, verdicts, smoke.verdict)
    verdicts = _ask_open(chosen, verdicts, bench.wide_verdict)
    judged = [Judged.of(mutant, verdict) for mutant, verdict in zip(chosen, verdicts, strict=True)]
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        name = f"{options.pin}{'-' + options.topic if options.topic else ''}.json"
        (options.out / name).write_text(json.dumps([asdict(each) for each in judged], indent=1) + "\n", "utf-8")
    return tell(options.pin, judged)


def _ask_open(mutants: Sequence[Mutant], verdicts: Sequence[str], ask: Callable[[Mutant], str]) -> list[str]:
    """Return the verdicts with those that are open asked for."""
    return [verdict or ask(mutant) for mutant, verdict in zip(mutants, verdicts, strict=True)]


def tell(pin: str, judged: Sequence[Judged]) -> int:
    """Print the table in Markdown; survivors that are not justified count against it."""
    print(f"# Mutants of {pin}\n\n| topic | place | operator | statement | killed by |\n|---|---|---|---|---|")
    for each in judged:
        fate = each.killed_by or f"**survives**: {each.why or 'not justified'}"
        print(f"| {each.topic} | {each.place} | {each.operator} | `{each.shown}` | {fate} |")
    killed = sum(bool(each.killed_by) for each in judged)
    open_ones = sum(not each.killed_by and not each.why for each in judged)
    share = killed / len(judged) if judged else 1.0
    print(f"\n{killed} of {len(judged)} killed ({share:.1%}); {open_ones} survive without a justification.")
    return 0 if share >= ENOUGH and not open_ones else 1


if __name__ == "__main__":
    sys.exit(main())
