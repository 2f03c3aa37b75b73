"""Each guard is red on an unpatched release and green on the patched one, on the real sources."""

from collections import defaultdict
from pathlib import Path

import pytest

from patchkit.patch.patchtext import read_patch
from patchkit.rules.compose import NamedPatch, compose, inside, touched_paths
from patchkit.series.facts import read_all_guards
from patchkit.source.guards import Guard, GuardedFile, find_breaches
from patchkit.source.scopes import scopes
from patchkit.store import pin_folder, pin_names, read_pin, read_series_names
from patchkit.upstream.access import Access, cache_folder
from patchkit.upstream.bring import bring_pin

ROOT = Path(__file__).parents[2]
GUARDS = read_all_guards(ROOT)
PINS = pin_names(ROOT)

# What no release breaks by itself: they stop a fix that would do another harm. Their red case is a made-up source.
HARM = {
    "P-3": "a private way out of the bootstrap queue that forgets the prefetch",
    "T-5": "a rank that drops a request by its own clock",
    "T-7": "a deadline that is read from os.environ",
    "A-3": "a terminal branch that never asks for an abort reason",
}


@pytest.fixture(scope="module")
def access() -> Access:
    """The user's own cache: a release is downloaded once, not once a test."""
    return Access(CACHE)


CACHE = cache_folder()  # read before the environment is sealed

pytestmark = [pytest.mark.network, pytest.mark.slow]


def states(name: str, access: Access) -> tuple[dict[str, bool], dict[str, bool]]:
    """Return, for each guard of a pin's release, whether it holds on the unpatched and on the patched source."""
    pin = read_pin(ROOT, name)
    upstream = bring_pin(pin, access)
    folder = pin_folder(ROOT, name)
    listed = read_series_names(ROOT, name)
    patches = [inside(NamedPatch(file, file, read_patch((folder / file).read_bytes(), name=file))) for file in listed]
    wanted = [guard for guard in GUARDS if guard.is_for(pin.version)]
    contents = upstream.read(touched_paths(patches) | {guard.path for guard in wanted})
    whole = compose(patches, {path: contents[path] for path in touched_paths(patches)})
    after = {path: file.after.text if file.after else None for path, file in whole.files.items()}
    return _held(wanted, contents), _held(wanted, {**contents, **after})


def _held(guards: list[Guard], sources: dict[str, bytes | None]) -> dict[str, bool]:
    files: dict[str, GuardedFile | None] = {}
    held: dict[str, bool] = {}
    for guard in guards:
        if guard.path not in files:
            text = sources[guard.path]
            files[guard.path] = None if text is None else GuardedFile(text, scopes(text))
        key = f"{guard.id} {guard.message}"
        held[key] = held.get(key, True) and not list(find_breaches(guard, files[guard.path]))
    return held


@pytest.mark.parametrize("pin", PINS)
def test_every_guard_holds_on_the_patched_release(pin: str, access: Access) -> None:
    _, patched = states(pin, access)
    assert [key for key, holds in patched.items() if not holds] == []


def test_every_guard_fails_on_some_unpatched_release(access: Access) -> None:
    red: dict[str, bool] = defaultdict(bool)
    for pin in PINS:
        for key, holds in states(pin, access)[0].items():
            red[key] |= not holds
    never_red = {key.split(" ")[0] for key, is_red in red.items() if not is_red}
    assert never_red - set(HARM) == set()
