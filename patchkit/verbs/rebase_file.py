"""`rebase --patch`: carry one patch file from one upstream to another, without a store."""

import json
import tempfile
from pathlib import Path

from patchkit.carry.engine import carry_patch
from patchkit.carry.nouns import Action, Carried, Tree
from patchkit.carry.report import counts_of, report_of
from patchkit.errors import ConfigError
from patchkit.patch.patchtext import read_patch
from patchkit.rebasing.resolver import propose
from patchkit.results.rebase import Rebase, RebasedHunk, RebasedTopic
from patchkit.store import replace_file
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_version
from patchkit.upstream.objects import File, ObjectStore
from patchkit.upstream.trees import DirectoryTree, UpstreamTree
from patchkit.versions import bare, is_version


def rebase_file(patch: Path, base: str, onto: str, out: Path, access: Access, *, resolver: str = "") -> Rebase:
    """Carry a patch and write the outcome below `out`, which must be empty.

    base, onto: a directory that holds python/sglang/, or a release.
    Writes out/tree/ (each changed file whole, conflicts marked), out/result.patch (what is carried, without the
    hunks that are unresolved) and out/report.json.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError("the output folder is not empty", where=str(out), hint=f"rm -r {out}")
    text = read_patch(patch.read_bytes(), name=str(patch))
    old, new = _tree(base, access), _tree(onto, access)
    touched = [path for section in text.files for path in (section.old_path, section.new_path)]
    for tree in (old, new):
        tree.load(touched)
    settle = [propose(resolver, Path.cwd(), timeout_s=access.deadline_s)] if resolver else []
    carried = carry_patch(text.files, old, new, settle)
    for path, data in carried.files.items():
        if data is not None:
            target = out / "tree" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    out.mkdir(parents=True, exist_ok=True)
    (out / "result.patch").write_bytes(_diff(carried, new))
    document = json.dumps(report_of(carried), indent=1, ensure_ascii=False) + "\n"
    replace_file(out / "report.json", document.encode("utf-8", "surrogateescape"))
    topic = RebasedTopic(patch.name, "", dict(counts_of(carried.decisions)), hunks_of(carried))
    return Rebase(source=base, target=onto, state="written", topics=(topic,), written=str(out), work="", next_step="")


def hunks_of(carried: Carried) -> tuple[RebasedHunk, ...]:
    """Return each hunk's decision as the result shows it."""
    return tuple(
        RebasedHunk(
            path=one.path,
            number=one.hunk,
            action=one.action.value,
            stage=one.stage.value,
            to=one.to,
            suspect=one.suspect and one.action is not Action.UNRESOLVED,
            cause=one.cause.value,
            scope=one.scope,
            evidence=one.evidence,
        )
        for one in carried.decisions
    )


def _tree(name: str, access: Access) -> Tree:
    if Path(name).is_dir():
        return DirectoryTree(Path(name))
    if is_version(name):
        return UpstreamTree(bring_version(bare(name), access))
    raise ConfigError(f"{name} is neither a directory nor a release")


def _diff(carried: Carried, new: Tree) -> bytes:
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
