"""How the series came to its pins, by the engine of today: python -m tests.bumps [--write].

Carries each shipped sglang.patch to the next pin with the free-standing rebase, and compares every file with the one
that ships. Prints what became of the hunks; --write puts it into docs/bumps, above what a person wrote there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from patchkit.patch.patchtext import read_patch
from patchkit.rules.compose import NamedPatch, compose, touched_paths
from patchkit.store import pin_folder, pin_names, read_pin
from patchkit.upstream.access import Access, cache_folder
from patchkit.upstream.bring import Upstream, bring_pin
from patchkit.versions import order

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "bumps"
HAND = "## Settled by a person"
SOURCES = "python/sglang/srt/"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the engine did with one hunk. kind: carried, moved, shrunk, dropped or unresolved."""

    path: str
    hunk: int
    kind: str
    stage: str
    is_suspect: bool
    evidence: str

    @property
    def is_flagged(self) -> bool:
        """Whether a person is asked to look."""
        return self.is_suspect or self.kind == "unresolved"


@dataclass(frozen=True, slots=True)
class Bump:
    """One pin's series at the next pin. different: files that are not as shipped, with the reason to look if any."""

    old: str
    new: str
    decisions: tuple[Decision, ...]
    different: Mapping[str, str]

    @property
    def silent(self) -> list[str]:
        """The files that are not as shipped although the engine asked nobody to look."""
        return [path for path, reason in self.different.items() if not reason]


def main() -> None:
    """Print the summary, or write the pages."""
    parser = argparse.ArgumentParser(prog="python -m tests.bumps", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/bumps; without, print the summary")
    options = parser.parse_args()
    access = Access(cache_folder())
    pins = sorted(pin_names(ROOT), key=lambda name: order(name.removeprefix("v")))
    bumps = [carry(old, new, access) for old, new in pairwise(pins)]
    if options.write:
        for bump in bumps:
            write_page(DOCS / f"{bump.new}.md", "\n".join(page(bump)))
        write_page(DOCS / "README.md", "\n".join(summary(bumps)))
    else:
        print("\n".join(summary(bumps)))


def carry(old: str, new: str, access: Access) -> Bump:
    """Carry a pin's whole patch to the next pin, in a scratch folder."""
    upstreams = {name: bring_pin(read_pin(ROOT, name), access) for name in (old, new)}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, upstream in upstreams.items():
            upstream.write_to(folder / name)
        patch = pin_folder(ROOT, old) / "sglang.patch"
        command = ["rebase", "--patch", patch, "--base", folder / old, "--onto", folder / new, "--out", folder / "out"]
        subprocess.run(
            [sys.executable, "-m", "patchkit", *map(str, command)], cwd=ROOT, check=False, capture_output=True
        )
        report = json.loads((folder / "out" / "report.json").read_bytes())
        decisions = tuple(read_decisions(report))
        shipped = shipped_files(new, upstreams[new])
        paths = sorted({*shipped, *(each.path for each in decisions)})
        carried = {path: folder / "out" / "tree" / path for path in paths}
        made = {
            path: at.read_bytes() if at.exists() else upstreams[new].read([path]).get(path)
            for path, at in carried.items()
        }
        wanted = {**upstreams[new].read(paths), **shipped}
    different = {path: why_to_look(path, decisions) for path in paths if made[path] != wanted.get(path)}
    return Bump(old, new, decisions, different)


def read_decisions(report: Mapping[str, object]) -> Iterator[Decision]:
    """Yield each hunk's decision; `path` is where it ends."""
    for each in report["decisions"]:  # type: ignore[attr-defined]
        path = each["to"] or each["path"]
        yield Decision(path, each["hunk"], each["action"], each["stage"], each["suspect"], "; ".join(each["evidence"]))
    for each in report["unresolved"]:  # type: ignore[attr-defined]
        yield Decision(each["path"], each["hunk"], "unresolved", "", is_suspect=False, evidence=each["reason"])


def shipped_files(name: str, upstream: Upstream) -> dict[str, bytes]:
    """Return the files of a pin as its own sglang.patch leaves them."""
    patch = read_patch((pin_folder(ROOT, name) / "sglang.patch").read_bytes(), name="sglang.patch")
    named = [NamedPatch("sglang", "sglang.patch", patch)]
    files = compose(named, upstream.read(touched_paths(named))).files
    return {path: file.after.text for path, file in files.items() if file.after is not None}


def why_to_look(path: str, decisions: Sequence[Decision]) -> str:
    """Return the flagged hunks of a file; empty for none."""
    return ", ".join(f"#{each.hunk}" for each in decisions if each.path == path and each.is_flagged)


# -- telling ----------------------------------------------------------------------------------------------


def page(bump: Bump) -> Iterator[str]:
    """Yield the lines of one bump's page, without what a person adds."""
    counts = Counter(each.kind for each in bump.decisions)
    yield f"# {bump.old} to {bump.new}\n"
    yield f"`patchkit rebase --patch patches/{bump.old}/sglang.patch --base {bump.old} --onto {bump.new} --out OUT`:"
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    yield f"{len(bump.decisions)} hunks: {told}; {sum(each.is_suspect for each in bump.decisions)} of them suspect.\n"
    shown = [each for each in bump.decisions if each.is_flagged or (each.kind, each.stage) != ("carried", "merge")]
    if shown:
        yield "Each hunk that was not simply merged:\n\n| hunk | fate | stage | evidence |\n| --- | --- | --- | --- |"
    for each in shown:
        fate = f"**{each.kind}, suspect**" if each.is_suspect else each.kind
        yield f"| {short(each.path)}#{each.hunk} | {fate} | {each.stage or '-'} | {each.evidence.replace('|', ' ')} |"
    yield "\n## Beside what ships\n"
    if not bump.different:
        yield "Every file is as it ships."
    for path, reason in bump.different.items():
        yield f"- {short(path)} differs: {f'flagged, {reason}' if reason else 'no hunk of it was flagged'}"
    yield ""


def summary(bumps: Sequence[Bump]) -> Iterator[str]:
    """Yield the lines of the first page."""
    yield "# How the series came to its pins\n"
    yield "Each bump of the shipped series, made again by the engine of today (`python -m tests.bumps --write`): every"
    yield "pin's sglang.patch is carried to the next pin, and every file compared with the one that ships. What was"
    yield "settled by a person, and why a file differs, is on the pages.\n"
    yield "| from | to | hunks | carried | dropped | unresolved | suspect | files not as shipped | of them unflagged |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for bump in bumps:
        counts = Counter(each.kind for each in bump.decisions)
        gone = counts["dropped"], counts["unresolved"]
        cells = [len(bump.decisions), len(bump.decisions) - sum(gone), *gone]
        cells += [sum(each.is_suspect for each in bump.decisions), len(bump.different), len(bump.silent)]
        yield f"| {bump.old} | [{bump.new}]({bump.new}.md) | {' | '.join(map(str, cells))} |"
    yield ""


def short(path: str) -> str:
    """Return a path as the pages name it."""
    return path.removeprefix(SOURCES)


def write_page(path: Path, text: str) -> None:
    """Write a page and keep what a person wrote below."""
    old = path.read_text("utf-8") if path.exists() else ""
    kept = old[old.index(HAND) :] if HAND in old else ""
    path.write_text(text.rstrip("\n") + "\n" + (f"\n{kept}" if kept else ""), "utf-8")


if __name__ == "__main__":
    main()
