"""The work split into cells, as documents that the engines' own schemas take."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from patchkit.bake import shipped_bake_text
from patchkit.errors import ConfigError
from patchkit.matrix import GITHUB_MOST, Shop, bake_file, github_workflow, gitlab_pipeline, plan_cells
from patchkit.model import CommitId, Distribution, Manifest, Pin, TreeId

ROOT = Path(__file__).parent.parent.parent


def pin(version: str, *suffixes: str) -> Pin:
    images = tuple(f"lmsysorg/sglang:v{version}{suffix}" for suffix in suffixes)
    return Pin(version, CommitId("c" * 40), TreeId("e" * 40), Distribution("x.whl", "0" * 64), base_images=images)


PINS = [pin("0.5.12", "", "-cu130"), pin("0.5.12.post1", "", "-cu129", "-rocm720-mi30x")]
SHOP = Shop("pip install patchkit")


def manifests() -> dict[str, tuple[Pin, Manifest]]:
    return {p.name: (p, Manifest(p.version, p.commit, p.tree, "a" * 64, {"timeouts": "b" * 64}, ())) for p in PINS}


def schema_errors(name: str, document: Any) -> list[str]:
    """Return what a schema that check-jsonschema ships has against the document."""
    import check_jsonschema
    import jsonschema

    folder = Path(next(iter(check_jsonschema.__path__))) / "builtin_schemas" / "vendor"
    schema = json.loads((folder / f"{name}.json").read_text())
    return [error.message for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(document)]


def test_every_base_image_is_a_cell() -> None:
    assert [(cell.pin, cell.variant) for cell in plan_cells(PINS)] == [
        ("v0.5.12", "default"), ("v0.5.12", "cu130"),
        ("v0.5.12.post1", "default"), ("v0.5.12.post1", "cu129"), ("v0.5.12.post1", "rocm720-mi30x"),
    ]  # fmt: skip


def test_cells_have_names_of_their_own() -> None:
    cells = plan_cells(PINS, platforms=("linux/amd64", "linux/arm64"))
    assert len({cell.name for cell in cells}) == len(cells) == 10


def test_variants_choose() -> None:
    cells = plan_cells(PINS, variants=["cpu", "cu129"])
    assert [(cell.pin, cell.base) for cell in cells] == [
        ("v0.5.12", "cpu"), ("v0.5.12.post1", "lmsysorg/sglang:v0.5.12.post1-cu129"), ("v0.5.12.post1", "cpu"),
    ]  # fmt: skip


def test_pin_without_base_images_has_the_cpu_stand_in() -> None:
    assert [cell.base for cell in plan_cells([pin("0.5.99")])] == ["cpu"]


def test_unknown_variant_is_refused() -> None:
    with pytest.raises(ConfigError, match="no pin has a variant cu999"):
        plan_cells(PINS, variants=["cu999"])


def test_github_workflow_is_valid() -> None:
    document = github_workflow(plan_cells(PINS, platforms=("linux/amd64", "linux/arm64")), SHOP)
    assert schema_errors("github-workflows", document) == []
    assert schema_errors("github-workflows", {**document, "jobs": {"image": {}}}), "the schema must be able to refuse"
    runners = {cell["runner"] for cell in document["jobs"]["image"]["strategy"]["matrix"]["include"]}
    assert runners == {"ubuntu-24.04", "ubuntu-24.04-arm"}


def test_more_cells_than_github_takes_are_refused() -> None:
    cells = plan_cells([pin(f"0.6.{number}", "", "-cu130") for number in range(GITHUB_MOST // 2)])
    assert github_workflow(cells, SHOP)["jobs"]
    with pytest.raises(ConfigError, match="at most 256 cells"):
        github_workflow([*cells, cells[0]], SHOP)
    assert gitlab_pipeline([*cells, cells[0]], SHOP)


def test_gitlab_pipeline_is_valid() -> None:
    document = gitlab_pipeline(plan_cells(PINS), SHOP)
    assert schema_errors("gitlab-ci", document) == []
    assert schema_errors("gitlab-ci", {**document, "series": {"script": 1}}), "the schema must be able to refuse"
    reserved = {"image", "services", "stages", "variables", "default", "include", "workflow", "pages"}
    assert set(document) - {"stages"} - reserved == {"series"}, "a job must not have the name of a keyword"


# https://docs.docker.com/build/bake/reference/ names them; there is no schema of its own.
_TARGET_KEYS = {"args", "context", "contexts", "dockerfile", "labels", "platforms", "tags"}


def test_bake_file_holds_what_bake_takes() -> None:
    cells = plan_cells(PINS, platforms=("linux/amd64", "linux/arm64"))
    document = bake_file(cells, manifests(), "nightly-dev-20260810a", "v0.5.12", "out/contexts")
    assert set(document) == {"variable", "group", "target"}
    assert document["group"]["default"]["targets"] == ["v0-5-12-default", "v0-5-12-cu130"]
    assert document["group"]["v0-5-12"] == document["group"]["default"], "v0.5.12.post1 is another pin"
    named = [target for group in document["group"].values() for target in group["targets"]]
    assert set(named) == set(document["target"])
    for name, target in document["target"].items():
        assert set(target) <= _TARGET_KEYS
        assert name.replace("-", "").replace("_", "").isalnum(), "bake takes letters, digits, - and _"
        assert target["platforms"] == ["linux/amd64", "linux/arm64"]
        assert all(isinstance(value, str) for value in (*target["args"].values(), *target["labels"].values()))


@pytest.mark.parametrize("file", sorted(path.name for path in (ROOT / ".github/workflows").glob("*.yml")))
def test_own_workflows_are_valid_and_call_make_alone(file: str) -> None:
    text = (ROOT / ".github/workflows" / file).read_text()
    document = yaml.safe_load(text)
    document["on"] = document.pop(True, document.get("on"))  # YAML 1.1 reads the key "on" as true
    assert schema_errors("github-workflows", document) == []
    assert "secrets." not in text
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if ":" in line}
    runs = [step["run"] for job in document["jobs"].values() for step in job["steps"] if "run" in step]
    for run in runs:
        words = run.split()
        assert words[0] == "gh" or (words[0] == "make" and words[1] in targets), run


def test_shipped_bake_file_is_current() -> None:
    assert (ROOT / "docker/docker-bake.json").read_text() == shipped_bake_text(ROOT), "patchkit refresh"
