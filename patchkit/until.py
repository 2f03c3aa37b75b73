"""`until` of a topic: what ends it, and whether that has come to be at a release."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from patchkit.errors import ConfigError
from patchkit.model import Met, Topic, UntilVerdict
from patchkit.patch.hunks import SOURCE_PREFIX
from patchkit.source.scopes import scopes
from patchkit.versions import is_version, order

_REFERENCE = re.compile(r"[\w.-]+/[\w.-]+#\d+")
_TREE = re.compile(r"(has|lacks) ([\w./-]+)(?:::([\w.]+))?")
Read = Callable[[str], bytes | None]


class ConditionKind(StrEnum):
    """What an `until` speaks of."""

    REFERENCE = "pull request"  # sgl-project/sglang#30203: merged, as `fixed_in` says
    RELEASE = "release"  # >=0.5.23
    DAY = "day"  # 2027-01-31: a day on which a person looks again
    HAS = "has"  # has srt/a.py::Class.method: upstream has it
    LACKS = "lacks"  # lacks srt/a.py::Class.method: upstream has it no more


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. value: the reference, version, day or path. symbol: a class or function in the path."""

    kind: ConditionKind
    value: str
    symbol: str = ""


def read_until(text: str, *, where: str) -> list[Condition]:
    """Read the conditions of an `until`, joined by " or "; the topic ends when one of them holds."""
    return [_read_one(part.strip(), where=where) for part in text.split(" or ")] if text.strip() else []


def judge_until(topics: Iterable[Topic], version: str, today: date, read: Read) -> Iterator[UntilVerdict]:
    """Yield a verdict for each topic that has an `until`, at one upstream release.

    read: a file of the release's tree. A pull request is known to be merged only by the topic's `fixed_in`:
    nothing here asks the network.
    """
    for topic in topics:
        verdicts = [
            _judge_one(topic, condition, version, today, read)
            for condition in read_until(topic.until, where=f"topics.toml, topic {topic.name}")
        ]
        if verdicts:
            rank = {Met.YES: 0, Met.UNKNOWN: 1, Met.NO: 2}
            met, evidence = min(verdicts, key=lambda verdict: rank[verdict[0]])
            yield UntilVerdict(topic.name, topic.until, met, evidence)


def _read_one(text: str, *, where: str) -> Condition:
    if _REFERENCE.fullmatch(text):
        return Condition(ConditionKind.REFERENCE, text)
    if text.startswith(">=") and is_version(text[2:].strip()):
        return Condition(ConditionKind.RELEASE, text[2:].strip().removeprefix("v"))
    if (match := _TREE.fullmatch(text)) and not {"", ".", ".."} & set(match[2].split("/")):
        path = match[2] if match[2].startswith("python/") else SOURCE_PREFIX + match[2].removeprefix("sglang/")
        return Condition(ConditionKind(match[1]), path, match[3] or "")
    try:
        return Condition(ConditionKind.DAY, date.fromisoformat(text).isoformat())
    except ValueError:
        raise ConfigError(
            f"'{text}' is no condition",
            where=where,
            hint="sgl-project/sglang#30203, >=0.5.23, 2027-01-31, has srt/a.py::Class.method, lacks srt/a.py",
        ) from None


def _judge_one(topic: Topic, condition: Condition, version: str, today: date, read: Read) -> tuple[Met, str]:
    match condition.kind:
        case ConditionKind.REFERENCE:
            if not topic.fixed_in:
                return Met.UNKNOWN, f"whether {condition.value} is merged is not recorded (fixed_in)"
            return _at_least(version, topic.fixed_in, f"fixed_in says {topic.fixed_in}")
        case ConditionKind.RELEASE:
            return _at_least(version, condition.value, f"this is {version}")
        case ConditionKind.DAY:
            come = today >= date.fromisoformat(condition.value)
            return (Met.YES if come else Met.NO), f"today is {today.isoformat()}"
        case ConditionKind.HAS:
            there, evidence = _has(condition, read)
            return (Met.YES if there else Met.NO), evidence
        case ConditionKind.LACKS:
            there, evidence = _has(condition, read)
            return (Met.NO if there else Met.YES), evidence


def _at_least(version: str, wanted: str, evidence: str) -> tuple[Met, str]:
    return (Met.YES if order(version) >= order(wanted) else Met.NO), evidence


def _has(condition: Condition, read: Read) -> tuple[bool, str]:
    content = read(condition.value)
    if content is None:
        return False, f"there is no {condition.value}"
    if not condition.symbol:
        return True, f"{condition.value} is there"
    lines = content.count(b"\n") + 1
    found = scopes(content)
    there = any(f"{found.at(line)}.".startswith(f"{condition.symbol}.") for line in range(1, lines + 1))
    return there, f"{condition.value} {'defines' if there else 'does not define'} {condition.symbol}"
