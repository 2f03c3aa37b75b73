"""patches/ and version.txt: read, validate, replace in one step."""

import hashlib
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from patchkit import inplace
from patchkit.errors import ConfigError
from patchkit.manifest import read_manifest as parse_manifest
from patchkit.model import (
    CommitId,
    DirectorySource,
    Distribution,
    GitSource,
    Manifest,
    Pin,
    Series,
    Source,
    Topic,
    TreeId,
    Variable,
)
from patchkit.patch.hunks import TopicPatch
from patchkit.patch.patchtext import read_patch
from patchkit.pinsites import PinSite, PinValues, names_pin, refuse_unusable, rewrite_site
from patchkit.versions import NightlyTag, bare, is_version, order

PATCHES = "patches"
COMBINED = "sglang.patch"
MANIFEST = "manifest.json"
IMAGES = "images.json"
SITES = "sites.toml"
VERSION_FILES = ("version.txt", "docker/version.txt")  # ours, and where slime and its kin keep it
GENERATED = (COMBINED, MANIFEST)


def find_root(start: Path) -> Path:
    """Return the nearest folder from `start` upwards that has patches/ with topics.toml in it."""
    for folder in (start, *start.parents):
        if (folder / PATCHES / "topics.toml").is_file():
            return folder
    raise ConfigError(
        "no patches/ here or above", where=str(start), hint="run in the repository, or name it: patchkit --root DIR ..."
    )


def pin_folder(root: Path, pin: str) -> Path:
    """Return the folder of a pin, whether it exists or not."""
    return root / PATCHES / f"v{bare(pin)}"


def own_folder(root: Path) -> Path:
    """Return the folder for what is not part of the store, as edits and proposals; git ignores all of it."""
    folder = root / ".patchkit"
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return folder


def pin_names(root: Path) -> list[str]:
    """Return the pins of the store, oldest first, with the leading "v"."""
    folders = (root / PATCHES).iterdir()
    return sorted((folder.name for folder in folders if is_version(folder.name) and folder.is_dir()), key=order)


def latest_pin(root: Path) -> str:
    """Return the pin that patches/latest names."""
    path = root / PATCHES / "latest"
    name = _read(path).decode().strip()
    if not pin_folder(root, name).is_dir():
        raise ConfigError(f"patches/latest names {name}, which has no folder", where=_shown(path, root))
    return f"v{bare(name)}"


def chosen_pin(root: Path, pin: str | None) -> str:
    """Return the pin that was asked for, which must exist, or else the latest."""
    if pin is None:
        return latest_pin(root)
    if not pin_folder(root, pin).is_dir():
        raise ConfigError(f"there is no pin {pin}", where=PATCHES, found=f"pins: {', '.join(pin_names(root))}")
    return f"v{bare(pin)}"


def read_pin_table(root: Path, name: str) -> dict[str, Any]:
    """Return a pin's pin.toml as it stands."""
    return _read_toml(pin_folder(root, name) / "pin.toml", root)


def read_pin(root: Path, name: str) -> Pin:
    """Read a pin's pin.toml."""
    path = pin_folder(root, name) / "pin.toml"
    table = read_pin_table(root, name)
    _refuse_other_types(table, _shown(path, root))
    try:
        pin = Pin(
            version=table["version"],
            commit=CommitId(table["commit"]),
            tree=TreeId(table["tree"]),
            source=_read_source(table),
            python=table.get("python", "3.12"),
            base_images=tuple(table.get("base_images", ())),
        )
    except (KeyError, TypeError) as exc:
        raise ConfigError("a setting of the pin is missing", where=_shown(path, root), found=str(exc)) from exc
    if pin.name != f"v{bare(name)}":
        raise ConfigError(
            f"pin.toml names version {pin.version}, its folder is {path.parent.name}", where=_shown(path, root)
        )
    return pin


_PIN_TYPES = {
    **dict.fromkeys(("version", "commit", "tree", "python"), (str, "a text")),
    **dict.fromkeys(("git", "directory", "distribution"), (dict, "a table")),
    "base_images": (list, "a list of texts"),
}


def _refuse_other_types(table: Mapping[str, Any], where: str) -> None:
    """Raise: ConfigError for a setting of pin.toml that is of another type than it must be."""
    settings = dict(table)
    for kind in ("git", "directory", "distribution"):
        settings |= (
            {f"{kind}.{key}": value for key, value in table[kind].items()} if isinstance(table.get(kind), dict) else {}
        )
    for name, value in settings.items():
        wanted, called = _PIN_TYPES.get(name, (str, "a text") if "." in name else (object, ""))
        is_list = wanted is not list or (isinstance(value, list) and all(isinstance(each, str) for each in value))
        if not isinstance(value, wanted) or not is_list:
            raise ConfigError(f"{name} must be {called}", where=where, found=f"{name} = {value!r}"[:200])


