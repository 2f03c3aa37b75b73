"""`python -m benchmarks [NAME ...]`: measure, print the table, end with 1 if a limit is missed.

python -m benchmarks                              all of it (a few minutes; the pins must be in the cache)
python -m benchmarks apply verify                 some of it
python -m benchmarks --write docs/performance.md  also writes the rows into the page's table; other rows stay
"""

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks.table import Row, as_markdown, as_text, machine

BENCHMARKS = ("start", "apply", "verify", "carry", "weather", "growth", "large", "scale")
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"


def write_table(page: Path, measured: dict[str, list[Row]]) -> None:
    """Replace the rows of these benchmarks in the page, between its two marks."""
    before, former, after = page.read_text("utf-8").replace(END, BEGIN).split(BEGIN)
    page.write_text(before + BEGIN + as_markdown(measured, former=former) + END + after, "utf-8")


def main() -> int:
    """Print each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    measured: dict[str, list[Row]] = {}
    print(machine())
    for name in options.names or BENCHMARKS:
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            print(as_text(row), flush=True)
            measured.setdefault(name, []).append(row)
        if options.write:
            write_table(options.write, {name: measured[name]})
    rows = [row for of_one in measured.values() for row in of_one]
    missed = [row.what for row in rows if row.holds is False]
    print(f"{len(rows)} figures, {len(missed)} limits missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
