"""Spans that a person must settle: widened to kept lines, joined where they meet, shown with all three texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.carry.compose import Marked
from patchkit.carry.nouns import Action, Cause, Edit, Outcome, Piece, Stage
from patchkit.carry.scene import Scene


@dataclass(frozen=True, slots=True)
class Span:
    """A conflict of one file: base lines [lo:hi] against new lines [new_lo:new_hi]."""

    lo: int
    hi: int
    new_lo: int
    new_hi: int


def unresolved(edit: Edit, cause: Cause, *evidence: str) -> Outcome:
    """Return the outcome of an edit that no stage could carry."""
    return Outcome(edit, Action.UNRESOLVED, Stage.NONE, evidence, cause=cause)


def settle_spans(outcomes: Sequence[Outcome], scene: Scene) -> tuple[list[Outcome], list[Span]]:
    """Return the outcomes and the conflict spans of a file; what was carried into a span becomes part of it."""
    edits = [outcome.edit for outcome in outcomes]
    current = list(outcomes)
    while True:
        spans = _joined([_span(one.edit, edits, scene) for one in current if one.action is Action.UNRESOLVED])
        caught = [
            at
            for at, one in enumerate(current)
            if one.action is not Action.UNRESOLVED and _is_caught(one, spans, scene)
        ]
        if not caught:
            return current, spans
        for at in caught:
            current[at] = unresolved(current[at].edit, Cause.OVERLAP, "it lies in the conflict of its neighbour")


def marked(span: Span, edits: Sequence[Edit], scene: Scene) -> Marked:
    """Return what to show for a span."""
    lo, hi = _theirs_range(span, edits)
    return Marked(span.new_lo, span.new_hi, scene.base.lines[span.lo : span.hi], scene.theirs.lines[lo:hi])


def marked_piece(span: Span, text: tuple[str, ...], path: str) -> Piece:
    """Return the piece that puts a conflict's text in the place of its span."""
    return Piece(path, span.new_lo, span.new_hi, text)


def _span(edit: Edit, edits: Sequence[Edit], scene: Scene) -> Span:
    """Return the smallest span around an edit that ends at lines which upstream and the patch both keep."""
    lo, hi = edit.lo, edit.hi
    while True:
        low, high = scene.alignment.around(lo, hi)
        low += 1
        for other in edits:
            if other.lo < high and low < other.hi:
                low, high = min(low, other.lo), max(high, other.hi)
        if (low, high) == (lo, hi):
            break
        lo, hi = low, high
    return Span(lo, hi, scene.alignment.new_index(lo - 1) + 1, scene.alignment.new_index(hi))


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.lo, one.hi)):
        last = joined[-1] if joined else None
        if last and (
            span.lo < last.hi or span.new_lo < last.new_hi or (span.lo, span.new_lo) == (last.lo, last.new_lo)
        ):
            joined[-1] = Span(last.lo, max(last.hi, span.hi), last.new_lo, max(last.new_hi, span.new_hi))
        else:
            joined.append(span)
    return joined


def _is_caught(outcome: Outcome, spans: Sequence[Span], scene: Scene) -> bool:
    for piece in outcome.pieces:
        for span in spans:
            if piece.path == scene.path and piece.lo < span.new_hi and span.new_lo < piece.hi:
                return True
            if piece.path == scene.path and piece.lo == piece.hi and span.new_lo < piece.lo < span.new_hi:
                return True
    return False


def _theirs_range(span: Span, edits: Sequence[Edit]) -> tuple[int, int]:
    """Return the patched text's lines that stand for a span of the base."""
    lo, hi = span.lo, span.hi
    for edit in edits:
        grown = len(edit.new) - (edit.hi - edit.lo)
        if edit.hi <= span.lo and edit.lo < span.lo:
            lo += grown
        if edit.lo <= span.hi and edit.hi <= span.hi:
            hi += grown
    return lo, hi
