"""Writes docs/mutants.md from what tests.mutants noted: python -m tests.mutant_table FOLDER > docs/mutants.md."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from patchkit.versions import order
from tests.mutants import Judged

HEAD = """\
# Mutants of the shipped series

Each statement that a topic adds is deleted or negated, each line that it changes is taken back, and each hunk is
dropped, one at a time. A mutant is killed by a rule or a guard of `patchkit verify`, or else by a smoke test.
Printed by

    for pin in {pins}; do
        python -m tests.mutants $pin --python RUNTIME --out out/mutants
    done
    python -m tests.mutant_table out/mutants > docs/mutants.md

where RUNTIME is a Python with torch, transformers and pytest, as the venv engine keeps one in
`~/.cache/patchkit/venv/runtime-*`.

| pin | mutants | killed by verify | by smoke | survive | killed | hunks dropped | noticed |
|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Print the page."""
    notes: dict[str, list[Judged]] = {}
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        notes.setdefault(path.stem.partition("-")[0], []).extend(
            Judged(**each) for each in json.loads(path.read_text())
        )
    pins = sorted(notes, key=lambda pin: order(pin.removeprefix("v")))
    print(HEAD.format(pins=" ".join(pins)), end="")
    for pin in pins:
        print(row(pin, notes[pin]))
    print("\n## Survivors\n")
    print("\n".join(survivors(pins, notes)) or "None.")


def row(pin: str, judged: Sequence[Judged]) -> str:
    """Return a pin's line of the table."""
    by_verify = sum(each.killed_by.startswith("PK") for each in judged)
    killed = sum(bool(each.killed_by) for each in judged)
    hunks = [each for each in judged if each.operator == "drop hunk"]
    noticed = sum(bool(each.killed_by) for each in hunks)
    share = f"{killed / len(judged):.1%}"
    return (
        f"| {pin} | {len(judged)} | {by_verify} | {killed - by_verify} | {len(judged) - killed} | {share} "
        f"| {len(hunks)} | {noticed} |"
    )


def survivors(pins: Iterable[str], notes: dict[str, list[Judged]]) -> list[str]:
    """Return a line for each mutant that survives, with the pins where it does."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for pin in pins:
        for each in notes[pin]:
            if not each.killed_by:
                place = each.place.partition(":")[0]
                found.setdefault((place, each.operator, each.shown, each.why), []).append(pin)
    return [
        f"- `{shown}` ({place}, {operator}; {', '.join(where)}): {why or 'not justified'}"
        for (place, operator, shown, why), where in found.items()
    ]


if __name__ == "__main__":
    main()
