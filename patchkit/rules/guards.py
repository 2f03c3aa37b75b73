"""PK7xx: the guards hold on the patched source."""

from collections.abc import Iterator, Mapping, Sequence

from patchkit.guards import Guard, GuardedFile, find_breaches
from patchkit.model import Finding, Severity
from patchkit.rules.subject import Source, Subject


def guarded_paths(guards: Sequence[Guard]) -> set[str]:
    """Return the files that the guards look at."""
    return {guard.path for guard in guards}


def find(subject: Subject, guards: Sequence[Guard], upstream: Mapping[str, bytes | None]) -> Iterator[Finding]:
    """Yield each guard of this release that does not hold, or whose subject is gone.

    upstream: the guarded files that the series does not touch.
    """
    files: dict[str, GuardedFile | None] = {}
    for guard in guards:
        if subject.pin is None or not guard.is_for(subject.pin.version):
            continue
        if guard.path not in files:
            source = _source(subject, guard.path, upstream)
            files[guard.path] = None if source is None else GuardedFile(source.text, source.scopes)
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


def _source(subject: Subject, path: str, upstream: Mapping[str, bytes | None]) -> Source | None:
    if path in subject.files:
        return subject.files[path].after
    text = upstream.get(path)
    return None if text is None else Source(path, text)


def _hint(subject: Subject, guard: Guard, *, is_drift: bool) -> str:
    if is_drift:
        return f"upstream moved it: give {guard.where} the new place, with a range of releases of its own"
    assert subject.pin is not None
    return f"carry topic {guard.topic}, or accept {guard.id} in patches/{subject.pin.name}/pin.toml with a reason"
