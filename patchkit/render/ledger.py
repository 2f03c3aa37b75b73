"""ledger as a person reads it."""

from patchkit.results.ledger import Ledger


def text(result: Ledger) -> str:
    """Return one line a record."""
    lines = [f"removed {result.dropped}"] if result.dropped else []
    for one in result.resolutions:
        why = f": {one.why}" if one.why else ""
        what = one.scope if one.kind == "resolution" else f"accepted: {one.scope}"
        lines.append(f"{one.name}  {one.path}, {what} (topic {one.topic}, {one.onto}; {one.by}, {one.when}){why}")
    return "\n".join(lines or ["nothing is recorded"])
