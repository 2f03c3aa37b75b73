"""Random trees, edits, patches and damages for the differential fuzzer; one seed is one case."""

import os
import random
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from patchkit.patch.names import quote_name
from tests.git.upstream_tree import NO_CONFIG

Tree = dict[str, tuple[bytes, bool]]  # path -> content, executable

WORDS = [b"a", b"b", b"if x:", b"    return y", b"", b"}", b"def f():", b"    pass"]
ODD = [
    b"\x0c",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xe4\xf6",
    b"\x1b[0m",
    b"\r",
    b"--- a/x",
    b"+++ b/x",
    b"@@ -1 +1 @@",
    b"-- ",
    b"\\ x",
]
NAMES = [
    "f",
    "d/g.py",
    "d/e/h",
    "with space",
    'quo"te',
    "tab\tname",
    "caf\u00e9",
    "\udce4latin",
    "-dash",
    "x b/x",
    "dev/null",
    "b/c",
]
JUNK = [
    b"junk\n",
    b"\n",
    b"+more\n",
    b" more\n",
    b"-more\n",
    b"<<<<<<< HEAD\n",
    b"@@ -8,5\n",
    b"@@ -1 +1 @@\n",
    b"\\ No newline at end of file\n",
    b"-- \n",
    b"index 123..456\n",
    b"rename from x\n",
    b"new file mode 100644\n",
    b"diff --git a/f b/f\n",
]


@dataclass(frozen=True)
class Case:
    """One case: the tree that the patch is applied to, the patch, and what was done to either."""

    seed: int
    target: Tree
    patch: bytes
    damages: tuple[str, ...] = field(default=())


def make_case(seed: int, scratch: Path) -> Case:
    chance = random.Random(seed)
    old = {name: (_text(chance), chance.random() < 0.2) for name in chance.sample(NAMES, chance.randint(1, 3))}
    new = _edited_tree(chance, old)
    patch = _diff(chance, old, new, scratch)
    damages = []
    target = old
    if chance.random() < 0.4:
        target = {name: (_drifted(chance, content), mode) for name, (content, mode) in old.items()}
        damages.append("drift")
    if chance.random() < 0.5:
        for _ in range(chance.randint(1, 2)):
            patch, damage = damaged(chance, patch)
            damages.append(damage)
    return Case(seed, target, patch, tuple(damages))


def write_tree(folder: Path, tree: Tree) -> None:
    for name, (content, executable) in tree.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o755 if executable else 0o644)


def read_tree(folder: Path) -> Tree:
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            place = os.path.join(base, name)
            with open(place, "rb") as stream:
                found[os.path.relpath(place, folder)] = (stream.read(), bool(os.stat(place).st_mode & 0o100))
    return found


def run_git(arguments: list[str], cwd: Path, stdin: bytes = b"", **settings: str) -> subprocess.CompletedProcess[bytes]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env = {**kept, **NO_CONFIG, "GIT_DIR": str(cwd / ".no-such-repository"), **settings}
    return subprocess.run(["git", *arguments], cwd=cwd, input=stdin, env=env, check=False, capture_output=True)


# -- trees ----------------------------------------------------------------------------------------------------


def _text(chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.06:
        return b""
    if kind < 0.12:
        return bytes(chance.randrange(256) for _ in range(chance.randint(1, 300)))
    ending = b"\r\n" if kind < 0.25 else b"\n"
    unique = chance.random() < 0.4
    lines = [
        b"line %d" % number
        if unique
        else chance.choice(WORDS) + (chance.choice(ODD) if chance.random() < 0.08 else b"")
        for number in range(chance.randint(1, 40))
    ]
    text = ending.join(lines)
    return text + ending if chance.random() < 0.8 else text


def _edited(chance: random.Random, text: bytes) -> bytes:
    lines = text.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(lines))
        action = chance.random()
        fresh = [chance.choice(WORDS) + chance.choice([b"", b"1", b" "]) for _ in range(chance.randint(1, 3))]
        if action < 0.4:
            lines[at:at] = fresh
        elif action < 0.7:
            del lines[at : at + chance.randint(1, 3)]
        else:
            lines[at : at + chance.randint(1, 2)] = fresh
    if chance.random() < 0.1:
        lines = [b"\n".join(lines).rstrip(b"\n")]
    return b"\n".join(lines)


