"""apply, whole process: `patchkit apply --patch` against `python -c "import click"` + `git apply`, in one run.

    python benchmarks/apply.py [--rounds 15]

A made-up tree of 34 files and a patch of about 2,600 lines; the target is a ratio of at most 1.5.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 34
HUNKS_PER_FILE = 7
TARGET = 1.5
SCRIPT = "import sys; from patchkit.cli import main; sys.exit(main())"  # as the installed `patchkit` does


def make_tree(folder: Path) -> bytes:
    """Write the tree into folder/old and return the patch that leads away from it."""
    chance = random.Random(1)
    for number in range(FILES):
        old = [f"    value_{number}_{line} = compute({chance.random()})\n" for line in range(900)]
        new = list(old)
        for hunk in range(HUNKS_PER_FILE):
            at = 60 + hunk * 120
            new[at : at + 1] = [f"    fresh_{number}_{hunk}_{extra} = {extra}\n" for extra in range(3)]
        for side, lines in (("a", old), ("b", new)):
            place = folder / side / f"python/sglang/srt/part_{number % 5}/file_{number}.py"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("".join(lines))
    command = ["git", "diff", "--no-index", "--no-prefix", "--full-index", "a", "b"]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=False).stdout


def seconds(command: list[str], cwd: Path, env: dict[str, str]) -> tuple[float, float]:
    """Return the command's wall time and CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the best time of each and the ratio; 1 when it misses the target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    env = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PYTHON"))}
    env |= {"PYTHONPATH": str(Path(__file__).parent.parent), "GIT_DIR": "/nonexistent", "GIT_CONFIG_GLOBAL": os.devnull}
    best: dict[str, tuple[float, float]] = {}

    def run(label: str, command: list[str], cwd: Path) -> None:
        wall, cpu = seconds(command, cwd, env)
        known = best.get(label, (wall, cpu))
        best[label] = (min(wall, known[0]), min(cpu, known[1]))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        patch = make_tree(folder)
        (folder / "x.patch").write_bytes(patch)
        tree = folder / "tree"
        apply = [sys.executable, "-c", SCRIPT, "apply", str(tree), "--patch", str(folder / "x.patch")]
        for _ in range(rounds):
            shutil.copytree(folder / "a", tree)
            run("patchkit", apply, folder)
            run("again", apply, folder)
            run("reverse", [*apply, "--reverse"], folder)
            run("click", [sys.executable, "-c", "import click"], folder)
            run("git", ["git", "apply", str(folder / "x.patch")], tree)
            shutil.rmtree(tree)
    lines = patch.count(b"\n")
    print(f"patch: {FILES} files, {FILES * HUNKS_PER_FILE} hunks, {lines} lines; best of {rounds}, wall and CPU")
    for label, (wall, cpu) in best.items():
        print(f"  {label:<9} {wall * 1000:7.1f} ms {cpu * 1000:7.1f} ms")
    ratios = [best["patchkit"][kind] / (best["click"][kind] + best["git"][kind]) for kind in (0, 1)]
    print(f"  ratio     {ratios[0]:7.2f}    {ratios[1]:7.2f}      patchkit / (click + git); target {TARGET}")
    return 0 if min(ratios) <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
