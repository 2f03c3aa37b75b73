"""`why`: which topic, hunk and upstream reference a line of the patched source comes from."""

from pathlib import Path

from patchkit.counting import count
from patchkit.errors import ConfigError
from patchkit.patch.headers import read_head
from patchkit.patch.hunks import SOURCE_PREFIX, LineKind
from patchkit.patch.patchtext import read_patch
from patchkit.results.why import Why, WhyHunk
from patchkit.rules.compose import NamedPatch, compose, inside, touched_paths
from patchkit.rules.subject import PatchedFile, Site
from patchkit.store import PATCHES, chosen_pin, read_series, read_topics
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_pin
from patchkit.upstream.objects import File, ObjectStore


def tell_why(root: Path, place: str, access: Access, *, pin: str | None = None) -> Why:
    """Return what brought a line of the patched file, or each hunk of the file where no line is named.

    place: PATH or PATH:LINE; the path as in the repository, below sglang/ or srt/, or of a checkout.
    """
    name = chosen_pin(root, pin)
    asked, line = _split(place)
    series = read_series(root, name)
    patches = [NamedPatch(topic.topic, f"{PATCHES}/{name}/{topic.topic}.patch", topic.patch) for topic in series.topics]
    named = [inside(patch) for patch in patches]
    touched = touched_paths(named)
    path = _path(asked, touched)
    upstream = bring_pin(series.pin, access)
    contents = upstream.read(sorted(touched | {path}))
    if contents[path] is None and path not in touched:
        raise ConfigError(f"neither {name} nor its series has a file {path}", where=place)
    whole = compose(named, contents)
    file = whole.files[path]
    heads = {patch.topic: read_head(patch.patch.preamble) for patch in patches}
    topics = read_topics(root)

    def told(site: Site, patch_line: int = 0) -> WhyHunk:
        said = topics.get(site.topic)
        references = dict.fromkeys([*(said.upstream if said else ()), *heads[site.topic].upstream])
        return WhyHunk(
            topic=site.topic,
            title=said.title if said else heads[site.topic].subject,
            why=said.fault if said else "",
            hunk=site.hunk.name,
            patch_file=site.patch_file,
            patch_line=patch_line or site.hunk.patch_line,
            line=site.line,
            scope=site.scope,
            upstream=tuple(references),
        )

    sites = [site for site in whole.sites if site.hunk.path == path and site.placement.at is not None]
    if line is None:
        return Why(name, path, 0, "", tuple(told(site) for site in sorted(sites, key=lambda site: site.line)))
    text = _line_of(file, line, place)
    origin = file.origin_at(line)
    if origin is not None:
        own = [site for site in sites if site.hunk is origin.hunk]
        return Why(name, path, line, text, tuple(told(site, origin.patch_line) for site in own))
    near = tuple(told(site) for site in sites if _removes_at(site, line))
    return Why(name, path, line, text, near, upstream_line=_upstream_line(file, line, upstream.objects))


def _split(place: str) -> tuple[str, int | None]:
    path, colon, number = place.rpartition(":")
    if colon and number.isdigit():
        return path, int(number)
    return place, None


def _path(asked: str, touched: set[str]) -> str:
    """Return the path in the repository that a person means: the first reading that the series knows."""
    plain = asked.replace("\\", "/")
    marks = (("python/sglang/", ""), ("sglang/srt/", "python/"))
    readings = [prefix + plain[plain.rfind(mark) :] for mark, prefix in marks if mark in plain]
    readings += [SOURCE_PREFIX + plain, plain]
    known = [path for path in readings if path in touched]
    ends = [path for path in touched if path.endswith(f"/{plain.lstrip('/')}")]
    return (known or (ends if len(ends) == 1 else readings))[0]


def _line_of(file: PatchedFile, line: int, place: str) -> str:
    lines = file.after.lines if file.after else []
    if not 1 <= line <= len(lines):
        raise ConfigError(f"the patched file has {count(len(lines), 'line')}", where=place)
    return lines[line - 1].decode("utf-8", "replace")


def _upstream_line(file: PatchedFile, line: int, objects: ObjectStore) -> int:
    """Return the line's number at the pin, by the diff of the whole series."""
    sides = [None if source is None else File(source.text) for source in (file.before, file.after)]
    diff = objects.diff({file.path: sides[0]}, {file.path: sides[1]})
    shift = 0
    for hunk in read_patch(diff).files[0].hunks if diff else ():
        if line < hunk.new_start:
            break
        new, old = hunk.new_start, hunk.old_start
        for each in hunk.lines:
            if each.kind is LineKind.CONTEXT and new == line:
                return old
            new += each.kind is not LineKind.REMOVED
            old += each.kind is not LineKind.ADDED
        shift = old - new
    return line + shift


def _removes_at(site: Site, line: int) -> bool:
    """Whether the hunk only removes lines, just above or at this line."""
    adds = any(each.kind is LineKind.ADDED for each in site.hunk.lines)
    return not adds and abs(site.line - line) <= 1
