"""How upstream may be reached: the cache, offline or not, and within which time."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from patchkit.upstream.objects import ObjectStore

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Access:
    """How upstream may be reached. deadline_s: for one download or fetch."""

    cache: Path
    offline: bool = False
    deadline_s: float = 900.0
    progress: Progress = lambda _: None

    @property
    def objects(self) -> ObjectStore:
        """The object store of this cache."""
        return ObjectStore.open(self.cache / "objects.git")


def cache_folder() -> Path:
    """Return where upstreams and runtimes are kept: $XDG_CACHE_HOME/patchkit."""
    from platformdirs import user_cache_path

    return user_cache_path("patchkit")
