"""Every rule that the code can report is explained, and nothing else is."""

import re
from pathlib import Path

import patchkit
from patchkit.rules.explained import CATALOG, FAMILIES

PACKAGE = Path(patchkit.__file__).parent


def reported() -> set[str]:
    """The rule ids that stand in the package's code outside of their explanations, as whole strings."""
    files = (path for path in PACKAGE.rglob("*.py") if path.name not in ("catalog.py", "explained.py"))
    return {match for path in files for match in re.findall(r'"(PK[0-9]{3})"', path.read_text())}


def test_every_reported_rule_is_explained() -> None:
    assert reported() - set(CATALOG) == set()


def test_every_explained_rule_is_reported() -> None:
    assert set(CATALOG) - reported() == set()


def test_entries_are_in_order_and_complete() -> None:
    assert list(CATALOG) == sorted(CATALOG)
    assert all(id[:3] in FAMILIES and rule.title and rule.why and rule.mend for id, rule in CATALOG.items())
