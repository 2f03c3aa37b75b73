"""The store as the head commit has it, and the newest nightly that git knows."""

from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.nightly.plan import Published
from patchkit.repository import Repository, read_tag
from patchkit.store import VERSION_FILES
from patchkit.versions import NightlyTag, bare, is_version


@dataclass(frozen=True, slots=True)
class Head:
    """The store at one commit; what lies uncommitted in the working tree is not looked at.

    store: its root, relative to the repository's.
    """

    repository: Repository
    commit: str
    store: Path

    def path(self, name: str) -> str:
        """Return the path of a store's file in the repository."""
        return (self.store / name).as_posix()

    def image_paths(self) -> list[str]:
        """Return what goes into an image."""
        return [self.path("patches"), self.path("docker"), "patchkit/inimage.py"]

    def pins(self) -> list[str]:
        """Return the pins, in no order."""
        return [name for name in self.repository.names_below(self.commit, self.path("patches")) if is_version(name)]

    def latest(self, commit: str = "", *, missing: str | None = None) -> str:
        """Return what patches/latest names at the head, or at another commit. missing: instead of a refusal."""
        found = self.repository.read_file(commit or self.commit, self.path("patches/latest"))
        if found is None:
            raise ConfigError(
                "patches/latest is not committed", where=self.path("patches/latest"), hint="git add patches"
            )
        return f"v{bare(found.decode().strip())}"

    def version(self) -> NightlyTag:
        """Return the tag of version.txt."""
        for name in VERSION_FILES:
            if (found := self.repository.read_file(self.commit, self.path(name))) is not None:
                return NightlyTag.read(found.decode("utf-8", "replace").strip())
        raise ConfigError("version.txt is not committed", where=self.path("version.txt"), hint="git add version.txt")

    def published(self, pin: str) -> Published | None:
        """Return the newest nightly whose image was built of the pin."""
        for tag, commit, told in self._nightlies():
            built_of = told or self.latest(commit, missing="")
            if built_of == pin:
                waits = self.repository.resolve(f"{commit}^") == self.commit
                covers = waits or not self.repository.differ(commit, self.commit, self.image_paths())
                return Published(tag, covers, merged=not waits)
        return None

    def _nightlies(self) -> list[tuple[NightlyTag, str, str]]:
        """Return tag, commit and "Pin:" trailer of each nightly, the newest first."""
        form = "%(refname:strip=2) %(objectname) %(*objectname) |%(contents:trailers:key=Pin,valueonly,separator=%2C)"
        form += "%(*contents:trailers:key=Pin,valueonly,separator=%2C)"
        found = []
        for line in self.repository.git("for-each-ref", f"--format={form}", "refs/tags/nightly-dev-*").splitlines():
            names, _, told = line.decode("utf-8", "replace").partition("|")
            name, *objects = names.split()
            if (tag := read_tag(name)) is not None:
                found.append((tag, objects[-1], told.strip()))
        return sorted(found, reverse=True)
