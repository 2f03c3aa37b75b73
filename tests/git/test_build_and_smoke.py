"""build, smoke and run with the venv engine on a small store: real inimage.py and pytest, this Python as runtime."""

import json
import shutil
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from patchkit.engines import venv
from patchkit.errors import ConfigError, SmokeError, VerifyError
from patchkit.render import render_text
from patchkit.results.build import BuiltImage
from patchkit.results.smoke import Smoke
from patchkit.store import read_images, record_image
from patchkit.upstream.access import Access
from patchkit.verbs import build as verbs_build
from patchkit.verbs.build import BuildOptions, build_images
from patchkit.verbs.refresh import refresh_pin
from patchkit.verbs.report import make_report
from patchkit.verbs.run import run_main_job
from patchkit.verbs.smoke import run_smoke
from tests.small_store import ABORT, PIN, write_store


@dataclass(frozen=True)
class Built:
    root: Path
    access: Access
    image: BuiltImage


@pytest.fixture(scope="session")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    write_store(folder / "root", folder / "cache")
    python = folder / "runtime" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def runtime(master: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "bring_runtime", lambda access: master / "runtime")
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


@pytest.fixture
def place(master: Path, tmp_path: Path) -> Path:
    """A store to change."""
    shutil.copytree(master, tmp_path / "p")
    return tmp_path / "p"


@pytest.fixture
def root(place: Path) -> Path:
    return place / "root"


@pytest.fixture
def access(place: Path) -> Access:
    return Access(place / "cache", offline=True, deadline_s=60)


