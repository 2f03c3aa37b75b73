"""explain: what a rule of verify means."""

from patchkit.errors import ConfigError
from patchkit.results.explain import Explained
from patchkit.rules.explained import CATALOG, FAMILIES


def explain_rule(name: str) -> Explained:
    """Return the rule of this id, in any case of its letters, or without them: `502`.

    Raises: ConfigError for an id that no rule has.
    """
    rule_id = f"PK{name}" if name.isdigit() else name.upper()
    rule = CATALOG.get(rule_id)
    if rule is None:
        family = [known for known in CATALOG if known[:3] == rule_id[:3]]
        raise ConfigError(
            f"there is no rule {name}" if name else "name a rule",
            found=f"there are {', '.join(family or CATALOG)}",
            hint=f"patchkit explain {next(iter(family or CATALOG))}",
        )
    return Explained(rule_id, FAMILIES[rule_id[:3]], rule.title, rule.why, rule.mend)
