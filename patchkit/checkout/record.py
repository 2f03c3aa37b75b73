"""What patchkit has written into a checkout, kept beside it, so that every byte can be put back.

All of it is one file, which a rename replaces: a line of JSON that says what was applied, then the contents that
`--reverse` needs, each after a line with its blob id and its size in bytes. A file for each would cost a tenth of
the whole command.
"""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from patchkit.errors import ConfigError
from patchkit.patch.hunks import BlobId
from patchkit.patch.patchtext import blob_id
from patchkit.rules.text import unsafe_path

SCHEMA = "patchkit.record/1"
RECORD = "record"


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
    """All layers of a checkout, the oldest first. saved: by blob id, what was there before them."""

    layers: tuple[Layer, ...] = ()
    saved: Mapping[str, bytes] = {}

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
            return self._replace(layers=(*self.layers, layer))
        return self._replace(layers=tuple(layer if old.label == layer.label else old for old in self.layers))

    def without(self, label: str) -> "Record":
        """Return the record without the layer of this label."""
        return self._replace(layers=tuple(layer for layer in self.layers if layer.label != label))

    def content(self, blob: str) -> bytes:
        """Return a content that was saved before it was replaced.

        Raises: ConfigError if it is gone, or no longer what it was.
        """
        content = self.saved.get(blob)
        if content is None or blob_id(content) != blob:
            raise ConfigError("a saved file is gone or damaged; it cannot be put back", found=f"blob {blob}")
        return content


def read_record(state: str) -> Record:
    """Return the record of a state folder; an empty one where there is none.

    Raises: ConfigError if it cannot be read.
    """
    name = f"{state}/{RECORD}"
    try:
        with open(name, "rb") as stream:
            document = json.loads(stream.readline())
            saved = {}
            while line := stream.readline():
                blob, size = line.split()
                saved[blob.decode()] = stream.read(int(size))
        layers = tuple(_layer(entry) for entry in document["layers"])
    except FileNotFoundError:
        return Record()
    except (ValueError, KeyError, TypeError) as exc:
        raise ConfigError("the record of what was applied here is damaged", where=name, found=str(exc)) from exc
    return Record(layers, saved)


def record_document(record: Record, contents: Iterable[tuple[BlobId, bytes]]) -> bytes | None:
    """Return what is to be written for the record; None: it is to be taken away.

    contents: by blob id, what may have to be saved, besides what is saved already.
    """
    if not record.layers:
        return None
    known: dict[str, bytes] = {**record.saved, **dict(contents)}
    sides = (before for layer in record.layers for before, _ in layer.files.values())
    needed = dict.fromkeys(before.blob for before in sides if before.blob)
    pieces = [_head(record)]
    for blob in needed:
        if blob in known:
            pieces += [b"%s %d\n" % (blob.encode(), len(known[blob])), known[blob]]
    return b"".join(pieces)


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


def _head(record: Record) -> bytes:
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
