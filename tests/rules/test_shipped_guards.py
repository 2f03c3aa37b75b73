"""The shipped guards that no release breaks by itself, on made-up sources that do the harm, and on sound twins."""

from pathlib import Path
from textwrap import indent

import pytest

from patchkit.source.guards import Breach, Guard, GuardedFile, find_breaches, read_guards
from patchkit.source.scopes import scopes

FOLDER = Path(__file__).parents[2] / "patches" / "guards"
GUARDS = [
    guard
    for file in sorted(FOLDER.glob("*.yml"))
    for guard in read_guards(file.read_bytes(), topic=file.stem, where=file.name)
]
LOCAL_CLOCK = """\
now = time.perf_counter()
for i, req in enumerate(self.queue):
    if now - req.entry > limit:
        indices_to_remove.add(i)
"""
MARK_ONLY = """\
now = time.perf_counter()
for i, req in enumerate(self.queue):
    if now - req.entry > limit:
        req.sender.abort()
    if polls[i] == KVPoll.Failed:
        indices_to_remove.add(i)
"""
FAILURE = "prepare_abort(req, message)\nself.tree_cache.release_aborted_request(req.rid)\n"
TERMINAL = "if is_aborted(req):\n    conclude_with_abort(req, 'Aborted')\n"


def breaches(guard: Guard, body: str) -> list[Breach]:
    """Evaluate a guard on a file that has nothing but its scope with this body."""
    if guard.scope == "<module>":
        source = body
    else:
        owner, _, name = guard.scope.rpartition(".")
        source = f"class {owner}:\n    def {name}(self):\n" + indent(body, " " * 8)
    return list(find_breaches(guard, GuardedFile(source.encode(), scopes(source.encode()))))


@pytest.mark.parametrize(
    ("name", "harm", "sound"),
    [
        pytest.param("T-5", LOCAL_CLOCK, MARK_ONLY, id="T-5"),
        pytest.param("T-7", "limit = float(os.environ['X'])\n", "limit = envs.X.get()\n", id="T-7"),
        pytest.param("P-3", FAILURE.partition("\n")[0] + "\n", FAILURE, id="P-3"),
        pytest.param("A-3", "req.finished_reason = FINISH_LENGTH(0)\n", TERMINAL, id="A-3"),
    ],
)
def test_harm_is_seen_and_its_sound_twin_is_not(name: str, harm: str, sound: str) -> None:
    guards = [guard for guard in GUARDS if guard.id == name]
    assert guards
    for guard in guards:
        assert [breach for breach in breaches(guard, harm) if not breach.is_drift], guard.where
        assert breaches(guard, sound) == [], guard.where


@pytest.mark.parametrize(
    "guard", GUARDS, ids=lambda guard: f"{guard.id} {guard.path.rpartition('/')[2]} {guard.releases}"
)
def test_no_guard_holds_where_its_scope_is_gone(guard: Guard) -> None:
    if guard.scope != "<module>":
        assert [breach.is_drift for breach in find_breaches(guard, GuardedFile(b"x = 1\n", scopes(b"x = 1\n")))] == [
            True
        ]
    assert [breach.is_drift for breach in find_breaches(guard, None)] == [True]
