"""What pyproject.toml says of the package is so."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
# what is imported by another name, or run as a program
KNOWN_AS = {"GitPython": "git", "ast-grep-py": "ast_grep_py", "Jinja2": "jinja2", "PyYAML": "yaml"}
PROGRAMS = {"pytest"}


def imported() -> set[str]:
    """Every package that a module of patchkit imports, by its first name."""
    found: set[str] = set()
    for path in (ROOT / "patchkit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found


def test_every_dependency_is_used() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {line.partition(">=")[0] for line in declared}
    assert {name for name in names if KNOWN_AS.get(name, name) not in imported()} - PROGRAMS == set()
