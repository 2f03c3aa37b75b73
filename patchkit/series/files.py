"""The series of a pin as drafts, and the files of the pin's folder that follow from drafts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.adopt.naming import series_text, topic_tables
from patchkit.adopt.parting import Parting
from patchkit.errors import ConfigError, ConflictError
from patchkit.model import Series
from patchkit.patch.headers import read_head
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.letters import is_mail, read_letter, write_letter
from patchkit.patch.patchtext import read_patch
from patchkit.results.reshape import Reshape
from patchkit.rules.compose import NamedPatch
from patchkit.series.drafts import Draft, other_results, read_drafts, write_draft
from patchkit.series.generated import generate
from patchkit.series.parted import split_draft
from patchkit.store import (
    PATCHES,
    chosen_pin,
    pin_names,
    read_series,
    read_series_names,
    read_topics,
    replace_file,
    replace_pin_files,
)
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream, bring_pin


@dataclass(frozen=True, slots=True)
class OpenSeries:
    """A pin's series with its upstream, taken apart."""

    root: Path
    name: str
    series: Series
    upstream: Upstream
    drafts: tuple[Draft, ...]

    def draft(self, topic: str) -> Draft:
        """Return one topic. Raises: ConfigError where the series has none of this name."""
        for draft in self.drafts:
            if draft.topic == topic:
                return draft
        raise ConfigError(
            f"{self.name} has no topic {topic}",
            where=f"{PATCHES}/{self.name}/series",
            found=f"topics: {', '.join(draft.topic for draft in self.drafts)}",
        )


def open_series(root: Path, pin: str | None, access: Access) -> OpenSeries:
    """Read the series of a pin, the latest one by default, and apply it in memory."""
    name = chosen_pin(root, pin)
    series = read_series(root, name)
    upstream = bring_pin(series.pin, access)
    patches = [NamedPatch(topic.topic, f"{PATCHES}/{name}/{topic.topic}.patch", topic.patch) for topic in series.topics]
    return OpenSeries(root, name, series, upstream, tuple(read_drafts(patches, upstream, what=f"series {name}")))


def plan_series(opened: OpenSeries, drafts: Sequence[Draft]) -> dict[str, bytes | None]:
    """Return every file that the pin's folder has when its series is these drafts; None for one that goes away."""
    texts = {draft.topic: write_draft(draft, opened.upstream.objects) for draft in drafts if _does_something(draft)}
    topics = tuple(TopicPatch(name, read_patch(text, name=f"{name}.patch")) for name, text in texts.items())
    generated = generate(Series(opened.series.pin, topics), opened.upstream)
    files: dict[str, bytes | None] = {f"{draft.topic}.patch": None for draft in opened.drafts}
    files.update({f"{name}.patch": text for name, text in texts.items()})
    former = series_names(opened.root, opened.name)
    if former != list(texts):
        files["series"] = series_text(list(texts)).encode()
    return {**files, **generated.files()}


def canonical(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts so that each patch is written anew, as git am takes it.

    Full ids and present line numbers; a mail's head where there is none, in which every line of the old text stays.
    """
    return [
        replace(
            draft,
            is_current=False,
            preamble=draft.preamble
            if is_mail(draft.preamble)
            else write_letter(read_letter(draft.preamble, topic=draft.topic)),
        )
        for draft in drafts
    ]


def write_series(opened: OpenSeries, files: Mapping[str, bytes | None]) -> list[str]:
    """Write the planned files and the tables of new topics; return the paths that changed."""
    changed = [f"{PATCHES}/{opened.name}/{file}" for file in replace_pin_files(opened.root, opened.name, files)]
    heads = {
        file.removesuffix(".patch"): read_head(read_patch(text).preamble)
        for file, text in files.items()
        if text is not None and file.endswith(".patch") and file != "sglang.patch"
    }
    tables = topic_tables(heads, list(read_topics(opened.root)))
    if tables:
        path = opened.root / PATCHES / "topics.toml"
        replace_file(path, path.read_bytes().rstrip(b"\n") + b"\n" + tables.encode())
        changed.append(f"{PATCHES}/topics.toml")
    return changed


def reshape_series(opened: OpenSeries, drafts: Sequence[Draft], *, dry_run: bool, same_result: bool = True) -> Reshape:
    """Write the series as these drafts.

    same_result: refuse to write where a file would not end as it does now.
    """
    differing = other_results(opened.drafts, drafts)
    if same_result and differing:
        raise ConflictError(
            "the series would give another result", where="\n".join(differing), kept="nothing was changed"
        )
    files = plan_series(opened, drafts)
    would = [f"{PATCHES}/{opened.name}/{file}" for file in files]
    touched = would if dry_run else write_series(opened, files)
    gone = {f"{PATCHES}/{opened.name}/{file}" for file, content in files.items() if content is None}
    notes = [] if dry_run else [f"no pin carries {name} now; topics.toml still has it" for name in orphans(opened.root)]
    return Reshape(
        opened.name,
        tuple(draft.topic for draft in opened.drafts),
        tuple(draft.topic for draft in drafts),
        tuple(path for path in touched if path not in gone),
        same_result=not differing,
        dry_run=dry_run,
        notes=tuple(notes),
        removed=tuple(path for path in touched if path in gone),
    )


def split_series(opened: OpenSeries, topic: str, parting: Parting, *, dry_run: bool) -> Reshape:
    """Write the series with one topic taken apart. Raises: ConfigError for names that cannot be, or are there."""
    for name in parting.topics:
        refuse_name(name)
    if parting.topics == (topic,):
        raise ConfigError(f"the plan leaves all of {topic} in one topic", hint="change the first word of some lines")
    others = {each.topic for each in opened.drafts} - {topic}
    if taken := others & set(parting.topics):
        raise ConfigError(f"{opened.name} has a topic {', '.join(sorted(taken))} already", hint="choose another name")
    draft = opened.draft(topic)
    at = opened.drafts.index(draft)
    drafts = [*opened.drafts[:at], *split_draft(draft, parting), *opened.drafts[at + 1 :]]
    return reshape_series(opened, drafts, dry_run=dry_run)


def series_names(root: Path, pin: str) -> list[str]:
    """Return the topics of a pin in series order."""
    return [name.removesuffix(".patch") for name in read_series_names(root, pin)]


def orphans(root: Path) -> list[str]:
    """Return the topics of topics.toml that no pin carries."""
    carried = {topic for pin in pin_names(root) for topic in series_names(root, pin)}
    return [topic for topic in read_topics(root) if topic not in carried]


def refuse_name(topic: str) -> None:
    """Raise where a text cannot be a topic's name."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,119}", topic) or topic in ("sglang", "series", "manifest"):
        raise ConfigError(f"'{topic}' cannot be the name of a topic", found="lower-case letters, digits and hyphens")


def _does_something(draft: Draft) -> bool:
    return bool(draft.changes) or draft.has_outside
