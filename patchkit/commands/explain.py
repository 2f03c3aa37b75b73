"""The command `explain`."""

import click

from patchkit.invocation import RULE, Command, show


@click.command(cls=Command)
@click.argument("rule", type=RULE, default="")
def explain(rule: str) -> None:
    """Tell what a RULE of verify means, why it matters, and how to mend what breaks it.

    \b
    patchkit explain PK502
    """
    from patchkit.verbs.explain import explain_rule

    show(explain_rule(rule))
