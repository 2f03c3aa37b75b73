"""`python -m benchmarks [NAME ...]`: measure, print the table, end with 1 if a limit is missed.

python -m benchmarks                     all of it (a few minutes; the pins must be in the cache)
python -m benchmarks apply verify        some of it
python -m benchmarks --markdown FILE     also writes the table, as docs/performance.md has it
"""

import argparse
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row, as_markdown, as_text, machine

BENCHMARKS = ("start", "apply", "verify", "carry", "weather", "large")


def measured(names: list[str]) -> Iterator[Row]:
    """Yield the rows of these benchmarks as they are measured."""
    for name in names:
        yield from importlib.import_module(f"benchmarks.{name}").rows()


def main() -> int:
    """Print each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    print(machine())
    for row in measured(options.names or list(BENCHMARKS)):
        print(as_text(row), flush=True)
        rows.append(row)
    if options.markdown:
        options.markdown.write_text(as_markdown(rows))
    missed = [row.what for row in rows if row.holds is False]
    print(f"{len(rows)} figures, {len(missed)} limits missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
