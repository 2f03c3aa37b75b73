"""Each way in which a fork has shipped a wrong image ends with its own exit code and its own first line."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patchkit.cli import main
from patchkit.engines.engine import BuildRequest
from patchkit.engines.podman import Podman
from tests.cli.conftest import git
from tests.small_store import ABORT, PIN

pytestmark = pytest.mark.container
INSTALLED = f"/sgl-workspace/sglang/{ABORT}"
STALE = (
    f"import py_compile; p = '{INSTALLED}'; t = open(p).read(); open(p, 'w').write(t.replace('gone', 'done')); "
    "py_compile.compile(p, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH); open(p, 'w').write(t)"
)


@dataclass(frozen=True)
class Shop:
    """A store in a git repository of its own, and the engine."""

    root: Path
    base: str
    podman: Podman
    scratch: Path

    def call(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["--root", str(self.root), "--offline", *words])

    def build(self, base: str = "", tag: str = "localhost/patchkit-test/named:1") -> Result:
        return self.call("build", "--engine", "podman", "--base", base or self.base, "--tag", tag)

    def derived(self, image: str, *steps: str) -> str:
        folder = self.scratch / "derived"
        folder.mkdir()
        (folder / "Dockerfile").write_text("\n".join(["ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", *steps, ""]))
        return self.podman.build(BuildRequest(image, folder, "localhost/patchkit-test/derived:2", timeout_s=120))

    def built(self) -> str:
        done = self.build()
        assert done.exit_code == 0, done.stderr
        return "localhost/patchkit-test/named:1"


@pytest.fixture
def shop(
    store_once: tuple[Path, Path], small_base: str, podman: Podman, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shop:
    root, cache = store_once
    shutil.copytree(root, tmp_path / "store")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "store"]):
        git(tmp_path / "store", *words)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))
    return Shop(tmp_path / "store", small_base, podman, tmp_path)


def base_of_another_release(shop: Shop) -> Result:
    version = "/sgl-workspace/sglang/python/sglang/version.py"
    return shop.build(shop.derived(shop.base, f"RUN sed -i s/0.5.12.post1/0.5.13/ {version} && echo >> {INSTALLED}"))


def tampered_image(shop: Shop) -> Result:
    changed = shop.derived(shop.built(), f"RUN sed -i s/gone/gonE/ {INSTALLED}")
    return shop.call("smoke", "--engine", "podman", "--image", changed)


def stale_byte_code(shop: Shop) -> Result:
    changed = shop.derived(shop.built(), f'RUN python3 -c "{STALE}"')
    return shop.call("smoke", "--engine", "podman", "--image", changed)


def reused_tag(shop: Shop) -> Result:
    git(shop.root, "tag", "nightly-dev-20260102a")
    return shop.call("bump", "--date", "2026-01-01")


def malformed_version(shop: Shop) -> Result:
    (shop.root / "version.txt").write_text("nightly-dev-2026101a\n")
    return shop.build()


def patch_beside_the_series(shop: Shop) -> Result:
    (shop.root / "patches" / PIN / "extra.patch").write_bytes(
        (shop.root / "patches" / PIN / "timeouts.patch").read_bytes()
    )
    return shop.call("verify", PIN)


def build_that_dies(shop: Shop) -> Result:
    """podman 4.3 ends with 0 when it is terminated, and has no image then."""
    wrapper = shop.scratch / "bin" / "podman"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in build*named:1*) exit 0 ;; esac\nexec {shutil.which("podman")} "$@"\n')
    wrapper.chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", str(wrapper.parent), prepend=":")
        return shop.build()


@pytest.mark.parametrize(
    ("happen", "exit_code", "first_line"),
    [
        (base_of_another_release, 2, r"error: the installed sglang is not v0\.5\.12\.post1: .*it says it is v0\.5\.13"),
        (tampered_image, 4, r"error: the sglang in use is not v0\.5\.12\.post1 with the series .*: 1 "),
        (stale_byte_code, 4, r"error: the sglang in use is not v0\.5\.12\.post1 with .*: 1 (.*\n)*.*stale byte"),
        (reused_tag, 2, r"error: the next nightly tag would go backwards: nightly-dev-20260102a is published"),
        (malformed_version, 2, r"error: version\.txt is malformed: 'nightly-dev-2026101a' is not a nightly tag"),
        (patch_beside_the_series, 4, r"error: PK801 .*extra\.patch"),
        (build_that_dies, 6, r"error: podman did not build \S+named:1\n(.*\n)*.*status 0, but without an image"),
    ],
)  # fmt: skip
def test_failure_has_its_own_code_and_message(
    shop: Shop, happen: Callable[[Shop], Result], exit_code: int, first_line: str
) -> None:
    before = {path: path.read_bytes() for path in (shop.root / "patches").rglob("*.json")}
    done = happen(shop)
    told = done.stderr + done.stdout
    assert (done.exit_code, bool(re.search(first_line, told))) == (exit_code, True), told
    assert {path: path.read_bytes() for path in (shop.root / "patches").rglob("*.json")} == before
