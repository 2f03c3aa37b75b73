"""matrix as a person, or a shell's redirection, reads it."""

from patchkit.results.matrix import Matrix


def text(result: Matrix) -> str:
    """Return the document itself, or what was written."""
    if not result.written:
        return result.text
    cells = f"{len(result.cells)} cells: {', '.join(cell.name for cell in result.cells)}"
    return "\n".join([cells, *(f"  wrote {file}" for file in result.written)])
