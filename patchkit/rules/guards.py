"""PK7xx: the guards hold on the patched source."""

from collections.abc import Iterator, Mapping, Sequence

from patchkit.model import Finding, Severity
from patchkit.rules.subject import Source, Subject
from patchkit.source.guards import Guard, GuardedFile, find_breaches


def guarded_paths(guards: Sequence[Guard]) -> set[str]:
    """Return the files that the guards look at."""
    return {guard.path for guard in guards}


def owed(subject: Subject, guards: Sequence[Guard], topic: str, upstream: Mapping[str, bytes | None]) -> list[Guard]:
    """Return the guards that a single patch must keep.

    All of its own topic: the one that it is named after, and each of which it makes a guard hold that did not. Of the
    others those that held before it.
    upstream: the guarded files of the unpatched tree.
    """
    before = {path: _read(_source(path, text)) for path, text in upstream.items()}
    after = {path: _read(_patched(subject, path, upstream)) for path in upstream}
    held = [guard for guard in guards if _holds(guard, before)]
    topics = {topic, *(guard.topic for guard in guards if guard not in held and _holds(guard, after))}
    return [guard for guard in guards if guard in held or guard.topic in topics]


def _holds(guard: Guard, files: Mapping[str, GuardedFile | None]) -> bool:
    return not any(find_breaches(guard, files[guard.path]))


def _read(source: Source | None) -> GuardedFile | None:
    return None if source is None else GuardedFile(source.text, source.scopes)


def find(subject: Subject, guards: Sequence[Guard], upstream: Mapping[str, bytes | None]) -> Iterator[Finding]:
    """Yield each guard of this release that does not hold, or whose subject is gone.

    upstream: the guarded files that the series does not touch.
    """
    files: dict[str, GuardedFile | None] = {}
    for guard in guards:
        if subject.pin is not None and not guard.is_for(subject.pin.version):
            continue
        if guard.path not in files:
            files[guard.path] = _read(_patched(subject, guard.path, upstream))
        for breach in find_breaches(guard, files[guard.path]):
            patched = subject.files.get(guard.path)
            origin = patched.origin_at(breach.line) if patched else None
            yield Finding(
                "PK702" if breach.is_drift else "PK701",
                Severity.ERROR,
                f"guard {guard.id} {'cannot be evaluated' if breach.is_drift else 'fails'}: {guard.message}",
                topic=guard.topic,
                path=guard.path,
                line=breach.line,
                scope=guard.scope,
                patch_file=origin.patch_file if origin else "",
                patch_line=origin.patch_line if origin else 0,
                found=breach.found,
                hint=_hint(subject, guard, is_drift=breach.is_drift),
            )


def _patched(subject: Subject, path: str, upstream: Mapping[str, bytes | None]) -> Source | None:
    return subject.files[path].after if path in subject.files else _source(path, upstream.get(path))


def _source(path: str, text: bytes | None) -> Source | None:
    return None if text is None else Source(path, text)


def _hint(subject: Subject, guard: Guard, *, is_drift: bool) -> str:
    if is_drift:
        return f"upstream moved it: give {guard.where} the new place, with a range of releases of its own"
    carry = f"carry topic {guard.topic}"
    if subject.pin is None:
        return f"{carry}, or show that the patch breaks nothing: {guard.where}"
    return f"{carry}, or accept {guard.id} in patches/{subject.pin.name}/pin.toml with a reason"
