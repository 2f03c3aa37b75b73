"""`weather`: what would become of each topic along upstream's releases or commits, and since when."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from patchkit.carry.nouns import Tree
from patchkit.errors import CommandError, ConfigError
from patchkit.model import Met, Topic
from patchkit.results.weather import Weather, WeatherChange, WeatherColumn, WeatherHunk, WeatherTopic
from patchkit.store import chosen_pin, pin_folder, pin_names, read_series, read_series_names, read_topics
from patchkit.until import judge_until
from patchkit.upstream.access import Access
from patchkit.upstream.bring import Upstream, bring_pin, bring_version, kept_upstreams, kept_versions
from patchkit.upstream.clones import is_clone, objects_of, read_line, release_at
from patchkit.upstream.listing import Listing, list_releases
from patchkit.versions import bare, is_release, order
from patchkit.weather.commits import Commits
from patchkit.weather.looking import Culprits, Looker, Search
from patchkit.weather.nouns import Row, Sight, worst
from patchkit.weather.releases import Releases
from patchkit.weather.rows import read_rows
from patchkit.weather.spread import Change

_NEVER = date.min  # an `until` that is a day says nothing about a release


@dataclass(frozen=True, slots=True)
class WeatherWish:
    """What is asked for. topics: all where empty. low, high: releases. span: commits of the clone, as "A..B"."""

    topics: tuple[str, ...] = ()
    pin: str = ""
    low: str = ""
    high: str = ""
    clone: Path | None = None
    span: str = ""


def map_weather(root: Path, access: Access, wish: WeatherWish, now: datetime) -> Weather:
    """Return the map of the wished topics over releases, or over the commits of a clone."""
    if wish.clone is not None and not is_clone(wish.clone):
        raise ConfigError("no git repository here", where=str(wish.clone), hint="name the top of a clone of sglang")
    pins = _pins_by_topic(root, wish)
    if not wish.span:
        return _over_releases(root, access, wish, now, pins)
    if wish.clone is None:
        raise ConfigError("--range needs --git CLONE", hint=f"patchkit weather --git CLONE --range {wish.span}")
    if wish.low or wish.high:
        raise ConfigError("--range goes without --from and --to")
    return _over_commits(root, access, wish, pins)


# -- which topics, and as which pin has them ----------------------------------------------------------------


def _pins_by_topic(root: Path, wish: WeatherWish) -> dict[str, list[str]]:
    """Return each wished topic with the pins that have it, oldest first, in the order of topics.toml."""
    pins = [chosen_pin(root, wish.pin)] if wish.pin else pin_names(root)
    having: dict[str, list[str]] = {topic: [] for topic in read_topics(root)}
    for pin in pins:
        for name in read_series_names(root, pin):
            having.setdefault(name.removesuffix(".patch"), []).append(pin)
    unknown = [topic for topic in wish.topics if not having.get(topic)]
    if unknown:
        raise ConfigError(
            f"no pin has topic {unknown[0]}",
            where=", ".join(pins),
            found=f"topics: {', '.join(filter(having.get, having))}",
        )
    return {topic: found for topic, found in having.items() if found and topic in (wish.topics or having)}


def _pin_at(having: Sequence[str], release: str) -> str:
    """Return the pin that a topic is taken from: the newest that is not newer than the release, else the oldest."""
    older = [pin for pin in having if not release or order(pin) <= order(release)]
    return older[-1] if older else having[0]


def _rows(root: Path, access: Access, pins: dict[str, list[str]], release: str) -> list[Row]:
    """Return a row for each topic."""
    chosen = {topic: _pin_at(having, release) for topic, having in pins.items()}
    by_pin = {}
    for pin in dict.fromkeys(chosen.values()):
        series = read_series(root, pin)
        by_pin[pin] = {row.topic: row for row in read_rows(series, bring_pin(series.pin, access))}
    return [by_pin[pin][topic] for topic, pin in chosen.items() if topic in by_pin[pin]]


# -- releases -----------------------------------------------------------------------------------------------


def _over_releases(root: Path, access: Access, wish: WeatherWish, now: datetime, pins: dict[str, list[str]]) -> Weather:
    low = (
        bare(wish.low) if wish.low else bare(min((having[0] for having in pins.values()), key=order)).partition("+")[0]
    )
    listing = list_releases(access, now)
    wanted = _between(listing, access, low, bare(wish.high) if wish.high else "")
    upstreams, missing = _bring(wanted, access)
    if not upstreams:
        raise CommandError(
            "none of the releases is here",
            found=", ".join(missing) or "none is known",
            hint="patchkit weather, once without --offline",
        )
    line = Releases(upstreams, access.objects)
    rows = _rows(root, access, pins, low)
    line.prime(sorted({path for row in rows for path in row.paths}))
    looker = Looker(access, rows)
    changes = looker.everywhere(line)
    columns = [WeatherColumn(one.version, "release") for one in upstreams]
    trees = [(one.version, line.tree(at)) for at, one in enumerate(upstreams)]
    culprits = Search(wish.clone, looker).find([one.name for one in columns], changes) if wish.clone else {}
    teller = _Teller(columns, range(len(line)), trees, culprits)
    topics = read_topics(root)
    newest = f"v{columns[-1].name}"
    return Weather(
        columns=tuple(columns),
        topics=tuple(teller.tell(row, topics.get(row.topic), changes[row.topic]) for row in rows),
        asked=looker.asked,
        missing=tuple(missing),
        listed=listing.said.isoformat(timespec="seconds") if listing.said else "",
        notes=tuple(_notes(listing, access, looker)),
        next_step="" if pin_folder(root, newest).is_dir() else f"patchkit rebase --onto {newest}",
    )


def _between(listing: Listing, access: Access, low: str, high: str) -> list[str]:
    """Return the releases to look at, oldest first: those that the index lists and those that are here."""
    known = {one for one in (*listing.versions, *kept_versions(access.objects)) if is_release(one)}
    if high:
        known = {one for one in known if order(one) <= order(high)}
    finals = {one for one in known if "rc" not in one} | {low, *filter(None, [high])} & known
    found = sorted((one for one in finals if order(one) >= order(low)), key=order)
    if not found and (low, high) != ("", ""):
        raise ConfigError(
            f"no release is known from {low}" + (f" to {high}" if high else ""),
            found="the index has not been asked" if not listing.versions else f"the newest is {listing.versions[0]}",
        )
    return found


def _bring(versions: Iterable[str], access: Access) -> tuple[list[Upstream], list[str]]:
    """Return the releases that are here or can be had, and the names of the others."""
    kept = kept_upstreams(access.objects)
    here, missing = [], []
    for version in versions:
        try:
            here.append(kept.get(version) or bring_version(version, access))
        except CommandError:
            missing.append(version)
    return here, missing


def _notes(listing: Listing, access: Access, looker: "Looker") -> Iterator[str]:
    if access.offline and listing.said is None:
        yield "the index was never asked: which releases there are between and after these is not known"
    elif access.offline and listing.said is not None:
        yield f"offline: releases as the index listed them on {listing.said.date().isoformat()}"
    yield from looker.notes


# -- commits ------------------------------------------------------------------------------------------------


def _over_commits(root: Path, access: Access, wish: WeatherWish, pins: dict[str, list[str]]) -> Weather:
    assert wish.clone is not None
    old, dots, new = wish.span.partition("..")
    if not (old and dots and new) or new.startswith("."):
        raise ConfigError(
            f"'{wish.span}' is no range of commits", hint="patchkit weather --git CLONE --range v0.5.13..main"
        )
    commits = read_line(wish.clone, old, new)
    line = Commits(commits, objects_of(wish.clone))
    release = release_at(wish.clone, commits[0].id)
    rows = _rows(root, access, pins, release)
    looker = Looker(access, rows)
    changes = looker.changes(line)
    places = sorted({0, len(line) - 1, *(change.at for found in changes.values() for change in found)})
    columns = [WeatherColumn(commits[at].id, "commit", commits[at].day, commits[at].subject) for at in places]
    trees = [(release, line.tree(places[-1]))] if release else []
    teller = _Teller(columns, places, trees, {})
    topics = read_topics(root)
    watched = {path for row in rows for path in row.paths}
    return Weather(
        columns=tuple(columns),
        topics=tuple(teller.tell(row, topics.get(row.topic), changes[row.topic]) for row in rows),
        commits=len(commits) - 1,
        touching=sum(not watched.isdisjoint(commit.changes) for commit in commits[1:]),
        asked=looker.asked,
        notes=tuple(looker.notes),
    )


# -- telling ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Teller:
    """Tells a topic column by column.

    places: where each column stands on the line. trees: the releases, for what ends a topic; the last columns'.
    """

    columns: Sequence[WeatherColumn]
    places: Sequence[int]
    trees: Sequence[tuple[str, Tree]]
    culprits: Culprits

    def tell(self, row: Row, topic: Topic | None, changes: Sequence[Change]) -> WeatherTopic:
        """Return the topic with the outlook that holds at each column."""
        outlooks = [next(one.outlook for one in reversed(changes) if one.at <= at) for at in self.places]
        return WeatherTopic(
            topic=row.topic,
            pin=row.pin,
            states=tuple(worst(outlook.states).value for outlook in outlooks),
            until=topic.until if topic else "",
            ended=self._ended(topic) if topic and topic.until else "",
            hunks=tuple(
                self._hunk(row, [outlook.sights[at] for outlook in outlooks]) for at in range(len(outlooks[0].sights))
            ),
        )

    def _hunk(self, row: Row, sights: Sequence[Sight]) -> WeatherHunk:
        told: list[WeatherChange] = []
        for column, one in zip(self.columns, sights, strict=True):
            to = one.to if one.to != one.path else ""
            if not told or (told[-1].state, told[-1].to) != (one.state, to):
                commit, subject = self._culprit(row, one, column) if told else ("", "")
                told.append(WeatherChange(column.name, one.state.value, to, one.evidence, commit, subject))
        scope = next((one.scope for one in sights if one.scope), "")
        return WeatherHunk(
            sights[0].path, sights[0].number, scope, tuple(one.state.value for one in sights), tuple(told)
        )

    def _culprit(self, row: Row, one: Sight, column: WeatherColumn) -> tuple[str, str]:
        if column.kind == "commit":
            return column.name, column.subject
        found = self.culprits.get((row.topic, one.path, one.number, column.name))
        return (found.id, found.subject) if found else ("", "")

    def _ended(self, topic: Topic) -> str:
        """Return the first of the last columns at all of which the topic's `until` is met."""
        ended = ""
        for column, (version, tree) in zip(reversed(self.columns), reversed(self.trees), strict=False):
            (verdict,) = judge_until([topic], version, _NEVER, tree.read)
            if verdict.met is not Met.YES:
                break
            ended = column.name
        return ended
