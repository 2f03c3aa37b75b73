"""manifest.json as text: what a series does to its pin, locked by hashes; read and written here alone."""

import json
from typing import Any

from patchkit.errors import ConfigError
from patchkit.model import CommitId, LockedFile, LockedHunk, Manifest, TreeId
from patchkit.patch.hunks import BlobId

SCHEMA = "patchkit/manifest/1"


def write_manifest(manifest: Manifest) -> bytes:
    """Return the manifest as JSON; the same manifest gives the same bytes."""
    document = {
        "schema": SCHEMA,
        "pin": {"version": manifest.version, "commit": manifest.commit, "tree": manifest.tree},
        "series": {
            "sha256": manifest.sha256,
            "topics": [{"name": name, "sha256": sha256} for name, sha256 in manifest.topics.items()],
        },
        "files": [_file_document(file) for file in manifest.files],
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def read_manifest(text: bytes, *, where: str) -> Manifest:
    """Read a manifest. where: its path, for messages."""
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise ConfigError(f"this manifest has schema {document['schema']}, not {SCHEMA}", where=where)
        return Manifest(
            version=document["pin"]["version"],
            commit=CommitId(document["pin"]["commit"]),
            tree=TreeId(document["pin"]["tree"]),
            sha256=document["series"]["sha256"],
            topics={topic["name"]: topic["sha256"] for topic in document["series"]["topics"]},
            files=tuple(_file(entry) for entry in document["files"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise ConfigError(
            "the manifest cannot be read", where=where, found=f"{type(exc).__name__}: {exc}", hint="patchkit refresh"
        ) from exc


def _file_document(file: LockedFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "mode": file.mode,
        "preimage": file.preimage,
        "postimage": file.postimage,
        "hunks": [
            {
                "number": hunk.number,
                "topics": list(hunk.topics),
                "scope": hunk.scope,
                "between": hunk.between,
                "old_start": hunk.old_start,
                "new_start": hunk.new_start,
            }
            for hunk in file.hunks
        ],
    }


def _file(entry: dict[str, Any]) -> LockedFile:
    return LockedFile(
        path=entry["path"],
        mode=entry["mode"],
        preimage=BlobId(entry["preimage"]) if entry["preimage"] else None,
        postimage=BlobId(entry["postimage"]) if entry["postimage"] else None,
        hunks=tuple(
            LockedHunk(
                number=hunk["number"],
                topics=tuple(hunk["topics"]),
                scope=hunk["scope"],
                old_start=hunk["old_start"],
                new_start=hunk["new_start"],
                between=hunk.get("between", ""),  # a manifest from before it was locked
            )
            for hunk in entry["hunks"]
        ),
    )
