"""`refresh`: take an open edit over into the series, and write what is generated from it."""

from collections.abc import Mapping
from pathlib import Path

from patchkit.bake import BAKE, shipped_bake_text
from patchkit.errors import ConfigError
from patchkit.results.refresh import Refresh
from patchkit.series.drafts import rebuild
from patchkit.series.editing import export_edit, series_digests, tell_changes
from patchkit.series.files import OpenSeries, canonical, open_series, plan_series, write_series
from patchkit.series.generated import generate
from patchkit.series.worktree import edit_folder, mark_start, open_edits
from patchkit.store import PATCHES, chosen_pin, pin_folder, read_series, replace_file, replace_pin_files
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_pin


def refresh_pin(
    root: Path,
    pin: str | None,
    access: Access,
    *,
    check: bool = False,
    canonical_text: bool = False,
    output: Path | None = None,
) -> Refresh:
    """Write the patches of a pin as its edit has them, then what is generated from them; only what differs.

    Without an edit, the patches stay as they are.

    check: write nothing into the store. canonical_text: write every patch anew, with full ids and present line
    numbers. output: where the files as they should be are written too, for whoever reads the result of a check.
    """
    name = chosen_pin(root, pin)
    folder = edit_folder(root, name)
    if name not in open_edits(root) and not canonical_text:
        return _refresh_generated(root, name, access, check=check, output=output)
    opened = open_series(root, name, access)
    drafts = opened.drafts
    is_edit = name in open_edits(root)
    if is_edit:
        drafts = export_edit(opened, folder).drafts
    if canonical_text:
        drafts = tuple(canonical(rebuild(drafts, opened.upstream, what=f"series {name}")))
    files = plan_series(opened, drafts)
    topics = tell_changes(opened, files, [draft.topic for draft in drafts])
    changed = _differing(opened, files)
    _write_output(output, name, files)
    if not check:
        write_series(opened, files)
        if is_edit:
            mark_start(folder, name, series_digests(open_series(root, name, access)))
    shown = (*(f"{PATCHES}/{name}/{file}" for file in changed), *_refresh_bake(root, check=check))
    return Refresh(name, shown, check, tuple(topics), str(folder) if is_edit else "")


def _refresh_generated(root: Path, name: str, access: Access, *, check: bool, output: Path | None) -> Refresh:
    series = read_series(root, name)
    files = generate(series, bring_pin(series.pin, access)).files()
    changed = [file for file, content in files.items() if _content(pin_folder(root, name) / file) != content]
    _write_output(output, name, files)
    if not check:
        replace_pin_files(root, name, {file: files[file] for file in changed})
    shown = (*(f"{PATCHES}/{name}/{file}" for file in changed), *_refresh_bake(root, check=check))
    return Refresh(pin=name, changed=shown, check=check)


def _refresh_bake(root: Path, *, check: bool) -> list[str]:
    """Write the bake file where it differs; it names every pin, the latest and their digests."""
    text = shipped_bake_text(root)
    if text is None or _content(root / BAKE) == text.encode():
        return []
    if not check:
        replace_file(root / BAKE, text.encode())
    return [BAKE]


def _differing(opened: OpenSeries, files: Mapping[str, bytes | None]) -> list[str]:
    folder = pin_folder(opened.root, opened.name)
    return [file for file, content in files.items() if _content(folder / file) != content]


def _write_output(output: Path | None, name: str, files: Mapping[str, bytes | None]) -> None:
    if output is None:
        return
    folder = output / PATCHES / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        if content is not None:
            (folder / file).write_bytes(content)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise ConfigError(f"cannot read {path.name}", where=str(path), found=exc.strerror or str(exc)) from exc
