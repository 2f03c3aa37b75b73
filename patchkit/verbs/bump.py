"""`bump`: the next nightly tag, written to version.txt and to every declared pin site in one step."""

from datetime import date
from pathlib import Path

from patchkit.errors import CommandError
from patchkit.pinsites import PinSite, rewrite_site
from patchkit.repository import PublishedElsewhere, hold_lock, published_tags
from patchkit.results.bump import Bump
from patchkit.store import read_sites, read_version, replace_files, site_values, version_file
from patchkit.versions import NightlyTag, plan_bump

_GIT_ALONE = PublishedElsewhere()


def bump_version(root: Path, today: date, *, published: PublishedElsewhere = _GIT_ALONE, dry_run: bool = False) -> Bump:
    """Write the first tag of `today` after all that is published: version.txt, git tags, the given list and registry.

    published: in a list, "#" starts a comment, and other image tags are passed over.
    Raises: ConfigError when a tag or a site is malformed or no tag is left; nothing is changed then.
    """
    with hold_lock(root, "bump"):
        previous = read_version(root)
        known = published_tags(root, published)
        tags = known.valid | {previous}
        tag = plan_bump(tags, today)
        files = _rewritten(root, tag)
        if not dry_run:
            _write(files)
    return Bump(
        previous=str(previous),
        tag=str(tag),
        published=len(tags),
        malformed=known.malformed,
        files=tuple(str(path.relative_to(root)) for path in files),
        dry_run=dry_run,
    )


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
