"""How `propose` is shown."""

from patchkit.render import near
from patchkit.results.propose import Propose


def text(result: Propose) -> str:
    """Return what was written, and what is left for a person."""
    lines = [
        f"{result.topic}, alone on {result.pin}; upstream v{result.looked_at} lacks it",
        f"wrote {near(result.patch)}",
    ]
    lines.append(f"wrote {near(result.text)}" + (f", with {result.todos} TODOs" if result.todos else ""))
    if result.branch:
        lines.append(f"wrote branch {result.branch} in {result.repository}")
        lines.append(f"next: git -C {result.repository} push YOUR-FORK {result.branch}")
    else:
        lines.append(f"next: git -C CLONE am {result.patch}    (or again with --repository CLONE)")
    return "\n".join(lines)
