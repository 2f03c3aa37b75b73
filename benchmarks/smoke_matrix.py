"""Run the smoke tests on many releases and print the table release x test.

    python benchmarks/smoke_matrix.py --python VENV/bin/python --trees DIR [--patched DIR] [PIN ...]

DIR holds one folder a release, named by its version, with python/sglang in it. Without PINs
every folder counts. --patched names a second such directory with the series applied. Cells:

    F   the fault is shown          .   holds
    !   drift                       -   the test means nothing on this release
    F.  (with --patched) fails without, passes with: what the control wants of a fault

Exit status 1 if a cell is not what the marks of the tests say.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

SMOKE = Path(__file__).parent.parent / "patches" / "smoke"
MARKS = {"ok": ".", "fault": "F", "drift": "!"}


@dataclass(frozen=True)
class Cell:
    kind: str
    outcome: str


Column = dict[str, Cell]  # test -> cell


def read_junit(path: Path) -> Column:
    column: Column = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        noted = {p.get("name", ""): p.get("value", "") for p in case.iter("property")}
        name = f"{noted.get('topic', '?')} {noted.get('fault') or '-':5} {case.get('name')}"
        column[name] = Cell(noted.get("kind", "?"), noted.get("outcome", "drift"))
    return column


def run_release(python: Path, tree: Path, version: str, scratch: Path) -> Column:
    report = scratch / f"{version}.xml"
    report.unlink(missing_ok=True)
    environ = {**os.environ, "PYTHONPATH": str(tree / "python"), "PATCHKIT_PIN": version}
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", str(SMOKE), f"--junitxml={report}"]
    done = subprocess.run(command, env=environ, cwd=scratch, capture_output=True, text=True, timeout=600, check=False)
    if not report.exists():
        raise SystemExit(f"{version}: no report\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return read_junit(report)


def is_as_marked(without: Cell, with_patch: Cell | None) -> bool:
    wanted = "fault" if without.kind == "fault" else "ok"
    return without.outcome == wanted and (with_patch is None or with_patch.outcome == "ok")


def show(columns: dict[str, Column], patched: dict[str, Column]) -> bool:
    """Print the table; say whether every cell is as marked."""
    tests = sorted({name for column in columns.values() for name in column})
    width = max(map(len, tests))
    pins = list(columns)
    print(" " * width, *(f"{pin.removeprefix('0.5.'):>8}" for pin in pins))
    wrong = 0
    for test in tests:
        cells = []
        for pin in pins:
            without, with_patch = columns[pin].get(test), patched.get(pin, {}).get(test)
            if without is None:
                cells.append("-")
                continue
            bad = not is_as_marked(without, with_patch) or (pin in patched and with_patch is None)
            wrong += bad
            text = MARKS[without.outcome] + (MARKS[with_patch.outcome] if with_patch else "")
            cells.append(text + ("?" if bad else ""))
        print(f"{test:{width}}", *(f"{cell:>8}" for cell in cells))
    print(f"{len(tests)} tests, {len(pins)} releases, {wrong} cells not as marked (?)")
    return wrong == 0


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part.removeprefix("post")) for part in version.split("."))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--patched", type=Path)
    parser.add_argument("pins", nargs="*")
    options = parser.parse_args()
    pins = options.pins or sorted((d.name for d in options.trees.iterdir() if d.is_dir()), key=version_key)
    with tempfile.TemporaryDirectory() as scratch:
        columns = {pin: run_release(options.python, options.trees / pin, pin, Path(scratch)) for pin in pins}
        patched = {}
        for pin in pins:
            if options.patched and (options.patched / pin).is_dir():
                patched[pin] = run_release(options.python, options.patched / pin, pin, Path(scratch))
    sys.exit(not show(columns, patched))


if __name__ == "__main__":
    main()