def _read_source(table: Mapping[str, Any]) -> Source:
    if "git" in table:
        return GitSource(table["git"]["location"])
    if "directory" in table:
        return DirectorySource(table["directory"]["path"])
    return Distribution(table["distribution"]["filename"], table["distribution"]["sha256"])


def read_series_names(root: Path, name: str) -> list[str]:
    """Return the patch files of a pin in series order; "#" starts a comment, as in quilt."""
    path = pin_folder(root, name) / "series"
    try:
        lines = (line.split("#")[0].strip() for line in _read(path).decode().splitlines())
    except UnicodeDecodeError as exc:
        raise ConfigError("the series is no text", where=_shown(path, root), found=str(exc)) from exc
    names = [line for line in lines if line]
    for number, listed in enumerate(names, start=1):
        if names.count(listed) > 1:
            raise ConfigError(
                f"{listed} is listed twice in the series",
                where=f"{_shown(path, root)}:{number}",
                hint="delete one of the two lines",
            )
        if "/" in listed or not listed.endswith(".patch"):
            raise ConfigError(f"'{listed}' cannot stand in a series", where=f"{_shown(path, root)}:{number}")
        if not (path.parent / listed).is_file():
            raise ConfigError(
                f"{listed} is listed in the series but has no file",
                where=f"{_shown(path, root)}:{number}",
                hint="add the file or delete the line",
            )
    return names


def read_series(root: Path, name: str) -> Series:
    """Read a pin with all its topic patches, in series order."""
    folder = pin_folder(root, name)
    topics = tuple(
        TopicPatch(
            listed.removesuffix(".patch"), read_patch(_read(folder / listed), name=_shown(folder / listed, root))
        )
        for listed in read_series_names(root, name)
    )
    return Series(read_pin(root, name), topics)


def read_combined(root: Path, name: str) -> bytes:
    """Return the bytes of the generated sglang.patch."""
    return _read_generated(root, name, COMBINED)


def read_manifest(root: Path, name: str) -> Manifest:
    """Read the generated manifest.json of a pin."""
    where = _shown(pin_folder(root, name) / MANIFEST, root)
    return parse_manifest(_read_generated(root, name, MANIFEST), where=where)


def read_current_manifest(root: Path, name: str) -> Manifest:
    """Read the manifest; refuse one that was generated from other topic patches, or beside another sglang.patch.

    By hashes alone, so that it costs nothing where an image is built or tested; `verify` proves the rest.
    """
    manifest = read_manifest(root, name)
    folder = pin_folder(root, name)
    topics = {listed.removesuffix(".patch"): _sha256(folder / listed) for listed in read_series_names(root, name)}
    stale = [f"{topic}.patch" for topic in topics if topics[topic] != manifest.topics.get(topic)]
    stale += [f"{topic}.patch is gone" for topic in manifest.topics if topic not in topics]
    if not stale and list(topics) != list(manifest.topics):
        stale = ["the order of the series"]
    if _sha256(folder / COMBINED) != manifest.sha256:
        stale.append(COMBINED)
    if stale:
        raise ConfigError(
            f"the generated files of {folder.name} are not current",
            where=_shown(folder / MANIFEST, root),
            found=f"changed since: {', '.join(stale)}",
            hint=f"patchkit refresh {folder.name}",
        )
    return manifest


def read_topics(root: Path) -> dict[str, Topic]:
    """Return every topic of topics.toml by its name, in the file's order."""
    path = root / PATCHES / "topics.toml"
    topics = {}
    for name, table in _read_toml(path, root).items():
        if not isinstance(table, dict):
            raise ConfigError(f"topic {name} must be a table", where=_shown(path, root), hint=f"[{name}]")
        try:
            topics[name] = _topic(name, table)
        except (KeyError, TypeError, AttributeError) as exc:
            raise ConfigError(f"topic {name} lacks a setting", where=_shown(path, root), found=str(exc)) from exc
    return topics


def version_file(root: Path) -> Path:
    """Return the file that holds the nightly tag; one, never two that could disagree."""
    found = [root / name for name in VERSION_FILES if (root / name).is_file()]
    if len(found) != 1:
        raise ConfigError(
            "there are two files with the nightly tag" if found else "there is no file with the nightly tag",
            where=str(root),
            found=f"expected one of {' and '.join(VERSION_FILES)}",
            hint=f"keep one; declare the other in {PATCHES}/{SITES}"
            if found
            else "write the first tag into version.txt",
        )
    return found[0]


