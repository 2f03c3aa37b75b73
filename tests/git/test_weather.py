"""Weather over releases and commits: what each hunk would become, since when, and by which commit."""

import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from patchkit.errors import ConfigError
from patchkit.results.weather import Weather
from patchkit.upstream.access import Access
from patchkit.upstream.listing import list_releases
from patchkit.verbs.weather import WeatherWish, map_weather
from patchkit.weather import spread
from tests.git.test_rebase import add_upstream
from tests.small_store import ABORT, UPSTREAM, write_store

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
LATE = "python/sglang/srt/late.py"
ABOVE = {ABORT: "# above\n" + UPSTREAM[ABORT]}
HAS_IT = {ABORT: "# above\n" + UPSTREAM[ABORT].replace("req.done", "req.gone")}
REWRITTEN = {ABORT: "# above\n" + UPSTREAM[ABORT].replace("req.done = True", "req.state = req.ended()")}
Store = tuple[Path, Access]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "store"
    return root, write_store(root, tmp_path / "cache")


def states(result: Weather, topic: str) -> list[str]:
    (found,) = [one for one in result.topics if one.topic == topic]
    return list(found.states)


def test_each_hunk_has_its_states_and_the_first_release_of_each(store: Store) -> None:
    root, access = store
    for version, changes in (("0.5.13", ABOVE), ("0.5.14", ABOVE), ("0.5.15", REWRITTEN), ("0.5.16", HAS_IT)):
        add_upstream(access, version, changes)
    result = map_weather(root, access, WeatherWish(), NOW)
    assert [column.name for column in result.columns] == ["0.5.12.post1", "0.5.13", "0.5.14", "0.5.15", "0.5.16"]
    assert states(result, "abort-guards") == ["clean", "merge", "merge", "conflict", "upstreamed"]
    assert states(result, "timeouts") == ["clean"] * 5
    (hunk,) = result.topics[0].hunks
    assert [(change.column, change.state) for change in hunk.changes] == [
        ("0.5.12.post1", "clean"),
        ("0.5.13", "merge"),
        ("0.5.15", "conflict"),
        ("0.5.16", "upstreamed"),
    ]


def test_the_same_content_is_asked_about_once(store: Store) -> None:
    root, access = store
    add_upstream(access, "0.5.13", ABOVE)
    add_upstream(access, "0.5.14", {**ABOVE, "python/sglang/srt/other.py": "x = 1\n"})
    first = map_weather(root, access, WeatherWish(), NOW)
    assert first.asked == 3  # abort-guards at the pin and at 0.5.13, timeouts once for all
    assert map_weather(root, access, WeatherWish(), NOW) == replace(first, asked=0)
    add_upstream(access, "0.5.15", REWRITTEN)
    assert map_weather(root, access, WeatherWish(), NOW).asked == 1


def test_a_changed_patch_is_another_question(store: Store) -> None:
    root, access = store
    add_upstream(access, "0.5.13", ABOVE)
    map_weather(root, access, WeatherWish(), NOW)
    path = root / "patches/v0.5.12.post1/abort-guards.patch"
    path.write_text(path.read_text().replace("req.gone", "req.lost"))
    assert map_weather(root, access, WeatherWish(), NOW).asked == 2


def test_range_of_releases_and_topics(store: Store) -> None:
    root, access = store
    for version in ("0.5.13", "0.5.14", "0.5.15", "0.5.16rc1"):
        add_upstream(access, version, ABOVE)
    result = map_weather(root, access, WeatherWish(("timeouts",), low="v0.5.13", high="v0.5.14"), NOW)
    assert [column.name for column in result.columns] == ["0.5.13", "0.5.14"]
    assert [topic.topic for topic in result.topics] == ["timeouts"]
    whole = map_weather(root, access, WeatherWish(), NOW)
    assert whole.columns[-1].name == "0.5.15"  # a release candidate only where it is named
    with pytest.raises(ConfigError, match="no pin has topic nothing"):
        map_weather(root, access, WeatherWish(("nothing",)), NOW)


def test_offline_says_what_it_has_not(store: Store) -> None:
    root, access = store
    add_upstream(access, "0.5.13", ABOVE)
    assert any("never asked" in note for note in map_weather(root, access, WeatherWish(), NOW).notes)
    text = '{"said": "2026-01-01T00:00:00+00:00", "versions": ["0.5.14", "0.5.13", "0.5.12.post1"]}'
    (access.cache / "listed.json").write_text(text)
    result = map_weather(root, access, WeatherWish(), NOW)
    assert result.missing == ("0.5.14",)
    assert result.notes == ("offline: releases as the index listed them on 2026-01-01",)


