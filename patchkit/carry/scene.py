"""One file of the old series beside the new upstream text it may go to, and what changed in each scope."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from patchkit.carry.align import Alignment, align
from patchkit.carry.nouns import Edit, Source
from patchkit.carry.vocabulary import Vocabulary
from patchkit.carry.wording import key_of, words
from patchkit.source.scopes import MODULE


@dataclass(frozen=True, slots=True)
class Region:
    """One definition of the old base and the one of the new text that it became: lines [lo:hi] of each."""

    scope: str
    lo: int
    hi: int
    new_scope: str
    new_lo: int
    new_hi: int


@dataclass
class Scene:
    """The old base, the patched text, and the new upstream text at `path` (which may be another file).

    region: when set, only these two definitions are compared, wherever they stand.
    is_elsewhere: the new text is of another file than the old base.
    """

    path: str
    base: Source
    theirs: Source
    new: Source
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    region: Region | None = None
    is_elsewhere: bool = False

    @cached_property
    def alignment(self) -> Alignment:
        """Where each old base line is in the new text."""
        if self.region is None:
            return align(self.base.lines, self.new.lines)
        part = self.region
        inner = align(self.base.lines[part.lo : part.hi], self.new.lines[part.new_lo : part.new_hi])
        to_new = [-1] * len(self.base.lines)
        for at, there in enumerate(inner.to_new, part.lo):
            to_new[at] = there + part.new_lo if there >= 0 else -1
        return Alignment(tuple(to_new), len(self.new.lines))

    def is_same_scope(self, was: str, now: str) -> bool:
        """Whether a scope of the old side is this one of the new side; numbers that tell siblings apart don't count."""
        was, now = _bare(was), _bare(now)
        if self.region is not None:
            old, new = _bare(self.region.scope), _bare(self.region.new_scope)
            if was == old or was.startswith(old + "."):
                was = new + was[len(old) :]
        return was == now

    @cached_property
    def introduced(self) -> dict[str, tuple[int, int]]:
        """The definitions that the patch introduces: qualified name -> lines [lo:hi] of the patched text."""
        had = {one.name for one in self.base.scopes.definitions}
        return {one.name: (one.first - 1, one.last) for one in self.theirs.scopes.definitions if one.name not in had}

    @cached_property
    def upstream_new(self) -> frozenset[str]:
        """The definitions that upstream has newly in this file."""
        had = {one.name for one in self.base.scopes.definitions}
        return frozenset(one.name for one in self.new.scopes.definitions if one.name not in had)

    def scope_of(self, edit: Edit) -> str:
        """Return the scope that an edit changes; what it defines itself is no scope of it."""
        if edit.new:
            names = self.theirs.scopes.enclosing(range(edit.at + 1, edit.at + len(edit.new) + 1))
        else:
            names = self.base.scopes.enclosing(range(edit.lo + 1, edit.hi + 1))
        while names in self.introduced:
            names = names.rpartition(".")[0] or MODULE
        return names

    def lines_in(self, source: Source, scope: str) -> list[int]:
        """Return the indices of a scope's lines, with all that is nested in it; of a module, those outside."""
        names = source.scopes.by_line
        if scope == MODULE:
            return [at for at, name in enumerate(names) if name == MODULE]
        inner = scope + "."
        return [at for at, name in enumerate(names) if name == scope or name.startswith(inner)]

    def counts(self, source: Source, scope: str) -> Counter[str]:
        """Return the telling lines of a scope, counted."""
        key = (id(source), scope)
        if key not in self._counts:
            said = source.telling
            self._counts[key] = Counter(said[at] for at in self.lines_in(source, scope) if said[at])
        return self._counts[key]

    def new_keys(self, scope: str) -> frozenset[str]:
        """Return what a scope sets in the new upstream and did not set in the old one."""
        if scope not in self._new_keys:
            before, after = (map(key_of, self.counts(source, scope)) for source in (self.base, self.new))
            self._new_keys[scope] = frozenset(after) - frozenset(before)
        return self._new_keys[scope]

    def words_in(self, source: Source, scope: str) -> frozenset[str]:
        """Return the identifiers of a scope."""
        return words(source.lines[at] for at in self.lines_in(source, scope))

    @cached_property
    def _new_keys(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _counts(self) -> dict[tuple[int, str], Counter[str]]:
        return {}

    @cached_property
    def fresh(self) -> Counter[str]:
        """The telling lines that upstream newly has in this file."""
        return self.new.said - self.base.said

    @cached_property
    def old_keys(self) -> frozenset[str]:
        """What the old file sets, anywhere."""
        return frozenset(map(key_of, self.base.said))

    @cached_property
    def fresh_lines(self) -> frozenset[int]:
        """The indices of the new text's lines that come from no old line."""
        return frozenset(range(len(self.new.lines))) - set(self.alignment.to_new)

    def has_scope(self, scope: str) -> bool:
        """Whether the new text has a scope of this name."""
        return scope == MODULE or scope in self._new_scopes

    @cached_property
    def _new_scopes(self) -> frozenset[str]:
        return frozenset(one.name for one in self.new.scopes.definitions)


def _bare(name: str) -> str:
    """Return a scope name without the numbers that tell siblings of one name apart."""
    return ".".join(part.partition("#")[0] for part in name.split("."))
