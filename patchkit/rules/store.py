"""PK8xx: the store says what is there: series, generated files, topics, headers, tags and Dockerfiles agree."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from patchkit.model import Finding, Severity, Topic
from patchkit.patch.headers import Head

_FIELDS = ("Description", "Origin", "Forwarded", "Last-Update")
_REASONED = ("not-needed", "no", "vendor")  # Forwarded and Origin values that explain a missing Bug or PR
_PATCH_NAME = re.compile(r"[\w.+/-]+\.patch\b")
_COMMENT = re.compile(r"^\s*#")


@dataclass(frozen=True, slots=True)
class PinFacts:
    """What the folder of one pin holds.

    listed: the series; present: every .patch file there. stale: generated files that are not what the series gives,
    with whether they are there at all. heads: the header of each listed patch.
    """

    name: str
    folder: str
    listed: tuple[str, ...]
    present: frozenset[str]
    stale: Mapping[str, bool]
    heads: Mapping[str, Head]


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What the store holds beside its pins.

    carried: the topics that some pin's series has. guards: the ids in patches/guards, by topic. smoke: the folders of
    patches/smoke. stale_sites: declared places that name another tag or pin, as "file: text".
    dockerfiles: the text of each. pins: oldest first; latest: what patches/latest names.
    """

    topics: Mapping[str, Topic]
    carried: frozenset[str]
    guards: Mapping[str, frozenset[str]]
    smoke: frozenset[str]
    stale_sites: tuple[str, ...]
    dockerfiles: Mapping[str, str]
    pins: tuple[str, ...]
    latest: str


def find_in_pin(facts: PinFacts) -> Iterator[Finding]:
    """Yield what is wrong in the folder of one pin."""
    for name in sorted(facts.present - set(facts.listed)):
        yield Finding(
            "PK801", Severity.ERROR, f"{name} is not listed in the series", patch_file=f"{facts.folder}/{name}",
            found=f"series: {', '.join(facts.listed) or 'empty'}", hint="list it in the series, or delete the file",
        )  # fmt: skip
    for name, is_there in facts.stale.items():
        yield Finding(
            "PK802", Severity.ERROR, f"{name} is not current" if is_there else f"{name} was not generated yet",
            patch_file=f"{facts.folder}/{name}", found="the series gives other bytes" if is_there else "no such file",
            hint=f"patchkit refresh {facts.name}",
        )  # fmt: skip
    for name, head in facts.heads.items():
        missing = [each for each in _FIELDS if not head.first(each)]
        if missing:
            yield Finding(
                "PK803", Severity.WARNING, f"{name} lacks {', '.join(missing)} in its header",
                topic=name.removesuffix(".patch"), patch_file=f"{facts.folder}/{name}", patch_line=1,
                hint="add the DEP-3 fields above the first `diff --git`",
            )  # fmt: skip


def find_in_store(facts: StoreFacts) -> Iterator[Finding]:
    """Yield what is wrong in the store as a whole."""
    yield from _topics(facts)
    for site in facts.stale_sites:
        yield Finding(
            "PK807", Severity.ERROR, "a declared place names another tag or pin than version.txt and patches/latest",
            path=site.partition(": ")[0], found=site.partition(": ")[2], hint="patchkit bump",
        )  # fmt: skip
    if facts.pins and facts.latest != facts.pins[-1]:
        yield Finding(
            "PK809", Severity.WARNING, f"patches/latest names {facts.latest}, the newest pin is {facts.pins[-1]}",
            path="patches/latest", hint=f"echo {facts.pins[-1]} > patches/latest, if it is ready",
        )  # fmt: skip
    for file, text in facts.dockerfiles.items():
        yield from _dockerfile(facts, file, text)


def _topics(facts: StoreFacts) -> Iterator[Finding]:
    for name in sorted(facts.carried - set(facts.topics)):
        yield _topic_finding("PK804", name, f"topic {name} is carried and not in topics.toml", "describe it there")
    for name, topic in facts.topics.items():
        missing = [
            word
            for word, value in (
                ("why", topic.why),
                ("fault", topic.fault),
                ("guards", topic.guards),
                ("smoke", topic.smoke),
            )
            if not value
        ]
        if not topic.upstream and topic.lifecycle != "carry":
            missing.append("upstream")
        if missing:
            what = f"topic {name} has no {', '.join(missing)}"
            yield replace(_topic_finding("PK805", name, what, "add it to topics.toml"), severity=Severity.WARNING)
        unknown = sorted(set(topic.guards) - facts.guards.get(name, frozenset()))
        if unknown:
            what = f"topic {name} names guards that are not written: {', '.join(unknown)}"
            yield _topic_finding("PK806", name, what, f"write them in patches/guards/{name}.yml")
        absent = sorted(set(topic.smoke) - facts.smoke)
        if absent:
            what = f"topic {name} names smoke tests that are not there: {', '.join(absent)}"
            yield _topic_finding("PK806", name, what, "add the folder below patches/smoke, or take the name out")


def _topic_finding(rule: str, topic: str, message: str, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, topic=topic, path="patches/topics.toml", hint=hint)


def _dockerfile(facts: StoreFacts, file: str, text: str) -> Iterator[Finding]:
    """Yield each patch file that a Dockerfile names and that no series brings."""
    known = {"sglang.patch", *(f"{topic}.patch" for topic in facts.carried)}
    for number, line in enumerate(text.splitlines(), start=1):
        for name in [] if _COMMENT.match(line) else _PATCH_NAME.findall(line):
            if name.rpartition("/")[2] not in known:
                yield Finding(
                    "PK808", Severity.ERROR, f"a Dockerfile applies {name}, which no series lists", path=file,
                    line=number, found=line.strip()[:120], hint="make it a topic (patchkit import), or drop the line",
                )  # fmt: skip