def test_list_of_releases_is_asked_for_again_after_an_hour(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _, access = store
    calls = []

    def listed(_: Access) -> list[str]:
        calls.append(1)
        return ["0.5.13"]

    monkeypatch.setattr("patchkit.upstream.listing.listed_versions", listed)
    online = replace(access, offline=False)
    for minutes, asked in ((0, 1), (59, 1), (61, 2)):
        assert list_releases(online, NOW + timedelta(minutes=minutes)).versions == ("0.5.13",)
        assert len(calls) == asked


def test_topic_ends_where_its_until_is_met(store: Store) -> None:
    root, access = store
    topics = root / "patches/topics.toml"
    topics.write_text(topics.read_text().replace("[timeouts]\n", '[timeouts]\nuntil = "has srt/late.py::limit"\n'))
    add_upstream(access, "0.5.13", {})
    add_upstream(access, "0.5.14", {LATE: "LIMIT_S = None\n\n\ndef limit():\n    return 1\n"})
    result = map_weather(root, access, WeatherWish(), NOW)
    assert {topic.topic: topic.ended for topic in result.topics} == {"abort-guards": "", "timeouts": "0.5.14"}


# -- commits ------------------------------------------------------------------------------------------------


def git(clone: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(clone), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(clone: Path, subject: str, changes: dict[str, str]) -> str:
    for path, text in changes.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(text)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "--allow-empty", "-m", subject)
    return git(clone, "rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with two tagged releases and the commits between them."""
    path = tmp_path / "clone"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    commit(path, "first", UPSTREAM)
    git(path, "tag", "v0.5.12.post1")
    commit(path, "somewhere else", {"python/sglang/srt/other.py": "x = 1\n"})
    commit(path, "a line above", ABOVE)
    commit(path, "docs", {"README.md": "read me\n"})
    commit(path, "rewrite abort", REWRITTEN)
    commit(path, "a new file", {"python/sglang/srt/new.py": "y = 1\n"})
    git(path, "tag", "v0.5.13")
    return path


def test_commits_of_a_range_with_the_culprits(store: Store, clone: Path) -> None:
    root, access = store
    result = map_weather(root, access, WeatherWish(clone=clone, span="v0.5.12.post1..main"), NOW)
    assert (result.commits, result.touching) == (4, 2)
    assert [column.subject for column in result.columns] == ["first", "a line above", "rewrite abort", "a new file"]
    assert states(result, "abort-guards") == ["clean", "merge", "conflict", "conflict"]
    (hunk,) = result.topics[0].hunks
    assert [change.subject for change in hunk.changes] == ["", "a line above", "rewrite abort"]


def test_culprits_of_releases(store: Store, clone: Path) -> None:
    root, access = store
    add_upstream(access, "0.5.13", {**REWRITTEN, "python/sglang/srt/new.py": "y = 1\n"})
    add_upstream(access, "0.5.14", {})
    result = map_weather(root, access, WeatherWish(clone=clone), NOW)
    (hunk,) = result.topics[0].hunks
    assert [(change.state, change.subject) for change in hunk.changes] == [
        ("clean", ""),
        ("conflict", "rewrite abort"),
        ("clean", ""),
    ]
    assert result.notes[-1] == "no culprits from 0.5.13 to 0.5.14: the clone lacks tag v0.5.13 or v0.5.14"


def test_culprit_is_found_where_the_topic_s_lines_do_not_show_it(
    store: Store, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no sign at all only the last commit is asked about; halving finds the one that changed the state."""
    root, access = store
    monkeypatch.setattr(spread.Watch, "_read_sign", lambda *_: "the same")
    for number in range(20):
        commit(clone, f"comment {number}", {ABORT: REWRITTEN[ABORT] + f"# {number}\n"})
    result = map_weather(root, access, WeatherWish(clone=clone, span="v0.5.12.post1..main"), NOW)
    (hunk,) = result.topics[0].hunks
    assert [change.subject for change in hunk.changes] == ["", "a line above", "rewrite abort"]
    assert result.asked < 12


def test_bad_range_is_refused(store: Store, clone: Path) -> None:
    root, access = store
    with pytest.raises(ConfigError, match="is no range"):
        map_weather(root, access, WeatherWish(clone=clone, span="main"), NOW)
    with pytest.raises(ConfigError, match="--range needs --git"):
        map_weather(root, access, WeatherWish(span="a..b"), NOW)
