"""inspect tells what an image or a directory carries by its files; labels and records are held against that."""

import hashlib
import json
import os
import py_compile
import shutil
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from patchkit import inimage
from patchkit.engines.engine import BuildRequest, ImageFacts, Ran, RunRequest
from patchkit.errors import ConfigError
from patchkit.manifest import write_manifest
from patchkit.model import CommitId, LockedFile, Manifest, TreeId
from patchkit.patch.hunks import BlobId
from patchkit.process import run
from patchkit.results.inspect import Inspect
from patchkit.upstream.access import Access
from patchkit.upstream.objects import File, ObjectStore
from patchkit.verbs import inspect
from patchkit.verbs.inspect import Documents, inspect_target

SHA = "a" * 64
PACKAGE = {
    "__init__.py": b"",
    "srt/__init__.py": b"",
    "srt/abort.py": b"def abort(req):\n    req.done = True\n",
    "srt/other.py": b"x = 1\n",
}
PATCHED = b"def abort(req):\n    req.late = True\n"
PATCH = b"""Description: abort late
diff --git a/python/sglang/srt/abort.py b/python/sglang/srt/abort.py
--- a/python/sglang/srt/abort.py
+++ b/python/sglang/srt/abort.py
@@ -1,2 +1,2 @@
 def abort(req):
-    req.done = True
+    req.late = True
"""
TOPICS = """
[abort]
title = "abort late"
fault = "It is early."
why = "So."
upstream = ["sgl-project/sglang#25561"]
"""


def blob(content: bytes) -> BlobId:
    return BlobId(inimage.blob_id(content))


