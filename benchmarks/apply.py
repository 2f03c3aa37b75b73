"""apply, whole process: `patchkit apply --patch` against `python -c "import click"` + `git apply`, in one run.

A made-up tree of 34 files and a patch of about 2,600 lines.
"""

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Cost, Row, best_of_each, measure, patchkit, sealed

FILES = 34
HUNKS_PER_FILE = 7
ROUNDS = 25
LIMIT = 1.5


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


def rows() -> Iterator[Row]:
    """Yield the ratio; apply once more and the reverse to compare."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        patch = make_tree(folder)
        (folder / "x.patch").write_bytes(patch)
        env = {**sealed(), "GIT_DIR": "/nonexistent"}
        apply = patchkit("apply", str(folder / "tree"), "--patch", str(folder / "x.patch"))
        git = ["git", "apply", str(folder / "x.patch")]

        def on_pristine(command: list[str], cwd: Path) -> Cost:
            shutil.rmtree(folder / "tree", ignore_errors=True)
            shutil.copytree(folder / "a", folder / "tree")
            return measure(command, cwd=cwd, env=env)

        click, peer, ours, again = best_of_each(
            ROUNDS,
            lambda: measure([sys.executable, "-c", "import click"], cwd=folder, env=env),
            lambda: on_pristine(git, folder / "tree"),
            lambda: on_pristine(apply, folder),
            lambda: measure(apply, cwd=folder, env=env),
        )
    what = f"apply, {FILES} files, {len(patch.splitlines()):,} lines"
    basis = click.wall_s + peer.wall_s
    yield Row(what, ours.wall_s, peer=basis, peer_name="import click + git apply", limit=LIMIT)
    yield Row(f"{what}, CPU", ours.cpu_s, peer=click.cpu_s + peer.cpu_s, peer_name="the same, CPU")
    yield Row(f"{what}, when already applied", again.wall_s, peer=basis, peer_name="as above")
