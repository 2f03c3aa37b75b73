"""What patchkit has written into a checkout, kept beside it, so that every byte can be put back."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from patchkit.errors import ConfigError
from patchkit.hunks import BlobId
from patchkit.journal import SAVED
from patchkit.patchtext import blob_id
from patchkit.rules.text import unsafe_path

SCHEMA = "patchkit.record/1"
RECORD = "record.json"


class Side(NamedTuple):
    """A file on one side of a change. blob: empty where there is no file. mode: permission bits."""

    blob: str
    mode: int


class Layer(NamedTuple):
    """One series, or one patch file, that was applied.

    label: the pin's or the patch file's name. revision: sha256 of all its patches, in order.
    topics: those that are in. files: by path, before and after.
    """

    label: str
    revision: str
    topics: tuple[str, ...]
    files: Mapping[str, tuple[Side, Side]]


class Record(NamedTuple):
    """All layers of a checkout, the oldest first."""

    layers: tuple[Layer, ...] = ()

    def layer(self, label: str) -> Layer | None:
        """Return the layer of this label."""
        return next((layer for layer in self.layers if layer.label == label), None)

    def of(self, label: str, revision: str) -> Layer | None:
        """Return the layer of this very revision, whatever its label, else the one of this label."""
        same = (layer for layer in self.layers if layer.revision == revision)
        return next(same, self.layer(label))

    def above(self, label: str) -> tuple[Layer, ...]:
        """Return the layers that were applied after this one."""
        labels = [layer.label for layer in self.layers]
        return self.layers[labels.index(label) + 1 :] if label in labels else ()

    def with_layer(self, layer: Layer) -> "Record":
        """Return the record with this layer in place of the one of the same label, else on top."""
        if self.layer(layer.label) is None:
            return Record((*self.layers, layer))
        return Record(tuple(layer if old.label == layer.label else old for old in self.layers))

    def without(self, label: str) -> "Record":
        """Return the record without the layer of this label."""
        return self._replace(layers=tuple(layer for layer in self.layers if layer.label != label))

    @property
    def needed(self) -> frozenset[str]:
        """The blobs that must be kept to put everything back."""
        sides = (before for layer in self.layers for before, _ in layer.files.values())
        return frozenset(before.blob for before in sides if before.blob)


def read_record(state: str) -> Record:
    """Return the record of a state folder; an empty one where there is none.

    Raises: ConfigError if it cannot be read.
    """
    name = f"{state}/{RECORD}"
    try:
        with open(name, "rb") as stream:
            document = json.load(stream)
        layers = tuple(_layer(entry) for entry in document["layers"])
    except FileNotFoundError:
        return Record()
    except (ValueError, KeyError, TypeError) as exc:
        raise ConfigError("the record of what was applied here is damaged", where=name, found=str(exc)) from exc
    return Record(layers)


def read_saved(state: str, blob: str) -> bytes:
    """Return a content that was saved before it was replaced.

    Raises: ConfigError if it is gone, or no longer what it was.
    """
    name = f"{state}/{SAVED}/{blob}"
    try:
        with open(name, "rb") as stream:
            content = stream.read()
    except FileNotFoundError as exc:
        raise ConfigError("a saved file is gone; it cannot be put back", where=name) from exc
    if blob_id(content) != blob:
        raise ConfigError("a saved file is damaged; it cannot be put back", where=name)
    return content


def record_documents(state: str, record: Record, contents: Iterable[tuple[BlobId, bytes]]) -> dict[str, bytes | None]:
    """Return what is to be written in the state folder (name to content), and taken away (None), for the record.

    contents: what may have to be saved; those that the record does not need, or that are saved, are left out.
    """
    try:
        saved = set(os.listdir(f"{state}/{SAVED}"))
    except FileNotFoundError:
        saved = set()
    needed = record.needed
    documents: dict[str, bytes | None] = {
        f"{SAVED}/{blob}": content for blob, content in contents if blob in needed and blob not in saved
    }
    documents[RECORD] = _document(record) if record.layers else None
    return documents | {f"{SAVED}/{name}": None for name in sorted(saved - needed)}


def _layer(entry: dict[str, object]) -> Layer:
    files = entry["files"]
    assert isinstance(files, dict)
    if any(unsafe_path(path) for path in files):
        raise ValueError("a path leads out of the checkout")
    return Layer(
        label=str(entry["label"]),
        revision=str(entry["revision"]),
        topics=tuple(entry["topics"]),  # type: ignore[arg-type]
        files={path: (Side(*before), Side(*after)) for path, (before, after) in files.items()},
    )


def _document(record: Record) -> bytes:
    layers = [
        {
            "label": layer.label,
            "revision": layer.revision,
            "topics": list(layer.topics),
            "files": {
                path: [[before.blob, before.mode], [after.blob, after.mode]]
                for path, (before, after) in layer.files.items()
            },
        }
        for layer in record.layers
    ]
    return json.dumps({"schema": SCHEMA, "layers": layers}).encode() + b"\n"
