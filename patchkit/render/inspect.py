"""inspect as a person reads it."""

from patchkit.counting import count
from patchkit.results.inspect import Inspect

_SHOWN = 20


def text(result: Inspect) -> str:
    """Return what it carries, then what is not as it must be."""
    lines = [f"{result.target}: {_headline(result)}"]
    if result.series:
        origin = "as in the store" if result.in_store else "not in this store"
        lines.append(f"  series {result.series[:12]} ({', '.join(result.topics)}), {origin}")
    lines += [f"  {problem.path} {problem.problem}" for problem in result.problems[:_SHOWN]]
    if len(result.problems) > _SHOWN:
        lines.append(f"  and {len(result.problems) - _SHOWN} more: --json lists them")
    lines += [f"  label {lie.label} says {lie.says or 'nothing'}; it is {lie.found}" for lie in result.lies]
    lines += [f"  note: {note}" for note in result.notes]
    lines += [f"  wrote {file}" for file in result.written]
    return "\n".join(lines)


def _headline(result: Inspect) -> str:
    files = f"{count(result.touched, 'file')} of the series, {result.compared} beside it"
    match result.verdict:
        case "unmodified":
            return f"sglang {result.pin} with the series, unmodified ({files})"
        case "modified":
            return f"sglang {result.pin} with the series, MODIFIED: {count(len(result.problems), 'finding')} ({files})"
        case "foreign":
            return f"sglang {result.pin} with a series that this store has not ({files})"
        case "upstream":
            return f"sglang {result.pin} as upstream has it: no series"
        case _:
            said = f"; it says {result.stated_version}" if result.stated_version else ""
            nearest = f"nearest {result.pin}" if result.pin else "no release is near"
            return f"an sglang that no pin here knows: {nearest}{said}"
