"""PK60x: the Python is as sound as it was: it compiles, and the series adds no undefined, unused or doubled name."""

import re
from collections import Counter
from collections.abc import Iterator

from patchkit.model import Finding, Severity
from patchkit.rules.subject import Diagnostic, Origin, PatchedFile, Subject, finding_at

# ruff's code -> our rule. Whatever else of the selection comes up is what the compiler or the first call refuses.
_RULES = {
    "invalid-syntax": "PK601",
    "F821": "PK602",
    "F822": "PK602",
    "F823": "PK602",
    "F401": "PK603",
    "F811": "PK604",
    "F402": "PK604",
}
_HINTS = {
    "PK601": "mend the topic: patchkit edit, then refresh",
    "PK602": "upstream renamed, moved or no longer imports it: look for its new name, or import it in the topic",
    "PK603": "drop the import in the same topic that no longer needs it",
    "PK604": "one of the two is dead: drop the hunk if upstream's does the same",
}


def find(subject: Subject) -> Iterator[Finding]:
    """Yield each of ruff's findings that the files before the series had not."""
    if subject.lint is None:
        return
    known = Counter(_key(diagnostic) for diagnostic in subject.lint.before)
    for diagnostic in sorted(subject.lint.after, key=lambda each: (each.path, each.line)):
        if known[_key(diagnostic)] > 0:
            known[_key(diagnostic)] -= 1
            continue
        file = subject.files[diagnostic.path]
        if diagnostic.code == "F401" and _is_offered(file, diagnostic):
            continue
        yield _finding(diagnostic, file)


def _is_offered(file: PatchedFile, diagnostic: Diagnostic) -> bool:
    """Whether the import is one of a package's `__init__`, where upstream lists what others import from there."""
    return file.path.endswith("/__init__.py") and "sglang." in diagnostic.message


def _key(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """Return what makes two findings the same one although lines have moved."""
    return (diagnostic.path, diagnostic.code, re.sub(r"\bline [0-9]+", "line", diagnostic.message))


def _finding(diagnostic: Diagnostic, file: PatchedFile) -> Finding:
    rule = _RULES.get(diagnostic.code, "PK601")
    origin = file.origin_at(diagnostic.line) or _nearest_origin(file, diagnostic.line)
    if rule == "PK603":
        severity = Severity.WARNING
    else:
        severity = Severity.ERROR
    message = diagnostic.message[0].lower() + diagnostic.message[1:]
    return finding_at(
        rule, file, diagnostic.line, message, origin=origin, severity=severity,
        found=f"ruff {diagnostic.code}; the unpatched file has not this finding", hint=_HINTS.get(rule, ""),
    )  # fmt: skip


def _nearest_origin(file: PatchedFile, line: int) -> Origin | None:
    """Return the added line nearest to one of upstream's that became wrong: an import whose last use was removed."""
    added = [at for at, origin in enumerate(file.origins, start=1) if origin is not None]
    nearest = min(added, key=lambda at: abs(at - line), default=0)
    return file.origin_at(nearest)
