"""Where an edit of the old base meets the new upstream text: untouched, touching upstream's change, or overlapping."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from patchkit.carry.align import Alignment
from patchkit.carry.nouns import Edit, Lines


class Contact(Enum):
    """How an edit and upstream's changes meet."""

    CLEAN = "clean"  # upstream changed nothing next to it: git's own rule
    TOUCHING = "touching"  # the lines it replaces are still there, a neighbour is not
    OVERLAP = "overlap"  # some of the lines it replaces are changed or gone


@dataclass(frozen=True, slots=True)
class Site:
    """The new text's lines [lo:hi] that the edit replaces; for an overlap, those between the nearest kept lines."""

    edit: Edit
    contact: Contact
    lo: int
    hi: int


def find_sites(edit: Edit, base: Lines, alignment: Alignment) -> list[Site]:
    """Return where an edit can stand in the new text, the likeliest first; never empty.

    An insertion between equal lines has several equal forms ("slides"); an untouched one comes first,
    which git does not try. Source: git's xdiff/xmerge.c: changes that touch are a conflict.
    """
    sites = [_site(form, alignment) for form in _slides(edit, base)]
    order = (Contact.CLEAN, Contact.TOUCHING, Contact.OVERLAP)
    return sorted(sites, key=lambda site: order.index(site.contact))


def gaps(site: Site, alignment: Alignment) -> list[int]:
    """Return the places of the new text at which a touching insertion can stand: after and before its neighbours."""
    before, after = alignment.new_index(site.edit.lo - 1), alignment.new_index(site.edit.hi)
    found = []
    if alignment.keeps(site.edit.lo - 1):
        found.append(before + 1)
    if alignment.keeps(site.edit.hi) and after not in found:
        found.append(after)
    return found


def _site(edit: Edit, alignment: Alignment) -> Site:
    inner = [alignment.new_index(at) for at in range(edit.lo, edit.hi)]
    whole = all(at >= 0 for at in inner) and all(b - a == 1 for a, b in pairwise(inner))
    left, right = alignment.keeps(edit.lo - 1), alignment.keeps(edit.hi)
    before, after = alignment.new_index(edit.lo - 1), alignment.new_index(edit.hi)
    if whole and left and right and after - before - 1 == edit.hi - edit.lo:
        return Site(edit, Contact.CLEAN, before + 1, after)
    if inner and whole:
        return Site(edit, Contact.TOUCHING, inner[0], inner[-1] + 1)
    if not inner and (left or right):
        place = before + 1 if left else after
        return Site(edit, Contact.TOUCHING, place, place)
    low, high = alignment.around(edit.lo, edit.hi)
    return Site(edit, Contact.OVERLAP, alignment.new_index(low) + 1, alignment.new_index(high))


def _slides(edit: Edit, base: Lines) -> Iterator[Edit]:
    """Yield the edit and, for a pure insertion or removal, its equal forms further up and down."""
    yield edit
    if edit.new and edit.hi > edit.lo:
        return
    for step in (-1, 1):
        form = _slid(edit, base, step)
        while form is not None:
            yield form
            form = _slid(form, base, step)


def _slid(edit: Edit, base: Lines, step: int) -> Edit | None:
    """Return the edit moved by one line, or None where that is another edit."""
    text = edit.new or base[edit.lo : edit.hi]
    passed = edit.lo - 1 if step < 0 else edit.hi
    if not text or not 0 <= passed < len(base) - 1:
        return None
    line = base[passed]
    if line != (text[-1] if step < 0 else text[0]):
        return None
    moved = replace(edit, lo=edit.lo + step, hi=edit.hi + step, at=edit.at + step)
    if not edit.new:
        return moved
    return replace(moved, new=(line, *edit.new[:-1]) if step < 0 else (*edit.new[1:], line))
