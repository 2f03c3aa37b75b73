"""An upstream is brought from an index, a clone or a directory, and what is not the pin is refused."""

import hashlib
import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from patchkit.errors import CommandError, ConfigError
from patchkit.model import CommitId, Distribution, Pin, TreeId
from patchkit.upstream.access import Access
from patchkit.upstream.bring import bring_directory, bring_git, bring_pin, bring_version, kept_versions
from patchkit.upstream.distribution import distribution_files
from patchkit.upstream.index import listed_versions

VERSION = "0.5.99"
WHEEL = f"sglang-{VERSION}-py3-none-any.whl"
FILES = {
    "sglang/__init__.py": b"",
    "sglang/srt/a.py": b"one\ntwo\n",
    "sglang/srt/_core.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
    f"sglang-{VERSION}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: sglang\nVersion: {VERSION}\n".encode(),
    f"sglang-{VERSION}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"sglang-{VERSION}.dist-info/RECORD": b"",
}


def write_wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index on the disk with one release of sglang."""
    folder = tmp_path / "index"
    folder.mkdir()
    write_wheel(folder / WHEEL, FILES)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access(tmp_path / "cache")


def distribution(index: Path) -> Distribution:
    return Distribution(WHEEL, hashlib.sha256((index / WHEEL).read_bytes()).hexdigest())


def test_release_has_the_layout_of_the_repository_and_no_compiled_file(index: Path, access: Access) -> None:
    upstream = bring_version(VERSION, access)
    assert set(upstream.entries()) == {"python/sglang/__init__.py", "python/sglang/srt/a.py"}
    assert upstream.read(["python/sglang/srt/a.py", "python/sglang/none.py", "other"]) == {
        "python/sglang/srt/a.py": b"one\ntwo\n",
        "python/sglang/none.py": None,
        "other": None,
    }


def test_release_that_is_kept_needs_no_network(index: Path, access: Access) -> None:
    first = bring_version(VERSION, access)
    (index / WHEEL).unlink()
    again = bring_version(VERSION, Access(access.cache, offline=True))
    assert again.tree == first.tree
    assert kept_versions(access.objects) == [VERSION]


def test_offline_says_what_is_missing(access: Access) -> None:
    with pytest.raises(CommandError, match=r"upstream 0\.5\.99 is not in the cache"):
        bring_version(VERSION, Access(access.cache, offline=True))


def test_unknown_release_is_told_from_an_index_that_does_not_answer(
    index: Path, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"no release 0\.5\.98"):
        bring_version("0.5.98", access)
    monkeypatch.setenv("PIP_FIND_LINKS", str(index / "gone"))
    with pytest.raises(CommandError, match="pip"):
        bring_version("0.5.98", access)


def test_wrong_file_is_refused_with_both_hashes_and_not_stored(index: Path, access: Access) -> None:
    expected = Distribution(WHEEL, "0" * 64)
    with pytest.raises(ConfigError) as caught:
        bring_version(VERSION, access, expected=expected)
    assert expected.sha256 in caught.value.found
    assert distribution(index).sha256 in caught.value.found
    assert kept_versions(access.objects) == []
    assert list(access.cache.glob("download-*")) == []


def test_another_tree_than_the_pins_is_refused(index: Path, access: Access) -> None:
    pin = Pin(VERSION, CommitId("0" * 40), TreeId("1" * 40), distribution(index))
    with pytest.raises(ConfigError, match="is not the tree of its pin"):
        bring_pin(pin, access)


def test_directory_gives_the_same_tree_as_the_wheel(index: Path, access: Access, tmp_path: Path) -> None:
    upstream = bring_version(VERSION, access)
    upstream.write_to(tmp_path / "checkout")
    cached = tmp_path / "checkout/python/sglang/__pycache__/x.pyc"
    cached.parent.mkdir()
    cached.write_bytes(b"code")
    assert bring_directory(tmp_path / "checkout", access).tree == upstream.tree
    assert bring_directory(tmp_path / "checkout/python", access).tree == upstream.tree
    assert bring_directory(tmp_path / "checkout/python/sglang", access).tree == upstream.tree


def test_folder_without_sglang_is_refused(access: Access, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no sglang here"):
        bring_directory(tmp_path, access)


def git(*arguments: str, cwd: Path) -> str:
    return subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("by", ["tag", "commit"])
def test_clone_gives_the_same_tree_as_the_wheel(index: Path, access: Access, tmp_path: Path, by: str) -> None:
    upstream = bring_version(VERSION, access)
    clone = tmp_path / "clone"
    upstream.write_to(clone)
    git("init", "-q", cwd=clone)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=clone)
    git("add", "-A", cwd=clone)
    git("commit", "-qm", "release", cwd=clone)
    git("tag", f"v{VERSION}", cwd=clone)
    revision = f"v{VERSION}" if by == "tag" else git("rev-parse", "HEAD", cwd=clone)
    assert bring_git(str(clone), revision, access).tree == upstream.tree
    assert bring_git(f"file://{clone}", revision, access).tree == upstream.tree


@pytest.mark.parametrize(
    ("location", "revision"),
    [
        pytest.param("ext::sh -c touch% MADE", "v0.5.98", id="a program as a repository"),
        pytest.param("--upload-pack=touch MADE", "v0.5.98", id="an option as a repository"),
        pytest.param("CLONE", "--upload-pack=touch MADE", id="an option as a revision"),
    ],
)
def test_nothing_runs_that_a_repository_s_name_asks_for(
    access: Access, tmp_path: Path, location: str, revision: str
) -> None:
    made, clone = tmp_path / "made", tmp_path / "clone"
    clone.mkdir()
    git("init", "-q", cwd=clone)
    words = [word.replace("MADE", str(made)).replace("CLONE", str(clone)) for word in (location, revision)]
    with pytest.raises((CommandError, ConfigError)):
        bring_git(words[0], words[1], access)
    assert not made.exists()


def test_a_private_repository_asks_nobody_for_a_password(
    access: Access, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git-remote-private").write_text("#!/bin/sh\nenv > " + str(tmp_path / "seen") + "\nexit 1\n")
    (tmp_path / "git-remote-private").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_ASKPASS", "/bin/a-window")
    with pytest.raises(CommandError):
        bring_git("private://host/repository", "v0.5.98", access)
    seen = (tmp_path / "seen").read_text()
    assert "GIT_TERMINAL_PROMPT=0\n" in seen
    assert "a-window" not in seen


def test_unknown_tag_is_a_command_error(access: Access, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    git("init", "-q", cwd=clone)
    with pytest.raises(CommandError):
        bring_git(str(clone), "v0.5.98", access)


@pytest.mark.parametrize("name", ["sglang/../../evil.py", "/etc/evil", "sglang\\evil.py"])
def test_wheel_path_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    wheel = write_wheel(tmp_path / WHEEL, {name: b""})
    with pytest.raises(ConfigError, match="leaves its folder"):
        list(distribution_files(wheel))


def test_wheel_with_a_link_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        link = zipfile.ZipInfo("sglang/link.py")
        link.external_attr = 0o120777 << 16
        wheel.writestr(link, "/etc/passwd")
    with pytest.raises(ConfigError, match="holds a link"):
        list(distribution_files(tmp_path / WHEEL))


def test_damaged_wheel_is_refused(tmp_path: Path) -> None:
    path = write_wheel(tmp_path / WHEEL, {"sglang/a.py": b"x" * 1000})
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="damaged"):
        list(distribution_files(path))


def test_sdist_with_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sglang-0.5.9.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        plain = tarfile.TarInfo("sglang-0.5.9/python/sglang/a.py")
        plain.size = 3
        archive.addfile(plain, io.BytesIO(b"a\n\n"))
        link = tarfile.TarInfo("sglang-0.5.9/python/sglang/b.py")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(ConfigError, match="a link or a device"):
        list(distribution_files(path))


def test_releases_of_the_index_are_listed_newest_first(index: Path, access: Access) -> None:
    write_wheel(index / WHEEL.replace(VERSION, "0.5.98"), {})
    assert listed_versions(access)[:2] == [VERSION, "0.5.98"]


@pytest.mark.network
def test_real_release_is_brought_and_kept(access: Access) -> None:
    upstream = bring_version("0.5.12.post1", access)
    assert upstream.tree == "e2f48edca53af36871a0571e0c2c7934511059d7"
    prefill = upstream.entries()["python/sglang/srt/disaggregation/prefill.py"]
    assert prefill.blob.startswith("0e2ed6a190")  # as the index line of a published patch on this release has it
