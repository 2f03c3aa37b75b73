"""How `doctor` is shown."""

from patchkit.render import table
from patchkit.results.doctor import Doctor, Probe


def text(result: Doctor) -> str:
    """Return one line a probe, and below it the line that mends what is missing."""
    lines = []
    names = table([(_mark(probe), probe.name) for probe in result.probes]).split("\n")
    width = max(map(len, names))
    for name, probe in zip(names, result.probes, strict=True):
        lines.append(f"{name.ljust(width)}  {probe.found}")
        if not probe.ok and probe.hint:
            lines.append(f"{' ' * width}  hint: {probe.hint}")
    return "\n".join(lines)


def _mark(probe: Probe) -> str:
    if probe.ok:
        return "ok"
    return "MISSING" if probe.needed else "-"
