"""`bump`: the next nightly tag, written to version.txt and to every declared pin site in one step."""

from datetime import date
from pathlib import Path

from patchkit.errors import CommandError, ConfigError
from patchkit.pinsites import PinSite, rewrite_site
from patchkit.repository import find_repository, hold_lock
from patchkit.results import Bump
from patchkit.store import read_sites, read_version, replace_files, site_values, version_file
from patchkit.versions import NightlyTag, plan_bump


def bump_version(root: Path, today: date, *, published: Path | None = None, dry_run: bool = False) -> Bump:
    """Write the first tag of `today` after all that is published: version.txt, git tags, the given list.

    published: a file with one tag a line; "#" starts a comment, other image tags are passed over.
    Raises: ConfigError when a tag or a site is malformed or no tag is left; nothing is changed then.
    """
    with hold_lock(root, "bump"):
        previous = read_version(root)
        known = {str(previous), *_git_tags(root), *_listed(published)}
        tags = {tag for tag in map(_read_tag, known) if tag}
        tag = plan_bump(tags, today)
        files = _rewritten(root, tag)
        if not dry_run:
            _write(files)
    return Bump(
        previous=str(previous),
        tag=str(tag),
        published=len(tags),
        malformed=tuple(sorted(name for name in known if name.startswith("nightly-dev-") and not _read_tag(name))),
        files=tuple(str(path.relative_to(root)) for path in files),
        dry_run=dry_run,
    )


def _git_tags(root: Path) -> list[str]:
    repository = find_repository(root)
    return repository.tags("nightly-dev-*") if repository else []


def _listed(path: Path | None) -> list[str]:
    """Return the tags of a list; a tag's variant ("-cu129") and what stands before its colon are not part of it."""
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError("cannot read the list of published tags", where=str(path), found=str(exc)) from exc
    names = (line.split("#")[0].strip().rpartition(":")[2] for line in lines)
    return ["-".join(name.split("-")[:3]) for name in names if name.startswith("nightly-dev-")]


def _read_tag(name: str) -> NightlyTag | None:
    try:
        return NightlyTag.read(name)
    except ConfigError:
        return None


def _rewritten(root: Path, tag: NightlyTag) -> dict[Path, bytes]:
    """Return the new content of every file; version.txt last: after a kill between two, bump again ends the step."""
    sites = read_sites(root)
    values = site_values(root, sites, tag)
    files: dict[Path, bytes] = {}
    for site in sites:
        path = root / site.file
        files[path] = rewrite_site(files[path] if path in files else path.read_bytes(), site, values)
    main = version_file(root)
    declared = files.pop(main, main.read_bytes())
    return {**files, main: rewrite_site(declared, PinSite(str(main.relative_to(root)), "{tag}"), values)}


def _write(files: dict[Path, bytes]) -> None:
    try:
        replace_files(files)
    except OSError as exc:
        raise CommandError(
            "cannot write the nightly tag",
            where=str(exc.filename or ""),
            found=exc.strerror or str(exc),
            kept="version.txt and every pin site unchanged",
        ) from exc
