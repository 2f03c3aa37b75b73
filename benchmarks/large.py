"""One patch of 100,000 lines: what reading, applying, proving, comparing and carrying it costs in memory and time.

A made-up tree of 100 files; the patch has 10,000 hunks in them, and the next release moves them all by a line.
Only `apply` has a limit on its time.
"""

import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row, measure, patchkit, sealed

FILES = 100
HUNKS_PER_FILE = 100
LINES_PER_HUNK = 16
MEMORY_MB = 300.0
APPLY_S = 2.0


def make_sides(folder: Path, *, files: int = FILES, hunks: int = HUNKS_PER_FILE) -> bytes:
    """Write the tree before (a), after (b) and of the next release (next); return the patch from a to b.

    hunks: in each file, whose length is the same for any number of them.
    """
    chance = random.Random(1)
    for side in ("a", "b", "next"):
        for number in range(files):
            (folder / side / f"python/sglang/srt/part_{number % 10}").mkdir(parents=True, exist_ok=True)
        (folder / side / "python/sglang/__init__.py").touch()
    for number in range(files):
        name = f"python/sglang/srt/part_{number % 10}/file_{number}.py"
        old = [f"value_{number}_{line} = {chance.random()}\n" for line in range(HUNKS_PER_FILE * LINES_PER_HUNK)]
        new = list(old)
        for hunk in reversed(range(hunks)):
            at = hunk * LINES_PER_HUNK + 8
            new[at : at + 1] = [f"fresh_{number}_{hunk}_{extra} = {extra}\n" for extra in range(2)]
        (folder / "a" / name).write_text("".join(old))
        (folder / "b" / name).write_text("".join(new))
        later = ["import os\n", *old]
        later[HUNKS_PER_FILE * LINES_PER_HUNK // 2] = "changed_by_upstream = 1\n"
        (folder / "next" / name).write_text("".join(later))
    command = ["git", "diff", "--no-index", "--no-prefix", "--full-index", "a", "b"]
    return subprocess.run(command, cwd=folder, env=sealed(), stdout=subprocess.PIPE, check=False).stdout


def rows() -> Iterator[Row]:
    """Yield the peak of each command, and the time of `apply`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        patch = make_sides(folder)
        (folder / "x.patch").write_bytes(patch)
        shutil.copytree(folder / "a", folder / "tree")
        size = f"{len(patch.splitlines()):,}-line patch"
        file, before, later, tree = (str(folder / part) for part in ("x.patch", "a", "next", "tree"))
        applied = measure(patchkit("apply", tree, "--patch", file), cwd=folder)
        subprocess.run(["diff", "-r", "--exclude=.patchkit", "b", "tree"], cwd=folder, check=True)
        yield Row(f"apply of a {size}", applied.wall_s, limit=APPLY_S)
        yield Row(f"apply of a {size}, memory", applied.peak_mb, "MB", limit=MEMORY_MB)
        verbs = {
            "verify": ("verify", "--patch", file, "--upstream", before),
            "diff": ("diff", file, file),
            "rebase": ("rebase", "--patch", file, "--base", before, "--onto", later, "--out", str(folder / "out")),
        }
        for verb, arguments in verbs.items():
            cost = measure(patchkit(*arguments), cwd=folder)
            yield Row(f"{verb} of a {size}, memory", cost.peak_mb, "MB", limit=MEMORY_MB, note=f"{cost.wall_s:.1f} s")
