"""nightly as a person reads it."""

from patchkit.render import table
from patchkit.results.nightly import Nightly
from patchkit.results.run import Step


def text(result: Nightly) -> str:
    """Return the outcome, the steps, and what comes next."""
    lines = [headline(result)]
    if result.steps:
        lines.append(
            table([(step.name, _mark(step), f"{step.seconds:.1f} s", step.note) for step in result.steps], indent="  ")
        )
    lines += [f"  {name + ':':<6} {value}" for name, value in result.failure.items() if name != "what" and value]
    lines += [f"  note:  {note}" for note in result.notes]
    lines += [f"  report: {result.folder}"] if result.folder else []
    return "\n".join([*lines, *([f"next: {result.next_step}"] if result.next_step else [])])


def headline(result: Nightly) -> str:
    """Return the outcome in one line."""
    move = f"{result.pin_from} -> {result.pin_to}" if result.pin_from != result.pin_to else result.pin_to
    match result.outcome:
        case "nothing":
            return f"nothing to do: {result.reason}"
        case "planned":
            return f"would publish {result.tag}, {move}, on {result.branch}: {result.reason}"
        case "published":
            return f"{result.tag}: {move}, {result.commit[:12]} on {result.branch}"
        case _:
            failed = next((step.name for step in result.steps if not step.ok), "start")
            return f"nightly failed at {failed}: {result.failure.get('what', '')}"


def title(result: Nightly) -> str:
    """Return the title of the pull request."""
    if result.outcome == "failed":
        return f"nightly failed on {result.pin_to or 'the newest upstream'}"
    if result.pin_from != result.pin_to:
        return f"sglang {result.pin_to}: carry the series from {result.pin_from} ({result.tag})"
    return f"sglang {result.pin_to}: {result.tag}"


def markdown(result: Nightly, blocks: dict[str, str]) -> str:
    """Return the text of the pull request. blocks: what steps wrote for it, by their names."""
    lines = [f"**{_escape(headline(result))}**", "", _escape(result.reason), ""]
    lines += ["| step | result | took | |", "|---|---|---|---|"]
    lines += [f"| {s.name} | {_mark(s)} | {s.seconds:.1f} s | {_escape(s.note)} |" for s in result.steps]
    if result.failure:
        lines += ["", "```", *(f"{name}: {value}" for name, value in result.failure.items() if value), "```"]
    if result.notes:
        lines += ["", "## Notes", "", *(f"- {_escape(note)}" for note in result.notes)]
    for name, block in blocks.items():
        head = [] if block.startswith("#") else [f"## {name.capitalize()}", ""]
        lines += ["", *head, block.strip()]
    lines += ["", f"Next: `{result.next_step}`"] if result.next_step else []
    return "\n".join(lines) + "\n"


def _mark(step: Step) -> str:
    return "ok" if step.ok else "FAILED"


def _escape(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")
