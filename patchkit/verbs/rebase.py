"""Make the series of a new pin out of an old one."""

import json
import os
import tempfile
from pathlib import Path

from patchkit.carry.engine import carry_patch
from patchkit.carry.nouns import Action, Carried
from patchkit.carry.report import report_of
from patchkit.errors import ConfigError
from patchkit.objects import File, ObjectStore
from patchkit.patchtext import read_patch
from patchkit.trees import DirectoryTree


def rebase_file(patch: Path, base: Path, onto: Path, out: Path) -> Carried:
    """Carry one patch file from one upstream directory to another and write the outcome below `out`.

    Writes out/tree/ (each changed file whole; conflicts marked), out/result.patch (what is carried, without
    the conflicts) and out/report.json.
    """
    if out.exists() and any(out.iterdir()):
        raise ConfigError("the output folder is not empty", where=str(out), hint=f"rm -r {out}")
    text = read_patch(patch.read_bytes(), name=str(patch))
    new = DirectoryTree(onto)
    carried = carry_patch(text.files, DirectoryTree(base), new)
    out.mkdir(parents=True, exist_ok=True)
    for path, data in carried.files.items():
        if data is not None:
            target = out / "tree" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    (out / "result.patch").write_bytes(_diff(carried, new))
    _write(out / "report.json", json.dumps(report_of(carried), indent=1, ensure_ascii=False) + "\n")
    return carried


def _diff(carried: Carried, new: DirectoryTree) -> bytes:
    before: dict[str, File | None] = {}
    after: dict[str, File | None] = {}
    for path, data in carried.clean.items():
        old = new.read(path)
        before[path] = None if old is None else File(old)
        after[path] = None if data is None else File(data)
    if not before:
        return b""
    with tempfile.TemporaryDirectory(prefix="patchkit-") as scratch:
        return ObjectStore.open(Path(scratch) / "objects").diff(before, after)


def _write(path: Path, text: str) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8", errors="surrogateescape")
    os.replace(beside, path)


def unresolved_count(carried: Carried) -> int:
    """Return how many hunks a person must settle."""
    return sum(decision.action is Action.UNRESOLVED for decision in carried.decisions)