def read_version(root: Path) -> NightlyTag:
    """Read version.txt: one tag, with or without a line feed after it."""
    path = version_file(root)
    try:
        return NightlyTag.read(_read(path).decode("utf-8", "replace").removesuffix("\n").removesuffix("\r"))
    except ConfigError as exc:
        raise ConfigError(
            f"{path.name} is malformed: {exc.what}",
            where=_shown(path, root),
            found=exc.found,
            kept="nothing was changed",
            hint=f"write the last published tag into {_shown(path, root)} and bump again",
        ) from exc


def read_sites(root: Path) -> list[PinSite]:
    """Return the places besides version.txt that name the nightly tag or the latest pin: patches/sites.toml."""
    path = root / PATCHES / SITES
    if not path.is_file():
        return []
    where = _shown(path, root)
    try:
        sites = [PinSite(table["file"], table["text"]) for table in _read_toml(path, root).get("site", ())]
    except (KeyError, TypeError, AttributeError) as exc:
        raise ConfigError("a pin site lacks a setting", where=where, found=f"expected file and text; {exc}") from exc
    for site in sites:
        refuse_unusable(site, where=where)
        if not (root / site.file).is_file() or (root / site.file).is_symlink():
            raise ConfigError(f"a pin site has no file: {site.file}", where=where, kept="nothing was changed")
    return sites


def site_values(root: Path, sites: Sequence[PinSite], tag: NightlyTag) -> PinValues:
    """Return what these sites shall say when the tag is this one."""
    return PinValues(tag, latest_pin(root) if any(map(names_pin, sites)) else "")


def stale_sites(root: Path) -> list[PinSite]:
    """Return each declared pin site that does not say what version.txt and patches/latest say."""
    sites = read_sites(root)
    if not sites:
        return []
    values = site_values(root, sites, read_version(root))
    contents = [(root / site.file).read_bytes() for site in sites]
    return [
        site for site, content in zip(sites, contents, strict=True) if rewrite_site(content, site, values) != content
    ]


def replace_file(path: Path, content: bytes, *, spool_in: Path | None = None) -> None:
    """Write the file beside its place, flush it to the disk, and move it there: old or new, never half.

    spool_in: another folder of the same file system to write it in, one that is swept after a kill.
    """
    replace_files({path: content}, spool_in=spool_in)


def replace_files(contents: Mapping[Path, bytes], *, spool_in: Path | None = None) -> None:
    """Write all files beside their places, then move them there in order; when one fails, all are as before."""
    old = {path: path.read_bytes() if path.exists() else None for path in contents}
    spools: dict[Path, Path] = {}
    moved: list[Path] = []
    try:
        for path, content in contents.items():
            spools[path] = _write_spool(spool_in or path.parent, path, content)
        for path, spool in spools.items():
            os.replace(spool, path)
            moved.append(path)
    except BaseException:
        for path in moved:
            _put_back(path, old[path])
        raise
    finally:
        for spool in spools.values():
            spool.unlink(missing_ok=True)


