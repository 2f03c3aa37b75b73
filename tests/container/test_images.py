"""build, smoke and inimage.py in real images of a small upstream."""

import json
import shutil
from datetime import date
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from patchkit.engines.containers import ContainerEngine
from patchkit.engines.engine import BuildRequest, RunRequest
from patchkit.engines.podman import Podman
from patchkit.errors import CommandError, ConfigError, VerifyError
from patchkit.process import run
from patchkit.registry import registry_tags
from patchkit.repository import PublishedElsewhere
from patchkit.results.build import BuiltImage
from patchkit.upstream.access import Access
from patchkit.verbs.build import BuildOptions, build_images
from patchkit.verbs.bump import bump_version
from patchkit.verbs.refresh import refresh_pin
from patchkit.verbs.smoke import run_smoke
from tests.small_store import ABORT, PIN

pytestmark = pytest.mark.container
INSTALLED = f"/sgl-workspace/sglang/{ABORT}"
VERIFY = ("python3", "/opt/patchkit/inimage.py", "verify")


@pytest.fixture
def image(engine: ContainerEngine, root: Path, access: Access, engine_base: str) -> BuiltImage:
    return build_images(root, [], access, engine=engine.name, options=BuildOptions(base=engine_base)).images[0]


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A store to write to."""
    shutil.copytree(root, tmp_path / "root")
    return tmp_path / "root"


def derive(podman: Podman, image: str, folder: Path, *steps: str) -> str:
    (folder / "Dockerfile").write_text("\n".join(["ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", *steps, ""]))
    return podman.build(BuildRequest(image, folder, "localhost/patchkit-test/derived:1", timeout_s=120))


def test_an_image_answers_for_itself(engine: ContainerEngine, image: BuiltImage, root: Path) -> None:
    facts = engine.inspect(image.image)
    assert facts is not None
    manifest = (root / "patches" / PIN / "manifest.json").read_bytes()
    expected = {
        "io.patchkit.pin": PIN,
        "io.patchkit.topics": "abort-guards,timeouts",
        "io.patchkit.series.sha256": json.loads(manifest)["series"]["sha256"],
        "org.opencontainers.image.version": "nightly-dev-20260101a",
        "org.opencontainers.image.base.name": image.base,
        "org.opencontainers.image.base.digest": image.base_id,
    }
    assert {key: facts.labels.get(key) for key in expected} == expected
    assert engine.run(RunRequest(image.image, VERIFY, timeout_s=60)).status == 0
    record = engine.run(RunRequest(image.image, ("cat", "/etc/patchkit/manifest.json"), timeout_s=60))
    assert record.stdout == manifest


def test_smoke_control(engine: ContainerEngine, image: BuiltImage, root: Path, access: Access) -> None:
    result = run_smoke(root, None, access, engine=engine.name, control=True)
    assert [(test.without, test.with_series) for test in result.tests] == [
        ("fault", "ok"),
        ("ok", "ok"),
        ("fault", "ok"),
    ]
    assert result.image == image.image


def test_one_changed_byte_is_found(podman: Podman, root: Path, access: Access, small_base: str, tmp_path: Path) -> None:
    image = build_images(root, [], access, engine="podman", options=BuildOptions(base=small_base)).images[0].image
    changed = derive(podman, image, tmp_path, f"RUN sed -i s/gone/gonE/ {INSTALLED}")
    ran = podman.run(RunRequest(changed, VERIFY, timeout_s=60))
    assert ran.status == 4
    assert INSTALLED in ran.stderr.decode()
    with pytest.raises(VerifyError):
        run_smoke(root, None, access, engine="podman", image=changed)


def test_stale_byte_code_is_found(podman: Podman, root: Path, access: Access, small_base: str, tmp_path: Path) -> None:
    image = build_images(root, [], access, engine="podman", options=BuildOptions(base=small_base)).images[0].image
    old = (
        f"import py_compile; p = '{INSTALLED}'; t = open(p).read(); open(p, 'w').write(t.replace('gone', 'done')); "
        "py_compile.compile(p, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH); open(p, 'w').write(t)"
    )
    changed = derive(podman, image, tmp_path, f'RUN python3 -c "{old}"')
    ran = podman.run(RunRequest(changed, VERIFY, timeout_s=60))
    assert ran.status == 4
    assert "stale byte code" in ran.stderr.decode()


def test_a_base_of_another_release_is_refused_before_a_layer_is_written(
    podman: Podman, root: Path, access: Access, small_base: str, tmp_path: Path
) -> None:
    version = "/sgl-workspace/sglang/python/sglang/version.py"
    steps = f"RUN sed -i s/0.5.12.post1/0.5.13/ {version} && echo >> {INSTALLED}"
    other = derive(podman, small_base, tmp_path, steps)
    tag = "localhost/patchkit-test/wrong:1"
    with pytest.raises(ConfigError) as caught:
        build_images(root, [], access, engine="podman", options=BuildOptions(base=other, tag=tag))
    assert "is not v0.5.12.post1" in caught.value.what
    assert "v0.5.13" in caught.value.what
    assert podman.inspect(tag) is None


def test_a_base_with_the_series_is_refused(podman: Podman, root: Path, access: Access, small_base: str) -> None:
    image = build_images(root, [], access, engine="podman", options=BuildOptions(base=small_base)).images[0].image
    with pytest.raises(ConfigError, match="carries this series already"):
        build_images(
            root, [], access, engine="podman", options=BuildOptions(base=image, tag="localhost/patchkit-test/twice:1")
        )


def test_two_builds_are_one_image(
    podman: Podman, root: Path, access: Access, small_base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    options = BuildOptions(base=small_base, use_cache=False)
    first = build_images(root, [], access, engine="podman", options=options).images[0]
    second = build_images(root, [], access, engine="podman", options=options).images[0]
    assert first.image == second.image
    facts = podman.inspect(first.image)
    assert facts is not None
    assert facts.labels["org.opencontainers.image.created"] == "2026-01-01T00:00:00Z"


def test_a_pushed_image_has_a_digest(
    podman: Podman, root: Path, access: Access, small_base: str, tmp_path: Path
) -> None:
    image = build_images(root, [], access, engine="podman", options=BuildOptions(base=small_base)).images[0]
    digest = podman.push(image.image, f"oci:{tmp_path}/image:1", timeout_s=120)
    assert digest in (tmp_path / "image" / "index.json").read_text()


@pytest.mark.parametrize("engine", ["podman", "dockerd"], indirect=True)
def test_a_pushed_image_is_recorded_by_the_digest_that_the_registry_has(
    engine: ContainerEngine, copy: Path, access: Access, engine_base: str, registry: str
) -> None:
    repository = f"{registry}/{engine.name}/sglang"
    assert registry_tags(repository) == []
    options = BuildOptions(base=engine_base, tag=f"{repository}:nightly-dev-20260101a", push=True)
    pushed = build_images(copy, [], access, engine=engine.name, options=options).images[0].pushed
    assert registry_digest(repository, "nightly-dev-20260101a") == pushed
    images = json.loads((copy / "patches" / PIN / "images.json").read_text())["images"]
    assert [(image["reference"], image["digest"]) for image in images] == [(options.tag, pushed)]
    assert registry_tags(repository) == ["nightly-dev-20260101a"]
    told = bump_version(copy, date(2026, 1, 1), published=PublishedElsewhere(registry=repository), dry_run=True)
    assert told.tag == "nightly-dev-20260101b"
    engine.remove(options.tag)


def test_a_push_that_is_refused_records_nothing(podman: Podman, copy: Path, access: Access, small_base: str) -> None:
    options = BuildOptions(base=small_base, tag="127.0.0.1:1/patchkit-test/sglang:x", push=True)
    with pytest.raises(CommandError, match="push") as caught:
        build_images(copy, [], access, engine="podman", options=options)
    assert caught.value.exit_code == 6
    assert not (copy / "patches" / PIN / "images.json").exists()
    podman.remove(options.tag)


def registry_digest(repository: str, tag: str) -> str:
    """What a registry says a tag's digest is: of the manifest, whichever kind it has."""
    host, _, name = repository.partition("/")
    kinds = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
    asked = Request(f"http://{host}/v2/{name}/manifests/{tag}", headers={"Accept": kinds})
    with urlopen(asked, timeout=20) as answer:
        return str(answer.headers["Docker-Content-Digest"])