def _edited_tree(chance: random.Random, old: Tree) -> Tree:
    new = dict(old)
    for name, (content, executable) in old.items():
        action = chance.random()
        if action < 0.65:
            new[name] = (_edited(chance, content), executable)
        elif action < 0.75:
            del new[name]
        elif action < 0.85:
            new[name] = (content, not executable)
        elif action < 0.95:
            del new[name]
            new[chance.choice(["moved", "d/moved.py"])] = (_edited(chance, content), executable)
    if chance.random() < 0.2:
        new["created"] = (_text(chance), False)
    if chance.random() < 0.1 and old:
        name = chance.choice(sorted(old))
        new["copied"] = (_edited(chance, old[name][0]), old[name][1])
    return new


def _drifted(chance: random.Random, text: bytes) -> bytes:
    lines = text.split(b"\n")
    for _ in range(chance.randint(1, 2)):
        at = chance.randint(0, len(lines))
        if chance.random() < 0.6:
            lines[at:at] = [chance.choice(WORDS) for _ in range(chance.randint(1, 4))]
        else:
            del lines[at : at + chance.randint(1, 2)]
    return b"\n".join(lines)


# -- patches --------------------------------------------------------------------------------------------------


def _diff(chance: random.Random, old: Tree, new: Tree, scratch: Path) -> bytes:
    options = [f"-U{chance.choice([0, 1, 2, 3, 3, 3, 3, 4, 7, 10])}"]
    options += [option for option in ("--full-index", "--binary", "-M", "-C", "--patience") if chance.random() < 0.4]
    options += [f"--inter-hunk-context={chance.randint(0, 4)}"] if chance.random() < 0.2 else []
    options += chance.choice([[], [], [], ["--no-prefix"], ["--src-prefix=i/", "--dst-prefix=w/"]])
    patch = diff_trees(old, new, options, scratch)
    if chance.random() < 0.2:
        head = b"From " + b"1" * 40 + b" Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n f | 2 +-\n\n"
        patch = head + patch + b"-- \n2.39.5\n\n"
    return patch


def diff_trees(old: Tree, new: Tree, options: list[str], repository: Path) -> bytes:
    """Return the difference between two trees as git's plumbing writes it; the repository is made when first used."""
    if not (repository / "HEAD").exists():
        run_git(["init", "-q", "--bare", "."], repository)
    run_git(["fast-import", "--quiet", "--force"], repository, _stream("old", old) + _stream("new", new), GIT_DIR=".")
    return run_git(["diff-tree", "-p", *options, "old", "new"], repository, GIT_DIR=".").stdout


def _stream(branch: str, tree: Tree) -> bytes:
    """Return what `git fast-import` makes a commit of the tree from."""
    pieces = [b"commit refs/heads/%s\ncommitter x <x@example.com> 0 +0000\ndata 0\n" % branch.encode()]
    for name, (content, executable) in tree.items():
        mode = b"100755" if executable else b"100644"
        pieces.append(
            b"M %s inline %s\ndata %d\n" % (mode, quote_name(os.fsencode(name)), len(content)) + content + b"\n"
        )
    return b"".join(pieces)


def damaged(chance: random.Random, patch: bytes) -> tuple[bytes, str]:
    """Return the patch with one damage, and the name of it."""
    lines = patch.split(b"\n")
    at = chance.randrange(len(lines))
    kind = chance.choice(["drop", "double", "insert", "swap", "digit", "byte", "cut", "strip", "crlf", "number"])
    match kind:
        case "drop":
            del lines[at]
        case "double":
            lines.insert(at, lines[at])
        case "insert":
            lines.insert(at, chance.choice(JUNK).rstrip(b"\n"))
        case "swap":
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case "strip":
            lines[at] = lines[at].strip()
        case "crlf":
            lines = [line + b"\r" for line in lines[:-1]] + lines[-1:]
        case "number":
            headers = [number for number, line in enumerate(lines) if re.match(rb"@@ -[0-9]", line)]
            if headers:
                number = chance.choice(headers)
                shift = chance.choice([-3, -1, 1, 2, 5])
                lines[number] = _shifted(lines[number], shift, chance.randint(0, 3))
        case _:
            return _damaged_bytes(chance, patch, kind)
    return b"\n".join(lines), kind


def _shifted(header: bytes, shift: int, which: int) -> bytes:
    """Add to one of the four numbers of a hunk header."""
    numbers = list(re.finditer(rb"[0-9]+", header))[:4]
    match = numbers[which % len(numbers)]
    return header[: match.start()] + b"%d" % max(0, int(match[0]) + shift) + header[match.end() :]


def _damaged_bytes(chance: random.Random, patch: bytes, kind: str) -> tuple[bytes, str]:
    at = chance.randrange(len(patch)) if patch else 0
    if kind == "cut":
        return patch[:at], kind
    fresh = b"%d" % chance.randrange(10) if kind == "digit" else bytes([chance.choice(b"\x00 \t+-/@ax\xff")])
    return patch[:at] + fresh + patch[at + 1 :], kind