def _write_spool(folder: Path, path: Path, content: bytes) -> Path:
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", delete=False) as spool:
        try:
            spool.write(content)
            spool.flush()
            os.fsync(spool.fileno())
            os.chmod(spool.name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        except BaseException:
            os.unlink(spool.name)
            raise
    return Path(spool.name)


def _put_back(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        os.replace(_write_spool(path.parent, path, content), path)


def pin_text(pin: Pin) -> bytes:
    """Return the text of a pin.toml."""
    note = "" if pin.commit else "  # not known: the source does not say; the tree id proves the pin all the same"
    images = ", ".join(json.dumps(image) for image in pin.base_images)
    return (
        f"version = {json.dumps(pin.version)}\n"
        f"commit = {json.dumps(pin.commit)}{note}\n"
        f"tree = {json.dumps(pin.tree)}  # of python/sglang in the source below, without compiled files\n"
        f"python = {json.dumps(pin.python)}\n"
        f"base_images = [{images}]\n"
        "\n"
        f"{_source_text(pin.source)}"
    ).encode()


def _source_text(source: Source) -> str:
    match source:
        case Distribution():
            filename, sha256 = json.dumps(source.filename), json.dumps(source.sha256)
            return f"[distribution]\nfilename = {filename}\nsha256 = {sha256}\n"
        case GitSource():
            return f"[git]\nlocation = {json.dumps(source.location)}\n"
        case DirectorySource():
            return f"[directory]\npath = {json.dumps(source.path)}\n"


def read_images(root: Path, name: str) -> list[dict[str, str]]:
    """Return the images of a pin that were pushed, newest first."""
    path = pin_folder(root, name) / IMAGES
    if not path.is_file():
        return []
    try:
        images: list[dict[str, str]] = json.loads(_read(path))["images"]
    except (ValueError, KeyError, TypeError) as exc:
        raise ConfigError("the record of pushed images is malformed", where=_shown(path, root), found=str(exc)) from exc
    return images


def record_image(root: Path, name: str, entry: Mapping[str, str]) -> None:
    """Put a pushed image first in the pin's images.json; the same digest is recorded once."""
    others = [image for image in read_images(root, name) if image.get("digest") != entry["digest"]]
    document = {"schema": "patchkit/images/1", "images": [dict(entry), *others]}
    replace_file(pin_folder(root, name) / IMAGES, json.dumps(document, indent=2).encode() + b"\n")


def write_new_pin(
    root: Path,
    name: str,
    files: Mapping[str, bytes],
    *,
    homes: Mapping[str, Path] | None = None,
    spool_in: Path | None = None,
) -> Path:
    """Write the folder of a new pin in one step; a pin that exists is refused.

    homes: topic patches that are in the project already, by file: the pin's folder gets a link to each. Without it,
    in a store that is in place, topic patches are written into the project's folder first.
    spool_in: as of replace_file.
    """
    folder = pin_folder(root, name)
    if folder.exists():
        raise ConfigError(f"pin {folder.name} exists already", where=_shown(folder, root))
    scratch = Path(tempfile.mkdtemp(dir=spool_in or root / PATCHES, prefix=f".{folder.name}."))
    written: list[Path] = []
    try:
        for file, content in files.items():
            home = (homes or {}).get(file) or (_home(root, folder.name, file) if homes is None else None)
            if home is None:
                (scratch / file).write_bytes(content)
                continue
            if not home.exists():
                home.parent.mkdir(parents=True, exist_ok=True)
                written.append(home)
                home.write_bytes(content)
            elif home.read_bytes() != content:
                raise ConfigError(f"{home.name} is there already, with other content", where=_shown(home, root))
            inplace.link(scratch / file, home, seen_from=folder)
        scratch.chmod(0o755)
        os.rename(scratch, folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        for home in written:
            home.unlink(missing_ok=True)
        raise
    return folder


def _home(root: Path, pin: str, file: str) -> Path | None:
    """Return where the project keeps a topic's patch, in a store that is in place; None for all other files."""
    if not file.endswith(".patch") or file in GENERATED or not inplace.read_layout(root / PATCHES):
        return None
    return inplace.home_of(root / PATCHES, pin, file)


def replace_pin_files(root: Path, name: str, files: Mapping[str, bytes | None]) -> list[str]:
    """Write those of a pin's files that differ, delete those that are None, and return which.

    What is needed by others is written first, and deleted last; where one fails, every former file comes back.
    """
    folder = pin_folder(root, name)
    former = {file: (folder / file).read_bytes() if (folder / file).is_file() else None for file in files}
    changed = [file for file in files if files[file] != former[file]]
    changed.sort(key=lambda file: (files[file] is None, file in GENERATED, file == "series"))
    done: list[str] = []
    try:
        for file in changed:
            done.append(file)
            _put(root, folder / file, files[file])
    except BaseException:
        for file in reversed(done):
            _put(root, folder / file, former[file])
        raise
    return changed


def _put(root: Path, path: Path, content: bytes | None) -> None:
    """Write or delete a pin's file; where it is a link into the project, the file there."""
    home = path.resolve() if path.is_symlink() else _home(root, path.parent.name, path.name)
    if content is None:
        for each in (path, home):
            if each is not None:
                each.unlink(missing_ok=True)
        return
    if home is None:
        replace_file(path, content)
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    replace_file(home, content)
    if not path.is_symlink():
        inplace.link(path, home)


def _topic(name: str, table: Mapping[str, Any]) -> Topic:
    return Topic(
        name=name,
        title=table["title"],
        fault=table["fault"],
        why=table["why"],
        upstream=tuple(table.get("upstream", ())),
        lifecycle=table.get("lifecycle", "carry"),
        until=table.get("until", ""),
        since=table.get("since", ""),
        fixed_in=table.get("fixed_in", ""),
        guards=tuple(table.get("guards", ())),
        smoke=tuple(table.get("smoke", ())),
        client=table.get("client", ""),
        environment=tuple(Variable(name=key, **value) for key, value in table.get("environment", {}).items()),
    )


def _read_generated(root: Path, name: str, file: str) -> bytes:
    path = pin_folder(root, name) / file
    if not path.is_file():
        raise ConfigError(
            f"{file} was not generated yet", where=_shown(path, root), hint=f"patchkit refresh v{bare(name)}"
        )
    return _read(path)


def _sha256(path: Path) -> str:
    return hashlib.sha256(_read(path)).hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"cannot read {path.name}", where=str(path), found=exc.strerror or str(exc)) from exc


def _read_toml(path: Path, root: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise ConfigError("not valid TOML", where=_shown(path, root), found=str(exc)) from exc


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root))
