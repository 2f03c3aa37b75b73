"""How `refresh` is shown."""

from patchkit.render import near, table
from patchkit.results.refresh import Refresh


def text(result: Refresh) -> str:
    """Return what became of each topic, and what was written or is not current."""
    lines = []
    if result.topics:
        source = near(result.edit) if result.edit else "made canonical"
        lines.append(f"{result.pin}: {source}")
        lines.append(table([(change.topic, change.state.value) for change in result.topics], indent="  "))
    if not result.changed:
        return "\n".join([*lines, f"{result.pin}: every file is current"])
    if result.check:
        listed = [f"  {path}" for path in result.changed]
        return "\n".join([*lines, f"{result.pin}: not current", *listed, f"  hint:  patchkit refresh {result.pin}"])
    return "\n".join([*lines, *(f"wrote {path}" for path in result.changed)])
