"""How `edit` is shown."""

from patchkit.render import near, table
from patchkit.results.edit import Edit


def text(result: Edit) -> str:
    """Return where the worktree is, its topics, and what to do there."""
    if result.closed:
        return f"{result.pin}: the edit is closed"
    lines = [f"{result.pin}: {'made' if result.created else 'found'} {near(result.folder)}"]
    if result.aside:
        lines.append(f"the former edit is in {result.aside}")
    lines.append(table([(topic, commit) for topic, commit in result.commits], indent="  "))
    lines += [f"  not finished: {path}" for path in result.unfinished[:10]]
    folder = near(result.folder)
    if result.at and result.at != result.commits[-1][0]:
        lines += [
            f"at {result.at}: change files, then",
            f"  git -C {folder} commit -a --amend --no-edit && git -C {folder} rebase --continue",
        ]
    else:
        lines += [
            "change files, then",
            f"  git -C {folder} commit -a --amend --no-edit    (the last topic; for another: --fixup=COMMIT)",
        ]
    return "\n".join([*lines, f"next: patchkit refresh {result.pin}"])
