"""The names that a patch brings into its files, who defines and who reads them, and which of them upstream now has.

A long new name that both the patch and the new upstream bring is no coincidence: upstream landed the feature.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from patchkit.carry.nouns import Edit, Source
from patchkit.carry.wording import words

_DEFINES = re.compile(
    r"""\b(?:def|class)\s+(\w+)"""
    r"""|^(?:\s+\w[\w.]*\.)?(\w+) (?::[^=(){}]+)?=\s"""  # a module's variable, or an attribute; no local variable
    r"""|^\s+([A-Z][A-Z_0-9]+) = """  # a class's constant
    r"""|(?:^\s*|[(,]\s*)(\w+)=(?!=)"""  # argument or parameter
    r"""|^\s*(\w+): [^=]+ = """  # parameter or field with a default
    r"""|^\s*(\w+):\s"""  # annotated field or parameter, on its own line
    r"""|"--([\w-]+)\""""
    r"""|^\s*"(\w+)":"""  # key of a dictionary
)
_SETS = re.compile(r"\bself\.(\w+)(?: ?: ?[^=\n]+)? = ")
_LEAST_LENGTH = 6


def defined_names(lines: Iterable[str]) -> frozenset[str]:
    """Return the names that some lines define or set, flags with underscores."""
    return frozenset(
        name.replace("-", "_")
        for line in lines
        if not line.lstrip().startswith(("#", "from ", "import "))
        for match in _DEFINES.findall(line)
        for name in match
        if name
    )


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """brought: the names that the patch brings into its files. landed: those that upstream newly has there too.

    defined: those of them that upstream newly defines or sets. attributes: what the patch sets on self.
    """

    brought: frozenset[str] = frozenset()
    landed: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    by_hunk: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()

    def names_in(self, lines: Iterable[str]) -> frozenset[str]:
        """Return the brought names that occur in some lines."""
        return words(lines) & self.brought

    def feature(self, names: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the landed and all names of the features that some names belong to.

        Names that one hunk uses together belong to one feature, and so on from hunk to hunk.
        """
        whole, grown = names, True
        while grown:
            reached = whole.union(*(used for used in self.by_hunk.values() if used & whole))
            grown, whole = reached != whole, reached
        return whole & self.defined, whole


def read_vocabulary(edits: Mapping[str, Sequence[Edit]], old: Iterable[Source], new: Iterable[Source]) -> Vocabulary:
    """Return the vocabulary of a patch, given each touched file's edits, old base and new upstream text."""
    known = frozenset().union(*(source.words for source in old))
    added = {path: [line for edit in found for line in edit.new] for path, found in edits.items()}
    brought = frozenset(
        name for lines in added.values() for name in defined_names(lines) if name not in known and _is_telling(name)
    )
    new = list(new)
    landed = brought & frozenset().union(*(source.words for source in new))
    defined = defined_names(
        line for source in new if source.words & landed for line in source.lines if words([line]) & landed
    )
    by_hunk: dict[tuple[str, int], frozenset[str]] = {}
    for path, found in edits.items():
        for edit in found:
            key = (path, edit.hunk)
            by_hunk[key] = by_hunk.get(key, frozenset()) | (words(edit.new) & brought)
    attributes = frozenset(name for lines in added.values() for name in _SETS.findall("\n".join(lines)))
    return Vocabulary(brought, landed, landed & defined, by_hunk, attributes)


def _is_telling(name: str) -> bool:
    return len(name) >= _LEAST_LENGTH and ("_" in name.strip("_") or not name.islower())
