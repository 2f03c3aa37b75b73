"""The store as the head commit has it, and the newest nightly that git knows."""

from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import ConfigError
from patchkit.nightly.plan import Published
from patchkit.repository import Repository, published_tags
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

    def latest(self, commit: str = "") -> str:
        """Return what patches/latest names at the head, or at another commit."""
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

    def published(self) -> Published | None:
        """Return the newest nightly that git knows."""
        tags = published_tags(self.repository.root, None).valid
        if not tags:
            return None
        tag = max(tags)
        commit = self.repository.resolve(f"refs/tags/{tag}^{{commit}}")
        if commit is None or self.repository.read_file(commit, self.path("patches/latest")) is None:
            return None
        waits = self.repository.resolve(f"{commit}^") == self.commit
        covers = waits or not self.repository.differ(commit, self.commit, self.image_paths())
        return Published(tag, self.latest(commit), covers, merged=not waits)
