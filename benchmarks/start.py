"""What a command costs before it does anything: the start of `--help`, `bump` and `status`, and what they import."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from benchmarks.table import ROOT, Row, best_of, measure, patchkit, sealed

ROUNDS = 10
HELP_S = 0.15
HEAVY = ("git", "unidiff", "jinja2", "yaml", "ast_grep_py", "pytest")
COMMANDS = {"--help": ("--help",), "bump": ("bump", "--dry-run"), "status": ("--offline", "status")}
PROBE = """
import sys
from patchkit.cli import main
try:
    main()
finally:
    print(*sorted(set(sys.modules) & set({heavy!r})), file=sys.stderr)
"""


def heavy_imports(arguments: tuple[str, ...]) -> list[str]:
    """Return the heavy packages that the command imports."""
    command = [sys.executable, "-c", PROBE.format(heavy=HEAVY), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=sealed(), capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1].split()


def rows() -> Iterator[Row]:
    """Yield the time of each command and how many heavy packages it imports."""
    for name, arguments in COMMANDS.items():
        cost = best_of(ROUNDS, partial(measure, patchkit(*arguments)))
        yield Row(name, cost.wall_s, limit=HELP_S if name == "--help" else None)
        found = heavy_imports(arguments)
        forbidden = {"git", "unidiff"} & set(found)
        yield Row(
            f"{name}: GitPython and unidiff", len(forbidden), "", limit=0, note=f"imports {', '.join(found) or 'none'}"
        )
