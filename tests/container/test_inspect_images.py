"""inspect on real images: what is there counts, whatever the labels say."""

import json
from pathlib import Path

import pytest

from patchkit.engines.engine import BuildRequest
from patchkit.engines.podman import Podman
from patchkit.results.build import BuiltImage
from patchkit.results.inspect import Inspect
from patchkit.upstream.access import Access
from patchkit.verbs.build import BuildOptions, build_images
from patchkit.verbs.inspect import Documents, inspect_target
from tests.small_store import ABORT, PIN

pytestmark = pytest.mark.container
INSTALLED = f"/sgl-workspace/sglang/{ABORT}"


@pytest.fixture
def image(podman: Podman, root: Path, access: Access, small_base: str) -> BuiltImage:
    return build_images(root, [], access, engine="podman", options=BuildOptions(base=small_base)).images[0]


@pytest.fixture
def derived(podman: Podman, image: BuiltImage, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """An image on top of the built one, with one more step."""
    (tmp_path / "Dockerfile").write_text(f"ARG BASE_IMAGE\nFROM ${{BASE_IMAGE}}\n{request.param}\n")
    return podman.build(BuildRequest(image.image, tmp_path, "localhost/patchkit-test/inspected:1", timeout_s=120))


def look(root: Path, target: str, access: Access, documents: Documents | None = None) -> Inspect:
    return inspect_target(root, target, access, engine="podman", documents=documents)


def test_built_image_is_unmodified_and_labelled_as_it_is(
    image: BuiltImage, root: Path, access: Access, tmp_path: Path
) -> None:
    documents = Documents(tmp_path / "bom.json", tmp_path / "statement.json")
    result = look(root, image.tag, access, documents)
    assert (result.verdict, result.pin, result.problems, result.lies, result.exit_code) == (
        "unmodified", PIN, (), (), 0,
    )  # fmt: skip
    statement = json.loads((tmp_path / "statement.json").read_text())
    assert list(statement["subject"][0]["digest"]) == ["sha256"]
    assert statement["predicate"]["buildDefinition"]["resolvedDependencies"][-1]["name"] == image.base


def test_base_carries_no_series(image: BuiltImage, root: Path, access: Access) -> None:
    result = look(root, image.base, access)
    assert (result.verdict, result.pin, result.exit_code) == ("upstream", PIN, 2)


@pytest.mark.parametrize("derived", [f"RUN echo '# more' >> {INSTALLED}"], indirect=True)
def test_tampered_image_is_modified(derived: str, root: Path, access: Access) -> None:
    result = look(root, derived, access)
    assert (result.verdict, result.exit_code) == ("modified", 4)
    assert ABORT in [problem.path for problem in result.problems]


@pytest.mark.parametrize("derived", ["LABEL io.patchkit.pin=v9.9.9"], indirect=True)
def test_label_that_lies_is_told(derived: str, root: Path, access: Access) -> None:
    result = look(root, derived, access)
    assert [(lie.label, lie.says, lie.found) for lie in result.lies] == [("io.patchkit.pin", "v9.9.9", PIN)]
    assert (result.verdict, result.exit_code) == ("unmodified", 4)
