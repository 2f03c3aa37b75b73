"""Do the names that an edit uses still stand for something in the new upstream?"""

import re
from collections.abc import Mapping, Sequence
from keyword import kwlist

from patchkit.carry.cases import Case
from patchkit.carry.follow import Library
from patchkit.carry.nouns import Action, Outcome, Stage
from patchkit.carry.scene import Scene
from patchkit.carry.undefined import KNOWN
from patchkit.carry.vocabulary import defined_names
from patchkit.carry.wording import bound_names, chains, words

WORDS_OF_PYTHON = frozenset(kwlist)

_COMMENT = re.compile(r"(?:^|\s)#.*$")
_USE = re.compile(r"\.([A-Za-z_]\w+)|\b([A-Za-z_]\w+)\(")
_STRING = re.compile(r'"[^"]*"|\'[^\']*\'')


def half_landed(outcome: Outcome, scene: Scene, library: Library) -> str:
    """Some of the names that the edit brings are upstream's now."""
    names = scene.vocabulary.names_in(outcome.edit.new)
    landed = names & scene.vocabulary.landed
    if landed:
        return f"upstream newly has {', '.join(sorted(landed)[:4])}"
    return ""


def stale_reference(outcome: Outcome, scene: Scene, library: Library) -> str:
    """The edit uses a name that the old file had and the new one, or the whole new tree, has not."""
    written = outcome.pieces[0].text if outcome.stage is Stage.TOKENS and outcome.pieces else outcome.edit.new
    code = [_COMMENT.sub("", _STRING.sub('""', line)) for line in written]
    own = bound_names(code)
    old, new = scene.base.words, scene.new.words
    attributes = chains(code) & scene.base.chains - scene.new.chains - own if not scene.is_elsewhere else ()
    for name in sorted(attributes):
        return f"upstream no longer has self.{name} in {scene.path}"
    for name in sorted((words(code) & old) - new - own - scene.vocabulary.brought - KNOWN - WORDS_OF_PYTHON):
        if not library.has_word(name):
            return f"upstream no longer has {name} anywhere"
    return ""


def gone_from_tree(outcome: Outcome, scene: Scene, library: Library, earlier: Library) -> str:
    """The edit uses an attribute, or calls a name, that the old tree had anywhere and the new one has nowhere."""
    code = [_COMMENT.sub("", _STRING.sub('""', line)) for line in outcome.edit.new]
    used = {name for line in code for pair in _USE.findall(line) for name in pair if name}
    unknown = used - scene.new.words - scene.vocabulary.brought - scene.vocabulary.attributes - bound_names(code)
    for name in sorted(unknown - KNOWN - WORDS_OF_PYTHON):
        if not library.has_word(name) and earlier.has_word(name):
            return f"upstream no longer has {name} anywhere"
    return ""


Places = Mapping[str, Sequence[tuple[Case, int]]]


def places_of_words(cases: Sequence[Case]) -> Places:
    """Return which edits write each word: the case, and where in its outcomes."""
    places: dict[str, list[tuple[Case, int]]] = {}
    for case in cases:
        for at, outcome in enumerate(case.outcomes):
            for word in words(outcome.edit.new):
                places.setdefault(word, []).append((case, at))
    return places


def broken_chain(outcome: Outcome, case: Case, places: Places) -> str:
    """What it needs is unresolved, or all that needs it is."""
    scene = case.scene
    if scene is None:
        return ""
    edit = outcome.edit
    open_hunks = {other.edit.hunk for other in case.outcomes if other.action is Action.UNRESOLVED} - {edit.hunk}
    for other in case.outcomes if open_hunks else ():
        if other.edit.hunk in open_hunks:
            shared = chains(edit.new) & chains(line.partition("=")[0] for line in other.edit.new if "=" in line)
            if shared:
                return f"hunk {other.edit.hunk}, which sets self.{min(shared)}, is unresolved"
    names = scene.vocabulary.names_in(edit.new) - scene.vocabulary.landed
    defined = defined_names(edit.new) & names
    for name in sorted(names):
        written = (one.outcomes[at] for one, at in places.get(name, ()))
        others = [other for other in written if other.edit is not edit]
        if name in defined:
            if others and defined == names and all(other.action is Action.UNRESOLVED for other in others):
                return f"what reads {name} is unresolved"
            continue
        definers = [other for other in others if name in defined_names(other.edit.new)]
        if definers and all(other.action is Action.UNRESOLVED for other in definers):
            return f"what defines {name} is unresolved"
    return ""
