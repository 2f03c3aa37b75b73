"""weather over simulated upstream commits: what 100, 1,000 and 10,000 of them cost, and what a repeat costs.

A made-up upstream of 300 files; every tenth commit touches one of the 12 files of a series of 4 topics and 48 hunks,
most of them away from the topics' lines, some of them in these.
"""

import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Cost, Row, measure, patchkit, sealed

FILES = 300
METHODS = 40
PATCHED = 12
TOPICS = 4
COMMITS = (100, 1_000, 10_000)
MOST_S = 30.0
REPEAT_S = 1.0
PIN = "v0.5.12"


def method(number: int) -> list[str]:
    """Return the lines of one method."""
    return [
        f"    def step_{number}(self, value):",
        f"        first_{number} = value + {number}",
        f"        if first_{number} > self.limit_{number}:",
        f"            self.refuse(first_{number}, {number})",
        f"        second_{number} = self.keep(first_{number})",
        f"        return second_{number}",
        "",
    ]


def name_of(number: int) -> str:
    """Return the path of a made-up file."""
    return f"python/sglang/srt/part_{number % 10}/file_{number}.py"


def make_clone(clone: Path, commits: int) -> None:
    """Write a repository with so many commits after its release, by one stream."""
    chance = random.Random(1)
    files = [
        [f"class Part{number}:", *(line for one in range(METHODS) for line in method(one))] for number in range(FILES)
    ]
    subprocess.run(["git", "init", "-q", "--bare", str(clone)], check=True, env=sealed())
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=clone, env=sealed(), stdin=subprocess.PIPE) as child:
        stream = child.stdin
        assert stream is not None

        def write(message: str, changed: dict[str, str]) -> None:
            stream.write(
                f"commit refs/heads/main\ncommitter a <a@invalid> 0 +0000\ndata {len(message)}\n{message}\n".encode()
            )
            for path, text in changed.items():
                data = text.encode()
                stream.write(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")

        tree = {name_of(number): "\n".join(lines) + "\n" for number, lines in enumerate(files)}
        write("release", {"python/sglang/__init__.py": "", "python/sglang/srt/__init__.py": "", **tree})
        stream.write(f"reset refs/tags/{PIN}\nfrom refs/heads/main\n\n".encode())
        for count in range(commits):
            number = chance.randrange(PATCHED) if count % 10 == 0 else chance.randrange(PATCHED, FILES)
            lines = files[number]
            at = chance.randrange(1, len(lines))
            if chance.random() < 0.5:
                lines.insert(at, f"        # commit {count}")
            else:
                lines[at] = lines[at].replace("value", f"value_{count}") + (f"  # {count}" if lines[at] else "")
            write(f"commit {count}", {name_of(number): "\n".join(lines) + "\n"})
        stream.close()
        if child.wait():
            raise SystemExit("git fast-import failed")


def make_store(root: Path, clone: Path) -> None:
    """Write a store whose pin is the clone's release, with a series of topics."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(clone), *arguments], check=True, env=sealed(), stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    folder = root / "patches" / PIN
    folder.mkdir(parents=True)
    for topic in range(TOPICS):
        with tempfile.TemporaryDirectory() as scratch:
            for number in range(topic, PATCHED, TOPICS):
                before = [f"class Part{number}:", *(line for one in range(METHODS) for line in method(one))]
                after = list(before)
                for hunk in range(4):
                    at = 1 + 7 * (hunk * 10 + topic) + 3
                    after[at] = after[at].replace("refuse", "refuse_later")
                for side, lines in (("a", before), ("b", after)):
                    path = Path(scratch, side, name_of(number))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text("\n".join(lines) + "\n")
            command = ["git", "diff", "--no-index", "--no-prefix", "--full-index", "a", "b"]
            patch = subprocess.run(command, cwd=scratch, env=sealed(), stdout=subprocess.PIPE, check=False).stdout
        (folder / f"topic-{topic}.patch").write_bytes(patch)
    (folder / "series").write_text("".join(f"topic-{topic}.patch\n" for topic in range(TOPICS)))
    tree, commit = git("rev-parse", f"{PIN}:python/sglang"), git("rev-parse", f"{PIN}^{{commit}}")
    (folder / "pin.toml").write_text(
        f'version = "{PIN[1:]}"\ncommit = "{commit}"\ntree = "{tree}"\n[git]\nlocation = "{clone}"\n'
    )
    (root / "patches/latest").write_text(f"{PIN}\n")
    topics = "".join(f'[topic-{topic}]\ntitle = "t"\nfault = "f"\nwhy = "w"\n' for topic in range(TOPICS))
    (root / "patches/topics.toml").write_text(topics)


def touched_contents(clone: Path) -> int:
    """Return how many contents the patched files have over all commits."""
    paths = [name_of(number) for number in range(PATCHED)]
    command = ["git", "log", "--format=", "--raw", "--no-abbrev", "main", "--", *paths]
    done = subprocess.run(command, cwd=clone, env=sealed(), stdout=subprocess.PIPE, check=True, text=True)
    return len({row.split(" ")[3] for row in done.stdout.splitlines()})


def look(folder: Path) -> Cost:
    """Measure `weather` over all commits, with a cache of its own."""
    clone = str(folder / "clone.git")
    command = patchkit(
        "--offline", "--root", str(folder / "store"), "weather", "--git", clone, "--range", f"{PIN}..main"
    )
    return measure(command, env={**sealed(), "XDG_CACHE_HOME": str(folder / "cache")})


def rows() -> Iterator[Row]:
    """Yield what each number of commits costs, cold, and what the largest costs again."""
    for commits in COMMITS:
        with tempfile.TemporaryDirectory() as name:
            clone, root = Path(name, "clone.git"), Path(name, "store")
            make_clone(clone, commits)
            make_store(root, clone)
            contents = touched_contents(clone)
            last = commits == COMMITS[-1]
            first = look(Path(name))
            kept = sum(path.stat().st_size for path in Path(name, "cache/patchkit/weather").rglob("*.json"))
            note = f"{contents:,} contents of touched files; {first.peak_mb:.0f} MB; {kept / 1e6:.1f} MB remembered"
            yield Row(
                f"weather over {commits:,} commits, cold", first.wall_s, limit=MOST_S if last else None, note=note
            )
            if last:
                yield Row(f"weather over {commits:,} commits, again", look(Path(name)).wall_s, limit=REPEAT_S)
