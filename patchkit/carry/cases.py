"""The sections of a patch on their way: each file's texts, its edits and what became of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from patchkit.carry.conflicts import Span, unresolved
from patchkit.carry.edits import line_text, read_edits
from patchkit.carry.nouns import Action, Cause, Edit, Lines, Outcome, Piece, Source, Stage, Tree, join
from patchkit.carry.scene import Scene
from patchkit.carry.vocabulary import Vocabulary, read_vocabulary
from patchkit.patch.hunks import ChangeKind, FilePatch


@dataclass
class Case:
    """One section of the patch. outcomes: one an edit, in order; empty until a stage has answered.

    scene: the file's texts; None where there is nothing to merge. new_missing: upstream no longer has the file.
    """

    section: FilePatch
    edits: list[Edit]
    scene: Scene | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    deleted: bool = False
    new_missing: bool = False

    @property
    def path(self) -> str:
        """The path that names the section."""
        return self.section.path


def read_cases(sections: Sequence[FilePatch], old: Tree, new: Tree) -> list[Case]:
    """Return the cases of a patch; what needs no merging is settled."""
    cases = [_read_case(section, old, new) for section in sections]
    vocabulary = _vocabulary(cases, new)
    for case in cases:
        if case.scene is not None:
            case.scene.vocabulary = vocabulary
    return cases


def _read_case(section: FilePatch, old: Tree, new: Tree) -> Case:
    base, ours = old.read(section.old_path), new.read(section.path)
    if section.kind is ChangeKind.CREATE:
        return _create(section, ours)
    if base is None:
        return _whole(section, Cause.FILE_GONE, "the old upstream has no such file")
    if section.binary:
        return _whole(section, Cause.BINARY, "a binary change is not merged")
    if section.kind is ChangeKind.DELETE:
        return _delete(section, base, ours)
    old_text = Source(base)
    edits, theirs = read_edits(section.hunks, old_text.lines)
    scene = Scene(section.path, old_text, Source(join(theirs)), Source(b"" if ours is None else ours))
    return Case(section, edits, scene, new_missing=ours is None)


def _create(section: FilePatch, ours: bytes | None) -> Case:
    """A file that the patch brings: new, or one that upstream now brings too."""
    lines = tuple(line_text(line) for hunk in section.hunks for line in hunk.lines)
    ends_open = bool(section.hunks) and not section.hunks[-1].lines[-1].text.endswith(b"\n")
    text: Lines = lines if ends_open else (*lines, "")
    edit = Edit(1 if section.hunks else 0, 0, 0, text, 0)
    if ours is None:
        outcome = Outcome(
            edit, Action.CARRIED, Stage.MERGE, ("upstream has no such file",), (Piece(section.path, 0, 0, text),)
        )
    elif ours == join(text):
        outcome = Outcome(
            edit, Action.DROPPED, Stage.UPSTREAMED, ("upstream has the same file",), cause=Cause.UPSTREAMED
        )
    else:
        outcome = unresolved(edit, Cause.BOTH_ADD, "upstream now has a file of this name, with other text")
    return Case(section, [edit], outcomes=[outcome])


def _delete(section: FilePatch, base: bytes, ours: bytes | None) -> Case:
    edit = Edit(1 if section.hunks else 0, 0, 0, (), 0)
    if ours is None:
        evidence = ("upstream deleted the file too",)
        outcome = Outcome(edit, Action.DROPPED, Stage.UPSTREAMED, evidence, cause=Cause.UPSTREAMED)
    elif ours != base:
        outcome = unresolved(edit, Cause.DELETE_MODIFY, "the patch deletes the file, upstream changed it")
    else:
        outcome = Outcome(edit, Action.CARRIED, Stage.UNCHANGED, ("upstream left it alone",))
        return Case(section, [edit], outcomes=[outcome], deleted=True)
    return Case(section, [edit], outcomes=[outcome])


def _whole(section: FilePatch, cause: Cause, evidence: str) -> Case:
    """Return a section of which no hunk can be carried, for a reason that holds for the file."""
    edits = [Edit(number, 0, 0, (), 0) for number in [hunk.number for hunk in section.hunks] or [0]]
    return Case(section, edits, outcomes=[unresolved(edit, cause, evidence) for edit in edits])


def _vocabulary(cases: Sequence[Case], new: Tree) -> Vocabulary:
    scenes = [case.scene for case in cases if case.scene is not None]
    ours = [new.read(case.path) for case in cases if case.section.kind is ChangeKind.CREATE]
    return read_vocabulary(
        {case.path: case.edits for case in cases},
        old=[scene.base for scene in scenes],
        new=[*(scene.new for scene in scenes), *(Source(data) for data in ours if data is not None)],
    )