class World:
    """A store with one pin, its upstream in the cache, and an installed tree that carries the series."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store"
        self.cache = folder / "cache"
        self.tree = folder / "image"
        self.access = Access(self.cache, offline=True)
        kept = ((f"python/sglang/{path}", File(content)) for path, content in PACKAGE.items())
        objects = ObjectStore.open(self.cache / "objects.git")
        objects.keep(f"refs/patchkit/index/0.5.16/{SHA}", kept, note="sglang-0.5.16-py3-none-any.whl")
        tree = objects.tree_at(f"refs/patchkit/index/0.5.16/{SHA}", "python/sglang")
        assert tree is not None
        path = "python/sglang/srt/abort.py"
        touched = LockedFile(path, "100644", blob(PACKAGE["srt/abort.py"]), blob(PATCHED), ())
        series = hashlib.sha256(PATCH).hexdigest()
        self.manifest = Manifest("0.5.16", CommitId("b" * 40), TreeId(tree), series, {"abort": series}, (touched,))
        pin = f'version = "0.5.16"\ncommit = "{"b" * 40}"\ntree = "{tree}"\n'
        pin += f'[distribution]\nfilename = "sglang-0.5.16-py3-none-any.whl"\nsha256 = "{SHA}"\n'
        for name, content in {
            "topics.toml": TOPICS.encode(),
            "v0.5.16/pin.toml": pin.encode(),
            "v0.5.16/series": b"abort.patch\n",
            "v0.5.16/abort.patch": PATCH,
            "v0.5.16/manifest.json": write_manifest(self.manifest),
        }.items():
            write(self.store / "patches" / name, content)
        for name, content in PACKAGE.items():
            write(self.tree / "python/sglang" / name, content)
        write(self.file("srt/abort.py"), PATCHED)
        write(self.tree / "etc/patchkit/manifest.json", write_manifest(self.manifest))

    def file(self, path: str) -> Path:
        return self.tree / "python/sglang" / path

    def labels(self) -> dict[str, str]:
        return {
            "io.patchkit.pin": "v0.5.16",
            "io.patchkit.series.sha256": self.manifest.sha256,
            "io.patchkit.topics": "abort",
            "org.opencontainers.image.base.name": "base:1",
            "org.opencontainers.image.base.digest": "sha256:" + "e" * 64,
            "org.opencontainers.image.version": "nightly-dev-20260810a",
            "org.opencontainers.image.created": "2026-08-10T01:02:03Z",
            "org.opencontainers.image.revision": "c" * 40,
        }

    def directory(self, **documents: Path) -> Inspect:
        return inspect_target(self.store, str(self.tree), self.access, documents=Documents(**documents))


class FakeEngine:
    """An engine whose image is a folder, and whose base is known by name."""

    name = "podman"

    def __init__(self, world: World, labels: Mapping[str, str]) -> None:
        self.world = world
        self.labels = labels

    def inspect(self, image: str) -> ImageFacts | None:
        facts = {
            "image:1": ImageFacts("sha256:" + "d" * 64, "", self.labels, ""),
            "base:1": ImageFacts("sha256:" + "e" * 64, "", {}, ""),
        }
        return facts.get(image)

    def run(self, request: RunRequest) -> Ran:
        places = {mount.inside: str(mount.host) for mount in request.mounts}
        places["/etc/patchkit"] = str(self.world.tree / "etc/patchkit")
        command = list(request.command)
        for inside, host in places.items():
            command = [word.replace(inside, host, 1) if word.startswith(inside) else word for word in command]
        command[0] = sys.executable if command[0] == "python3" else command[0]
        env = {"PYTHONPATH": str(self.world.tree / "python")}
        done = run(command, cwd=self.world.tree, timeout_s=60, env=env, allowed=range(256))
        return Ran(done.status, done.stdout, done.stderr, done.seconds)

    def prove(self) -> str:
        raise NotImplementedError

    def build(self, request: BuildRequest) -> str:
        raise NotImplementedError

    def remove(self, image: str) -> None:
        raise NotImplementedError


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def look(
    world: World, monkeypatch: pytest.MonkeyPatch, labels: Mapping[str, str], documents: Documents | None = None
) -> Inspect:
    """Inspect the tree as an image with these labels."""
    engine = FakeEngine(world, labels)
    monkeypatch.setattr(inspect, "choose_engine", lambda *_: engine)
    return inspect_target(world.store, "image:1", world.access, documents=documents)


def test_directory_with_the_series_is_unmodified(world: World) -> None:
    result = world.directory()
    assert (result.verdict, result.pin, result.topics, result.exit_code) == ("unmodified", "v0.5.16", ("abort",), 0)
    assert (result.touched, result.compared, result.in_store) == (1, 3, True)


def test_upstream_without_the_series_is_told(world: World) -> None:
    write(world.file("srt/abort.py"), PACKAGE["srt/abort.py"])
    result = world.directory()
    assert (result.verdict, result.pin, result.series, result.exit_code) == ("upstream", "v0.5.16", "", 2)


@pytest.mark.parametrize(
    ("path", "content", "problem"),
    [
        pytest.param("srt/other.py", b"x = 2\n", "upstream has", id="a file beside the series"),
        pytest.param("srt/more.py", b"", "is not in upstream", id="a file that upstream has not"),
    ],
)
def test_file_beside_the_series_that_differs_is_named(world: World, path: str, content: bytes, problem: str) -> None:
    write(world.file(path), content)
    result = world.directory()
    assert (result.verdict, result.exit_code) == ("modified", 4)
    assert [found.path for found in result.problems] == [f"python/sglang/{path}"]
    assert problem in result.problems[0].problem


def test_tampered_image_is_told_though_its_record_and_labels_fit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tampered = PATCHED.replace(b"True", b"None")
    write(world.file("srt/abort.py"), tampered)
    touched = LockedFile("python/sglang/srt/abort.py", "100644", None, blob(tampered), ())
    forged = Manifest("0.5.16", CommitId(""), TreeId(""), world.manifest.sha256, world.manifest.topics, (touched,))
    write(world.tree / "etc/patchkit/manifest.json", write_manifest(forged))
    result = look(world, monkeypatch, world.labels())
    assert result.exit_code == 4
    assert result.verdict == "modified"
    assert any(found.path == "python/sglang/srt/abort.py" for found in result.problems), result.problems


def test_stale_bytecode_is_told(world: World) -> None:
    source = world.file("srt/abort.py")
    write(source, PACKAGE["srt/abort.py"])
    os.utime(source, (1_700_000_000, 1_700_000_000))
    py_compile.compile(str(source), doraise=True)
    write(source, PATCHED)  # same size, same time: Python would run the code from before
    os.utime(source, (1_700_000_000, 1_700_000_000))
    result = world.directory()
    assert (result.verdict, result.exit_code) == ("modified", 4)
    assert "stale byte code" in result.problems[0].problem


def test_image_is_labelled_as_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    result = look(world, monkeypatch, world.labels())
    assert (result.verdict, result.lies, result.exit_code) == ("unmodified", (), 0)


@pytest.mark.parametrize(
    ("label", "says", "found"),
    [
        pytest.param("io.patchkit.pin", "v0.5.17", "v0.5.16", id="another pin"),
        pytest.param("io.patchkit.topics", "abort,timeouts", "abort", id="a topic that is not in"),
        pytest.param("io.patchkit.series.sha256", "0" * 64, None, id="another revision"),
        pytest.param("org.opencontainers.image.base.digest", "sha256:" + "f" * 64, "sha256:" + "e" * 64, id="base"),
    ],
)
def test_label_that_lies_is_told_and_reality_wins(
    world: World, monkeypatch: pytest.MonkeyPatch, label: str, says: str, found: str | None
) -> None:
    result = look(world, monkeypatch, {**world.labels(), label: says})
    assert [(lie.label, lie.says, lie.found) for lie in result.lies] == [
        (label, says, world.manifest.sha256 if found is None else found)
    ]
    assert (result.pin, result.exit_code) == ("v0.5.16", 4)


def test_image_that_claims_a_series_and_has_none_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    write(world.file("srt/abort.py"), PACKAGE["srt/abort.py"])
    result = look(world, monkeypatch, world.labels())
    assert result.verdict == "upstream"
    assert [(lie.label, lie.found) for lie in result.lies] == [("io.patchkit.pin", "no series")]


def test_series_of_another_store_is_known_by_the_record_alone(world: World) -> None:
    shutil.rmtree(world.store / "patches/v0.5.16")
    result = world.directory()
    assert (result.verdict, result.in_store, result.exit_code) == ("foreign", False, 4)
    assert result.notes == (
        "no pin v0.5.16 here: only the files of the series were compared",
        "only its own record vouches for it",
    )


def test_series_that_was_edited_since_is_not_the_stores(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    older = PATCHED.replace(b"late", b"soon")
    write(world.file("srt/abort.py"), older)
    touched = LockedFile("python/sglang/srt/abort.py", "100644", blob(PACKAGE["srt/abort.py"]), blob(older), ())
    record = Manifest("0.5.16", CommitId(""), TreeId(""), "9" * 64, {"abort": "8" * 64}, (touched,))
    write(world.tree / "etc/patchkit/manifest.json", write_manifest(record))
    result = look(world, monkeypatch, {**world.labels(), "io.patchkit.series.sha256": "9" * 64})
    assert (result.verdict, result.series, result.lies, result.exit_code) == ("foreign", "9" * 64, (), 4)


def test_without_a_store_the_record_counts(world: World) -> None:
    result = inspect_target(None, str(world.tree), world.access)
    assert (result.verdict, result.in_store, result.exit_code) == ("unmodified", False, 0)


def test_what_no_pin_knows_is_unknown(world: World) -> None:
    shutil.rmtree(world.store / "patches/v0.5.16")
    shutil.rmtree(world.tree / "etc")
    result = world.directory()
    assert (result.verdict, result.pin, result.exit_code) == ("unknown", "v0.5.16, 3 of 4 files", 2)


def test_target_that_is_neither_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect, "choose_engine", lambda *_: FakeEngine(world, {}))
    with pytest.raises(ConfigError, match="neither an image nor a directory"):
        inspect_target(world.store, "no/such:image", world.access)


# -- documents --------------------------------------------------------------------------------------------


def written(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    files = Documents(tmp_path / "bom.json", tmp_path / "statement.json")
    assert look(world, monkeypatch, world.labels(), files).exit_code == 0
    return tuple(json.loads((tmp_path / name).read_text()) for name in ("bom.json", "statement.json"))


def cyclonedx_errors(document: dict[str, Any]) -> list[str]:
    """Return what CycloneDX's own 1.6 schema has against the document."""
    import cyclonedx.schema._res
    import jsonschema
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    folder = Path(next(iter(cyclonedx.schema._res.__path__)))
    others = ("spdx", "jsf-0.82")
    known: list[tuple[str, Any]] = [
        (
            f"http://cyclonedx.org/schema/{name}{snapshot}.schema.json",
            Resource.from_contents(json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text()), DRAFT7),
        )
        for name in others
        for snapshot in ("", ".SNAPSHOT")
    ]
    schema = json.loads((folder / "bom-1.6.SNAPSHOT.schema.json").read_text())
    registry: Any = Registry().with_resources(known)
    validator = jsonschema.Draft7Validator(schema, registry=registry, format_checker=jsonschema.FormatChecker())
    return [error.message for error in validator.iter_errors(document)]


