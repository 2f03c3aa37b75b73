"""What an existing patch folder is made of."""

from dataclasses import dataclass

from patchkit.patch.headers import Head
from patchkit.patch.hunks import SOURCE_PREFIX, Patch


@dataclass(frozen=True, slots=True)
class PatchFile:
    """One patch file as found. shown: its path for messages. folder: relative to the project, "" at its top."""

    folder: str
    name: str
    shown: str
    raw: bytes

    @property
    def path(self) -> str:
        """The path relative to the project."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


@dataclass(frozen=True, slots=True)
class Parsed:
    """One patch file that could be read."""

    file: PatchFile
    patch: Patch
    head: Head

    @property
    def inside(self) -> bool:
        """Whether it changes a file of the sglang package."""
        return any(section.path.startswith(SOURCE_PREFIX) for section in self.patch.files)


@dataclass(frozen=True, slots=True)
class PatchSet:
    """The patch files of one upstream version.

    label: what the folder, or the file, calls itself: "v0.5.14", "latest", "v0.5.2rc2-cu128-b200".
    listed: the order that a `series` file gives; empty where there is none.
    """

    label: str
    files: tuple[PatchFile, ...]
    listed: tuple[str, ...] = ()