@pytest.fixture(params=["", "1767225600"], ids=["no date", "SOURCE_DATE_EPOCH"])
def source_date(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", request.param)


@pytest.mark.usefixtures("source_date")
def test_an_edit_of_the_series_rebuilds_the_patch_layer_alone(
    podman: Podman, root: Path, access: Access, small_base: str, tmp_path: Path
) -> None:
    copy = tmp_path / "root"
    shutil.copytree(root, copy)
    options = BuildOptions(base=small_base, tag="localhost/patchkit-test/edit:1")

    def layers() -> list[str]:
        image = build_images(copy, [], access, engine="podman", options=options).images[0].image
        asked = run(["podman", "image", "inspect", image], cwd=tmp_path, timeout_s=60, env=podman.environment)
        found: list[str] = json.loads(asked.stdout)[0]["RootFS"]["Layers"]
        return found

    first = layers()
    assert layers() == first
    patch = copy / "patches" / PIN / "timeouts.patch"
    patch.write_text(patch.read_text().replace("600", "500"))
    refresh_pin(copy, PIN, access)
    edited = layers()
    base = run(["podman", "image", "inspect", small_base], cwd=tmp_path, timeout_s=60, env=podman.environment)
    below = json.loads(base.stdout)[0]["RootFS"]["Layers"]
    assert edited[: len(below)] == first[: len(below)] == below
    assert edited[len(below)] != first[len(below)]
