"""Carry real downstream patches to the next release with our engine and with the tools of others; one table.

python -m benchmarks.rebase --corpus DIR --wheels DIR [--work DIR] [--only MOVE ...] [--markdown FILE]

The corpus is not part of this project: a folder with `run.py`, which scores each tool against what maintainers did by
hand, and the patches. The wheels are those of the releases that the corpus names.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import PATCHKIT, machine, sealed

OURS = "patchkit"
TOOLS = {
    "cherry-pick": "git cherry-pick",
    "apply-3way": "git apply --3way",
    "patch-F3": "patch -F3",
    "wiggle-patch": "wiggle",
    OURS: "patchkit rebase",
}
SETTLED = ("clean", "noop", "dropped", "moved", "shrunk")
HEADINGS = ("tool", "hunks", "right", "differ", "reported", "lost", "broken files", "undefined", "doubled", "seconds")


@dataclass(frozen=True, slots=True)
class Score:
    """What one tool made of all hunks.

    right: as the maintainer did, but for layout. differ: carried otherwise, without a word. reported: unresolved,
    rejected or flagged. broken: files that do not compile and carry no marker.
    """

    tool: str
    hunks: int
    right: int
    differ: int
    reported: int
    lost: int
    broken: int
    undefined: int
    doubled: int
    seconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table, in the order of HEADINGS."""
        numbers = (self.hunks, self.right, self.differ, self.reported, self.lost)
        return (self.tool, *map(str, (*numbers, self.broken, self.undefined, self.doubled)), f"{self.seconds:.1f}")


def engine() -> str:
    """Return our engine as the corpus calls one: COMMAND OLD NEW PATCH OUT."""
    start = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(PATCHKIT)}"
    script = f'{start} rebase --base "$1" --onto "$2" --patch "$3" --out "$4"'
    return shlex.join(["sh", "-c", script, OURS])


def run_corpus(options: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Run the corpus' own harness and return its report."""
    out = work / "result.json"
    tools = [name for name in TOOLS if name != OURS]
    command = [
        *(sys.executable, str(options.corpus / "run.py"), "--slime", str(options.corpus / "patches")),
        *(word for folder in options.wheels for word in ("--wheels", str(folder))),
        *("--work", str(work), "--out", str(out), "--tools", ",".join(tools)),
        *("--engine", engine(), "--engine-name", OURS),
        *(word for move in options.only for word in ("--only", move)),
    ]
    subprocess.run(command, check=True, env=sealed(), stdout=sys.stderr)
    report: dict[str, Any] = json.loads(out.read_bytes())
    return report


def scores(report: Mapping[str, Any]) -> Iterator[Score]:
    """Yield a score for each tool, over all moves, against what the maintainer had first."""
    for name, row in report["total"]["first"]["all"].items():
        count = Counter[str](row["hunks"])
        right = sum(count[f"{kind}_{how}"] for kind in SETTLED for how in ("ok", "layout"))
        seconds = sum(move["tools"][name]["first"]["secs"] for move in report["transitions"].values())
        yield Score(
            tool=TOOLS[name],
            hunks=sum(count[kind] for kind in (*SETTLED, "conflict", "reject", "lost", "suspect")),
            right=right,
            differ=sum(count[f"{kind}_diff"] for kind in SETTLED),
            reported=count["conflict"] + count["reject"] + count["suspect"],
            lost=count["lost"],
            broken=row["silent_bad_py"],
            undefined=row["new_undefined"],
            doubled=row["new_doubles"],
            seconds=seconds,
        )


def as_markdown(found: list[Score], moves: int) -> str:
    """Return the table."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---|" + "--:|" * (len(HEADINGS) - 1)]
    lines += ["| " + " | ".join(score.cells) + " |" for score in found]
    return "\n".join([*lines, "", f"{moves} moves. Machine: {machine()}.", ""])


def main() -> int:
    """Measure and print the table; it has no limit of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder with run.py and patches/")
    parser.add_argument("--wheels", type=Path, required=True, action="append", help="folder with sglang wheels")
    parser.add_argument("--work", type=Path, help="scratch folder, bulky; kept between runs (default: a temporary one)")
    parser.add_argument("--only", action="append", default=[], metavar="MOVE", help="may be repeated")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = (options.work or Path(scratch)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        report = run_corpus(options, work)
    text = as_markdown(list(scores(report)), len(report["transitions"]))
    print(text, end="")
    if options.markdown:
        options.markdown.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