@pytest.fixture(scope="session")
def shared(master: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shutil.copytree(master, place := tmp_path_factory.mktemp("shared") / "p")
    return place


@pytest.fixture
def built(shared: Path) -> Built:
    """The store that no test changes, with its image, built on first use."""
    access = Access(shared / "cache", offline=True, deadline_s=60)
    return Built(shared / "root", access, build(shared / "root", access))


def build(root: Path, access: Access) -> BuiltImage:
    return build_images(root, [], access, engine="venv").images[0]


def smoke(root: Path, access: Access, *, topic: str = "", control: bool = True, junit: Path | None = None) -> Smoke:
    return run_smoke(root, None, access, engine="venv", topic=topic, control=control, junit=junit)


# -- build ----------------------------------------------------------------------------------------------------


def test_image_that_cannot_answer_for_itself_loses_its_name(
    root: Path, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []

    def refuse(*_: object) -> None:
        raise VerifyError("the sglang in use is another")

    monkeypatch.setattr(verbs_build, "prove_image", refuse)
    monkeypatch.setattr(venv.Venv, "remove", lambda _, name: removed.append(name))
    with pytest.raises(VerifyError, match="is another"):
        build(root, access)
    assert len(removed) == 1


def test_an_image_carries_its_series_its_record_and_its_labels(built: Built) -> None:
    image = built.image
    folder = Path(image.image)
    assert "req.gone = True" in (folder / ABORT).read_text()
    record = (folder / "etc" / "patchkit" / "manifest.json").read_bytes()
    assert record == (built.root / "patches" / PIN / "manifest.json").read_bytes()
    facts = venv.Venv(built.access).inspect(image.tag)
    assert facts is not None
    assert facts.labels["io.patchkit.pin"] == PIN
    assert facts.labels["io.patchkit.topics"] == "abort-guards,timeouts"
    assert facts.labels["io.patchkit.series.sha256"] == json.loads(record)["series"]["sha256"]
    assert facts.labels["org.opencontainers.image.version"] == "nightly-dev-20260101a"


def test_the_base_stays_as_upstream_has_it(built: Built) -> None:
    assert "req.done = True" in (Path(built.image.base) / ABORT).read_text()


def test_the_same_series_gives_the_same_image(built: Built) -> None:
    assert build(built.root, built.access).image == built.image.image


def test_an_edited_series_replaces_its_image(root: Path, access: Access) -> None:
    first = build(root, access)
    patch = root / "patches" / PIN / "timeouts.patch"
    patch.write_text(patch.read_text().replace("600", "500"))
    refresh_pin(root, PIN, access)
    second = build(root, access)
    assert Path(second.image).is_dir()
    assert not Path(first.image).exists()


def test_a_tampered_image_is_built_again(root: Path, access: Access) -> None:
    source = Path(build(root, access).image) / ABORT
    good = source.read_bytes()
    source.write_bytes(good.replace(b"gone", b"done"))
    build(root, access)
    assert source.read_bytes() == good


def test_a_base_of_another_release_is_refused_before_anything_is_written(root: Path, access: Access) -> None:
    base = Path(build(root, access).base)
    shutil.rmtree(access.cache / "venv" / "images")
    (base / ABORT).write_text("def abort(req): ...\n")
    (base / "python/sglang/version.py").write_text('__version__ = "0.5.13"\n')
    with pytest.raises(ConfigError) as caught:
        build(root, access)
    assert "not v0.5.12.post1: 1 of 2 touched files differ; it says it is v0.5.13" in caught.value.what
    assert ABORT in caught.value.found
    assert not (access.cache / "venv" / "images").exists()


def test_an_unknown_engine_is_refused(root: Path, access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHKIT_ENGINE", "lxc")
    with pytest.raises(ConfigError, match="there is no engine lxc"):
        build_images(root, [], access)


@pytest.mark.parametrize("tag", ["", "sglang:1", "localhost/sglang:1", "us/sglang:1"])
def test_a_push_needs_a_registry(root: Path, access: Access, tag: str) -> None:
    with pytest.raises(ConfigError, match="no name that a registry would take"):
        build_images(root, [], access, engine="venv", options=BuildOptions(tag=tag, push=True))


def test_a_pushed_image_is_recorded_once(root: Path) -> None:
    entry = {"reference": "ghcr.io/us/sglang:1", "digest": "sha256:1"}
    record_image(root, PIN, entry)
    record_image(root, PIN, {"reference": "ghcr.io/us/sglang:2", "digest": "sha256:2"})
    record_image(root, PIN, entry)
    assert [image["digest"] for image in read_images(root, PIN)] == ["sha256:1", "sha256:2"]


# -- smoke ----------------------------------------------------------------------------------------------------


def test_control_shows_that_faults_need_the_series(built: Built, tmp_path: Path) -> None:
    result = smoke(built.root, built.access, junit=tmp_path / "out.xml")
    assert result.exit_code == 0
    assert [(test.topic, test.kind, test.without, test.with_series) for test in result.tests] == [
        ("abort-guards", "fault", "fault", "ok"),
        ("abort-guards", "regression", "ok", "ok"),
        ("timeouts", "fault", "fault", "ok"),
    ]
    suite = ET.parse(tmp_path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "0")


def test_a_control_run_is_remembered_until_a_test_changes(root: Path, access: Access) -> None:
    build_images(root, [], access, engine="venv")
    first = smoke(root, access)
    again = smoke(root, access)
    assert (first.remembered, again.remembered) == (False, True)
    assert [test.without for test in again.tests] == [test.without for test in first.tests]
    test_file = next((root / "patches/smoke/timeouts").glob("test_*.py"))
    test_file.write_text(test_file.read_text() + "\n")
    assert not smoke(root, access).remembered


def test_one_topic_alone(built: Built) -> None:
    assert [test.topic for test in smoke(built.root, built.access, topic="timeouts", control=False).tests] == [
        "timeouts"
    ]


def test_a_lost_hunk_fails_and_names_topic_and_test(root: Path, access: Access) -> None:
    patch = root / "patches" / PIN / "abort-guards.patch"
    patch.write_text(patch.read_text().replace("req.gone", "req.lost"))
    refresh_pin(root, PIN, access)
    build(root, access)
    result = smoke(root, access)
    assert result.exit_code == 5
    (bad,) = [test for test in result.tests if test.problem]
    assert (bad.topic, bad.name.rpartition("::")[2]) == ("abort-guards", "test_A_1_abort_marks_the_request_gone")
    assert bad.problem == "with the series the fault is still there"


def test_an_edit_that_was_not_refreshed_or_built_is_not_smoked(root: Path, access: Access) -> None:
    build(root, access)
    patch = root / "patches" / PIN / "abort-guards.patch"
    patch.write_text(patch.read_text().replace("req.gone", "req.lost"))
    with pytest.raises(ConfigError, match="are not current") as stale:
        smoke(root, access)
    assert stale.value.hint == f"patchkit refresh {PIN}"
    with pytest.raises(ConfigError, match="are not current"):
        build(root, access)
    refresh_pin(root, PIN, access)
    with pytest.raises(ConfigError, match="another state of the series"):
        smoke(root, access)


def test_a_fault_that_passes_without_the_series_proves_nothing(root: Path, access: Access) -> None:
    test = root / "patches" / "smoke" / "timeouts" / "test_late.py"
    test.write_text(test.read_text().replace("== 600", "in (None, 600)"))
    build(root, access)
    assert smoke(root, access, control=False).exit_code == 0
    result = smoke(root, access)
    assert result.exit_code == 5
    assert [v.problem for v in result.tests if v.problem] == ["without the series it passes too: it proves nothing"]


def test_nothing_collected_is_an_error(root: Path, access: Access) -> None:
    (root / "patches" / "smoke" / "timeouts" / "test_late.py").unlink()
    build(root, access)
    with pytest.raises(SmokeError, match="no smoke test was collected"):
        smoke(root, access, topic="timeouts", control=False)


def test_a_run_that_dies_before_a_result_is_an_error(root: Path, access: Access) -> None:
    (root / "patches" / "smoke" / "conftest.py").write_text("import os\nos._exit(0)\n")
    build(root, access)
    with pytest.raises(SmokeError, match="ended with status 0 before a result"):
        smoke(root, access, control=False)


def test_a_tampered_image_is_not_smoked(root: Path, access: Access) -> None:
    source = Path(build(root, access).image) / ABORT
    source.write_bytes(source.read_bytes().replace(b"gone", b"gonE"))
    with pytest.raises(VerifyError) as caught:
        smoke(root, access)
    assert str(source) in caught.value.found


def test_without_an_image_the_hint_builds_one(root: Path, access: Access) -> None:
    with pytest.raises(ConfigError) as caught:
        smoke(root, access)
    assert caught.value.hint == f"patchkit build {PIN} --engine venv"


def test_a_topic_without_tests_is_refused(root: Path, access: Access) -> None:
    with pytest.raises(ConfigError, match="topic nothing has no smoke test"):
        smoke(root, access, topic="nothing")


def test_main_job_shows_every_step_and_keeps_its_evidence(
    root: Path,
    access: Access,
    tmp_path: Path,
) -> None:
    result = run_main_job(root, [], access, engine="venv", evidence=tmp_path / "out")
    assert result.exit_code == 0, render_text(result)
    (job,) = result.jobs
    assert [step.name for step in job.steps] == ["upstream", "apply", "verify", "build", "smoke"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"build-{PIN}.json",
        f"smoke-{PIN}.json",
        f"verify-{PIN}.json",
    ]
    assert json.loads((tmp_path / f"out/smoke-{PIN}.json").read_text())["schema"] == "patchkit/smoke/1"
    assert {entry.verb for entry in make_report(root, tmp_path / "out").evidence} == {"build", "smoke", "verify"}


def test_step_that_fails_ends_the_job_with_its_exit_code(root: Path, access: Access) -> None:
    topic = root / "patches" / PIN / "abort-guards.patch"
    topic.write_text(topic.read_text().replace("req.gone", "req.lost"))
    result = run_main_job(root, [], access, engine="venv")
    (job,) = result.jobs
    assert (result.exit_code, job.steps[-1].name, job.steps[-1].ok) == (3, "apply", False)
    assert "FAILED" in render_text(result)
    assert job.next_step == f"patchkit verify {PIN}"
