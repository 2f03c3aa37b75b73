"""Named structural checks on patched source, written as ast-grep rules in patches/guards/<topic>.yml.

A guard names one scope of one file and the checks that hold in it; docs/guards.md describes the vocabulary.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from patchkit.errors import ConfigError
from patchkit.source.scopes import MODULE, Definition, Scopes

if TYPE_CHECKING:
    from ast_grep_py import SgNode

Rule = Mapping[str, Any]  # an ast-grep rule; see expand_rule for the words that we add

_LEAVING = ("return_statement", "continue_statement", "break_statement")
_CONDITIONAL = ("if_statement", "elif_clause", "else_clause", "for_statement", "while_statement", "except_clause",
                "case_clause", "lambda", "conditional_expression")  # fmt: skip


class Verb(StrEnum):
    """What a check says of its scope."""

    HAS = "has"  # at least one node matches, or exactly `count`
    LACKS = "lacks"  # none matches
    FIRST = "first"  # the first match stands before every match of `precedes`
    EACH = "each"  # every match also matches `is`
    EACH_PASS = "each_pass"  # every run of the scope (or turn of the loop) reaches a match; `unless` allows exits


_COMPANIONS = {
    Verb.HAS: {"count"},
    Verb.LACKS: set[str](),
    Verb.FIRST: {"precedes"},
    Verb.EACH: {"is"},
    Verb.EACH_PASS: {"unless"},
}
_NEEDED = {Verb.FIRST: "precedes", Verb.EACH: "is"}


@dataclass(frozen=True, slots=True)
class Check:
    """One sentence about a scope. other: the rule behind `precedes`, `is` or `unless`."""

    verb: Verb
    rule: Rule
    other: Rule | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """A property of the source that a topic exists for.

    releases: as PEP 440 writes a range, ">=0.5.12,<0.5.20".
    path: in the repository. scope: qualified, "Scheduler.abort_request", or "<module>".
    within: narrows the scope to the nodes that match, of which there must be one.
    where: file and number in it, for messages.
    """

    id: str
    topic: str
    message: str
    releases: str
    path: str
    scope: str
    checks: tuple[Check, ...]
    within: Rule | None = None
    where: str = ""

    def is_for(self, version: str) -> bool:
        """Whether the guard is meant for an upstream version."""
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.releases).contains(version, prereleases=True)


@dataclass(frozen=True, slots=True)
class Breach:
    """What speaks against a guard. is_drift: its scope or subject was not found, so nothing is known."""

    line: int
    found: str
    is_drift: bool = False


# -- reading ----------------------------------------------------------------------------------------------


def read_guards(text: bytes, *, topic: str, where: str) -> tuple[Guard, ...]:
    """Read the guards of one topic.

    Raises: ConfigError with the guard's number in its file.
    """
    import yaml

    try:
        entries = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as exc:
        raise ConfigError("not valid YAML", where=where, found=" ".join(str(exc).split())) from exc
    if not isinstance(entries, list):
        raise ConfigError("a guard file is a list of guards", where=where, found=type(entries).__name__)
    return tuple(_read_guard(entry, topic, f"{where}, guard {number}") for number, entry in enumerate(entries, start=1))


def _read_guard(entry: Any, topic: str, where: str) -> Guard:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    words = {"id", "message", "releases", "path", "scope", "within", "checks"}
    if not isinstance(entry, dict) or set(entry) - words or words - {"within"} - set(entry):
        found = f"it has {', '.join(map(str, entry))}" if isinstance(entry, dict) else type(entry).__name__
        raise ConfigError("a guard has id, message, releases, path, scope, checks and may have within",
                          where=where, found=found)  # fmt: skip
    try:
        SpecifierSet(entry["releases"])
    except InvalidSpecifier as exc:
        raise ConfigError("releases is no version range", where=where, found=entry["releases"]) from exc
    return Guard(
        id=entry["id"],
        topic=topic,
        message=entry["message"],
        releases=entry["releases"],
        path=entry["path"],
        scope=entry["scope"],
        checks=tuple(_read_check(check, f"{where} ({entry['id']})") for check in entry["checks"]),
        within=_read_rule(entry["within"], where) if "within" in entry else None,
        where=where,
    )


def _read_check(entry: Any, where: str) -> Check:
    verbs = [verb for verb in Verb if isinstance(entry, dict) and verb.value in entry]
    if len(verbs) != 1 or set(entry) - {verbs[0].value} - _COMPANIONS[verbs[0]]:
        raise ConfigError(f"a check has one of {', '.join(Verb)}", where=where, found=str(entry))
    verb = verbs[0]
    other = next((entry[word] for word in ("precedes", "is", "unless") if word in entry), None)
    if verb in _NEEDED and other is None:
        raise ConfigError(f"the check {verb} needs {_NEEDED[verb]}", where=where, found=str(entry))
    other_rule = None if other is None else _read_rule(other, where)
    return Check(verb, _read_rule(entry[verb.value], where), other_rule, entry.get("count"))


def _read_rule(entry: Any, where: str) -> Rule:
    """Expand a rule and let ast-grep judge it, so that a wrong one is told with its place."""
    from ast_grep_py import SgRoot

    rule = expand_rule(entry)
    try:
        _find_all(SgRoot("x", "python").root(), rule)
    except Exception as exc:  # ast-grep has no type of its own for this
        found = " ".join(str(exc).split())
        raise ConfigError("ast-grep does not understand this rule", where=where, found=f"{entry}: {found}") from exc
    return rule if isinstance(rule, dict) else {}


def expand_rule(rule: Any) -> Any:
    """Return the rule in ast-grep's own words.

    `call: f`, `call: [f, g*]`: a call of a function or method of this name; `*` stands for any rest of the name.
    `mentions: f`: the node is, or has in it, an identifier of this name.
    """
    if isinstance(rule, list):
        return [expand_rule(each) for each in rule]
    if not isinstance(rule, dict):
        return rule
    relation = {key: value for key, value in rule.items() if key in ("field", "stopBy")}
    plain = {key: expand_rule(value) for key, value in rule.items() if key not in (*relation, "call", "mentions")}
    parts = [plain] if plain else []
    if "call" in rule:
        name = {"regex": _names(rule["call"])}
        method = {"kind": "attribute", "has": {"field": "attribute", **name}}
        parts.append({"kind": "call", "has": {"field": "function", "any": [{"kind": "identifier", **name}, method]}})
    if "mentions" in rule:
        # A name may also stand in a string: getattr(receiver, "conclude_state", None).
        words = [{"kind": kind, "regex": _names(rule["mentions"])} for kind in ("identifier", "string_content")]
        parts.append({"any": [*words, *({"has": {**word, "stopBy": "end"}} for word in words)]})
    return {**relation, **(parts[0] if len(parts) == 1 else {"all": parts})}


def _names(names: str | Sequence[str]) -> str:
    import re

    listed = [names] if isinstance(names, str) else names
    return "^(" + "|".join(re.escape(name).replace(r"\*", r"\w*") for name in listed) + ")$"


# -- evaluating -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class GuardedFile:
    """One source file, its scopes parsed when first asked for."""

    text: bytes
    scopes: Scopes
    _nodes: dict[str, "tuple[SgNode, int] | None"] = field(default_factory=dict)

    def node(self, scope: str) -> "tuple[SgNode, int] | None":
        """Return the node of a scope and the number of the line before its first; None where there is none."""
        if scope not in self._nodes:
            self._nodes[scope] = self._parse(scope)
        return self._nodes[scope]

    def _parse(self, scope: str) -> "tuple[SgNode, int] | None":
        """Parse one definition alone: a few lines instead of some thousand."""
        from ast_grep_py import SgRoot

        if scope == MODULE:
            return SgRoot(self.text.decode("utf-8", "replace"), "python").root(), 0
        found = _definition(self.scopes.definitions, scope)
        if found is None:
            return None
        lines = self.text.decode("utf-8", "replace").split("\n")[found.first - 1 : found.last]
        is_indented = lines[0][:1] in (" ", "\t")
        root = SgRoot("\n".join(["if True:", *lines] if is_indented else lines) + "\n", "python").root()
        kind = "class_definition" if found.is_class else "function_definition"
        node = root.find(kind=kind)
        assert node is not None
        return node, found.first - (2 if is_indented else 1)


def _definition(definitions: Sequence[Definition], scope: str) -> Definition | None:
    """Return the definition that counts: the last of several in one body, as Python takes it."""
    matching = [each for each in definitions if each.name.partition("#")[0] == scope]
    return matching[-1] if matching else None


def find_breaches(guard: Guard, file: GuardedFile | None) -> Iterator[Breach]:
    """Yield what speaks against the guard. A file, scope or subject that is gone is drift, never holding."""
    if file is None:
        yield Breach(0, f"there is no {guard.path}", is_drift=True)
        return
    found = file.node(guard.scope)
    if found is None:
        yield Breach(0, f"there is no {guard.scope} in {guard.path}", is_drift=True)
        return
    scope, before = found
    places = [scope] if guard.within is None else _find_all(scope, guard.within)
    if not places:
        yield Breach(
            _line(scope) + before, "the part of the scope that the guard is about was not found", is_drift=True
        )
    for place in places:
        for check in guard.checks:
            for breach in _evaluate(check, place):
                yield Breach(breach.line + before, breach.found, breach.is_drift)


def _evaluate(check: Check, place: "SgNode") -> Iterator[Breach]:
    matches = _find_all(place, check.rule)
    matches.sort(key=_index)
    match check.verb:
        case Verb.HAS:
            if (check.count is None and not matches) or (check.count is not None and len(matches) != check.count):
                wanted = "at least one" if check.count is None else str(check.count)
                yield Breach(_line(place), f"{len(matches)} matches of what must be there, wanted {wanted}")
        case Verb.LACKS:
            for node in matches:
                yield Breach(_line(node), f"`{_shown(node)}` must not be here")
        case Verb.FIRST:
            yield from _order(check, place, matches)
        case Verb.EACH:
            assert check.other is not None
            if not matches:
                yield Breach(_line(place), "nothing is left of what the check is about", is_drift=True)
            for node in matches:
                if not node.matches(**dict(check.other)):
                    yield Breach(_line(node), f"`{_shown(node)}` is not as it must be")
        case Verb.EACH_PASS:
            yield from _each_pass(check, place, matches)


def _order(check: Check, place: "SgNode", matches: "list[SgNode]") -> Iterator[Breach]:
    assert check.other is not None
    later = sorted(_find_all(place, check.other), key=_index)
    if not later:
        yield Breach(_line(place), "what must come second is not here", is_drift=True)
    elif not matches:
        yield Breach(_line(later[0]), f"nothing comes before `{_shown(later[0])}`")
    elif _index(matches[0]) > _index(later[0]):
        yield Breach(_line(later[0]), f"`{_shown(later[0])}` comes before `{_shown(matches[0])}`")


def _each_pass(check: Check, place: "SgNode", matches: "list[SgNode]") -> Iterator[Breach]:
    """Look for a match that no condition and no earlier exit stands before."""
    reasons = []
    for node in matches:
        reason = _reason_to_miss(node, place, check.other)
        if reason is None:
            return
        reasons.append(reason)
    yield from reasons[:1] or [Breach(_line(place), "what every pass must reach is not here")]


def _reason_to_miss(node: "SgNode", place: "SgNode", allowed: Rule | None) -> Breach | None:
    """Return why a pass may miss the node; None when each reaches it."""
    top = _index(place), place.range().end.index
    at: SgNode | None = node
    while at is not None and (_index(at), at.range().end.index) != top:
        if at is not node and at.kind() in _CONDITIONAL:
            return Breach(_line(node), f"`{_shown(node)}` runs only under `{_shown(at)}`")
        for former in at.prev_all():
            exits = [
                each
                for kind in _LEAVING
                for each in [*former.find_all(kind=kind), *([former] if former.kind() == kind else [])]
            ]
            is_allowed = allowed is not None and former.matches(**dict(allowed))
            if exits and not is_allowed:
                return Breach(_line(node), f"`{_shown(exits[0])}` at an earlier line leaves before `{_shown(node)}`")
        at = at.parent()
    return None


def _find_all(node: "SgNode", rule: Rule) -> "list[SgNode]":
    config: Any = {"rule": dict(rule)}  # ast-grep's own type for it demands literals
    found: list[SgNode] = node.find_all(config)
    return found


def _index(node: "SgNode") -> int:
    return node.range().start.index


def _line(node: "SgNode") -> int:
    return node.range().start.line + 1


def _shown(node: "SgNode") -> str:
    return node.text().partition("\n")[0][:80]
