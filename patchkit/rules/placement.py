"""PK4xx: each hunk stands in the scope that it was written for, and nowhere else fits."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from patchkit.model import Finding, Severity
from patchkit.patch.hunks import Hunk, LineKind, Placement
from patchkit.rules.between import between
from patchkit.rules.subject import Lock, PatchedFile, Site, Source, Step, Subject
from patchkit.source.scopes import common_scope

_DEFINITION = re.compile(rb"\s*(?:async\s+)?(?:def|class)\s+(\w+)")


def find(subject: Subject) -> Iterator[Finding]:
    """Yield each hunk that is not, or may not be, where it was meant."""
    if subject.locked:
        yield from _locked(subject)
    for step in subject.steps:
        if step.result.before is None or not step.result.section.path.endswith(".py"):
            continue
        before = Source(step.result.section.path, step.result.before)
        headings = _Headings(before.lines)
        yield from _header(step, before, headings)
        if not subject.locked:
            yield from _several_places(step, before, headings)


class Sites:
    """Where the topics' hunks stand in the whole result, by file and line."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._by_path: dict[str, list[tuple[int, int, Site]]] = defaultdict(list)
        for number, site in enumerate(sites):
            self._by_path[site.hunk.path].append((site.line, number, site))
        for found in self._by_path.values():
            found.sort(key=lambda each: each[:2])

    def within(self, hunk: Hunk) -> list[Site]:
        """Return the topics' hunks that have become part of a hunk of the combined patch, in series order."""
        of_file = self._by_path[hunk.path]
        first = bisect_left(of_file, hunk.new_start, key=lambda each: each[0])
        behind = bisect_right(of_file, hunk.new_start + len(hunk.postimage), key=lambda each: each[0])
        return [site for _, _, site in sorted(of_file[first:behind], key=lambda each: each[1])]

    def scope(self, hunk: Hunk) -> str:
        """Return the scope of a hunk of the combined patch: the innermost that encloses the topics' hunks in it."""
        return common_scope(site.scope for site in self.within(hunk))


def _locked(subject: Subject) -> Iterator[Finding]:
    """Compare the place of each hunk of the combined patch with the one that the manifest records."""
    sites = Sites(subject.sites)
    homeless = {site.hunk.path for site in subject.sites if not site.line}  # PK301 tells of them
    for section in subject.combined.files if subject.combined else ():
        file = subject.files.get(section.path)
        if file is None or file.after is None or section.path in homeless:
            continue
        for hunk in section.hunks:
            recorded = subject.locked.get((section.path, hunk.number))
            actual = Lock(sites.scope(hunk), between(file, hunk))
            if recorded is None:
                message = f"the manifest records no scope for {hunk.name}"
                yield _combined_finding("PK403", subject, file, hunk, message, found=f"it stands in {actual.scope}")
            elif recorded != actual and section.path.endswith(".py"):
                is_beside = recorded.scope == actual.scope
                what = "between other statements" if is_beside else "in another scope"
                message = f"{hunk.name} stands {what} than the manifest records"
                found = f"it stands in {actual.told}; the manifest says {recorded.told}"
                yield _combined_finding("PK401", subject, file, hunk, message, found=found)


def _combined_finding(
    rule: str, subject: Subject, file: PatchedFile, hunk: Hunk, message: str, *, found: str
) -> Finding:
    line = hunk.new_start + _first_change(hunk)
    origin = file.origin_at(line)
    return Finding(
        rule, Severity.ERROR, message, topic=origin.topic if origin else "", path=file.path, line=line,
        scope=file.after.scopes.at(line) if file.after else "",
        patch_file=origin.patch_file if origin else subject.combined_file,
        patch_line=origin.patch_line if origin else hunk.patch_line, found=found,
        hint="read the hunk in its place; if it is right there: patchkit refresh",
    )  # fmt: skip


