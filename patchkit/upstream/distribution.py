"""The source files of a wheel or sdist; names that leave the folder, links and absurd sizes are refused."""

import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from patchkit.errors import ConfigError
from patchkit.upstream.objects import File

COMPILED = (".so", ".pyd", ".pyc", ".dylib")  # built by the release job; no source, and not in the repository
_MAX_FILES = 50_000
_MAX_BYTES = 2 << 30


def distribution_files(path: Path) -> Iterator[tuple[str, File]]:
    """Yield each source file of a wheel or sdist as (path in the repository, file).

    Names that leave the folder, links, devices and an absurd size are refused. Modes are not kept: wheels
    have lost the executable bits that the repository has.
    """
    members = _wheel_members(path) if path.suffix == ".whl" else _sdist_members(path)
    total = count = 0
    try:
        for name, content in members:
            count += 1
            total += len(content)
            if count > _MAX_FILES or total > _MAX_BYTES:
                raise ConfigError("the distribution is larger than any sglang release", where=path.name)
            yield name, File(content)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as exc:
        raise ConfigError("the distribution is damaged", where=path.name, found=str(exc)) from exc


def _wheel_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.infolist():
            if member.is_dir() or not _is_source(member.filename, "sglang/", path):
                continue
            if stat.S_ISLNK(member.external_attr >> 16):
                raise ConfigError("the distribution holds a link", where=f"{path.name}: {member.filename}")
            yield "python/" + member.filename, wheel.read(member)


def _sdist_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.split("/", 1)[-1].removeprefix("python/")
            if member.isdir() or not _is_source(name, "sglang/", path):
                continue
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is None:
                raise ConfigError("the distribution holds a link or a device", where=f"{path.name}: {member.name}")
            yield "python/" + name, stream.read()


def _is_source(name: str, prefix: str, path: Path) -> bool:
    """Whether the member is source of sglang; refuse a name that leaves its folder."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name:
        raise ConfigError("the distribution holds a path that leaves its folder", where=f"{path.name}: {name}")
    return name.startswith(prefix) and not name.endswith(COMPILED)
