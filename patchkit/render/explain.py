"""explain as a person reads it."""

from textwrap import fill

from patchkit.results.explain import Explained


def text(result: Explained) -> str:
    """Return the rule, why it is one, and how to mend what breaks it."""
    parts = [
        f"{result.rule}: {result.title}",
        f"family {result.family}",
        fill(result.why, 100),
        f"To mend: {result.mend}",
    ]
    return "\n\n".join([parts[0] + "\n" + parts[1], *parts[2:]])