def test_cyclonedx_document_is_valid_and_has_the_pedigree(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bom, _ = written(world, monkeypatch, tmp_path)
    assert cyclonedx_errors(bom) == []
    assert cyclonedx_errors({**bom, "specVersion": 1.6}), "the schema must be able to refuse"
    pedigree = bom["components"][0]["pedigree"]
    assert pedigree["ancestors"][0]["purl"] == "pkg:pypi/sglang@0.5.16?file_name=sglang-0.5.16-py3-none-any.whl"
    assert pedigree["ancestors"][0]["hashes"] == [{"alg": "SHA-256", "content": SHA}]
    patch = pedigree["patches"][0]
    assert patch["diff"]["url"] == "patches/v0.5.16/abort.patch"
    assert patch["resolves"][0]["id"] == "sgl-project/sglang#25561"


def test_statement_is_valid_in_toto_and_slsa(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, statement = written(world, monkeypatch, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from google.protobuf import json_format
        from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
        from in_toto_attestation.v1 import statement_pb2
    json_format.ParseDict(statement, statement_pb2.Statement())
    json_format.ParseDict(statement["predicate"], provenance_pb2.Provenance())
    assert statement["subject"] == [{"name": "image:1", "digest": {"sha256": "d" * 64}}]
    materials = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    digests = [value for material in materials for value in material["digest"].values()]
    assert digests == [SHA, world.manifest.tree, "b" * 40, world.manifest.sha256, "e" * 64]


def test_documents_are_the_same_every_time(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = written(world, monkeypatch, tmp_path)
    assert written(world, monkeypatch, tmp_path) == first


def test_no_document_is_written_for_a_modified_image(world: World, tmp_path: Path) -> None:
    write(world.file("srt/other.py"), b"x = 2\n")
    result = world.directory(cyclonedx=tmp_path / "bom.json")
    assert not (tmp_path / "bom.json").exists()
    assert result.notes[-1].startswith("no document was written: ")