def _several_places(step: Step, before: Source, headings: "_Headings") -> Iterator[Finding]:
    """Yield each hunk whose preimage stands in several places, where no manifest says which one is meant."""
    for hunk, placement in _placed(step):
        if len(placement.candidates) < 2:
            continue
        assert placement.at is not None
        if _header_decides(hunk, placement, headings):
            continue
        first_change = _first_change(hunk)
        scopes = {at: before.scopes.at(at + first_change + 1) for at in placement.candidates}
        landed = scopes.pop(placement.at)
        others = "; ".join(f"{scope}, line {at + 1}" for at, scope in scopes.items())
        yield _finding(
            "PK402", step, hunk, placement, landed,
            message=f"{hunk.name} fits {len(placement.candidates)} places, and no manifest records which one is meant",
            found=f"it lands in {landed}; its text stands also in {others}",
            hint="give the hunk a line of context that only one place has, or record its scope: patchkit refresh",
        )  # fmt: skip


def _header(step: Step, before: Source, headings: "_Headings") -> Iterator[Finding]:
    """Yield each hunk whose header names another function than the ones above the place where it lands.

    git writes the nearest definition line above the hunk: any `def` with its Python driver, one at column 0
    without. So the name must be the nearest definition above at one of the depths.
    """
    for hunk, placement in _placed(step):
        match = _DEFINITION.match(hunk.section.lstrip(b" "))
        assert placement.at is not None
        if not match or match[1] in (above := headings.above(placement.at)):
            continue
        landed = before.scopes.at(placement.at + _first_change(hunk) + 1)
        yield _finding(
            "PK404", step, hunk, placement, landed,
            message=f"{hunk.name} names {_text(match[1])} in its header and lands in {landed}",
            found=f"the definitions above it are {', '.join(map(_text, above)) or 'none'}",
            hint="read the hunk in its place; if it is right there: patchkit refresh",
        )  # fmt: skip


def _header_decides(hunk: Hunk, placement: Placement, headings: "_Headings") -> bool:
    """Whether the definition that the hunk's header names is above the place taken and above no other."""
    match = _DEFINITION.match(hunk.section.lstrip(b" "))
    if not match:
        return False
    fitting = [at for at in placement.candidates if match[1] in headings.above(at)]
    return fitting == [placement.at]


class _Headings:
    """The definition lines of one file, each with the nearest one above it that is indented less."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._at: list[int] = []
        self._names: list[tuple[bytes, ...]] = []
        open_ones: list[tuple[int, bytes]] = []
        for at, text in enumerate(lines):
            if (b"def " in text or b"class " in text) and (match := _DEFINITION.match(text)):
                column = len(text) - len(text.lstrip())
                while open_ones and open_ones[-1][0] >= column:
                    open_ones.pop()
                open_ones.append((column, match[1]))
                self._at.append(at)
                self._names.append(tuple(name for _, name in reversed(open_ones)))

    def above(self, at: int) -> tuple[bytes, ...]:
        """Return the names of the nearest definition above an index at each depth, inner first."""
        found = bisect_left(self._at, at)
        return self._names[found - 1] if found else ()


def _placed(step: Step) -> Iterator[tuple[Hunk, Placement]]:
    for hunk, placement in zip(step.result.section.hunks, step.result.placements, strict=False):
        if placement.at is not None:
            yield hunk, placement


def _first_change(hunk: Hunk) -> int:
    return next((at for at, line in enumerate(hunk.lines) if line.kind is not LineKind.CONTEXT), 0)


def _text(name: bytes) -> str:
    return name.decode("ascii", "replace")


def _finding(
    rule: str, step: Step, hunk: Hunk, placement: Placement, scope: str, *, message: str,
    found: str, hint: str,
) -> Finding:  # fmt: skip
    assert placement.at is not None
    severity = Severity.ERROR if rule == "PK402" and placement.offset else Severity.WARNING
    return Finding(
        rule, severity, message, topic=step.topic, path=hunk.path, line=placement.at + _first_change(hunk) + 1,
        scope=scope, patch_file=step.patch_file, patch_line=hunk.patch_line, found=found, hint=hint,
    )  # fmt: skip
