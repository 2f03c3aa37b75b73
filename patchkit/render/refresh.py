"""How `refresh` is shown."""

from patchkit.results import Refresh


def text(result: Refresh) -> str:
    """Return what was written, or what is not current."""
    if not result.changed:
        return f"{result.pin}: the generated files are current"
    if result.check:
        listed = "\n".join(f"  {path}" for path in result.changed)
        return f"{result.pin}: not current\n{listed}\n  hint:  patchkit refresh {result.pin}"
    return "\n".join(f"wrote {path}" for path in result.changed)
