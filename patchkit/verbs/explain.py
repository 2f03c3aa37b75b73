"""explain: what a rule of verify means."""

from patchkit.errors import ConfigError
from patchkit.results.explain import Explained
from patchkit.rules.explained import CATALOG, FAMILIES


def explain_rule(name: str) -> Explained:
    """Return the rule of this id, in any case of its letters.

    Raises: ConfigError for an id that no rule has.
    """
    rule = CATALOG.get(name.upper())
    if rule is None:
        family = [known for known in CATALOG if known[:3] == name.upper()[:3]]
        raise ConfigError(
            f"there is no rule {name}" if name else "name a rule",
            found=f"there are {', '.join(family or CATALOG)}",
            hint=f"patchkit explain {next(iter(family or CATALOG))}",
        )
    return Explained(name.upper(), FAMILIES[name.upper()[:3]], rule.title, rule.why, rule.mend)
