"""verify on a real store: what it finds, how it ends, and that it changes nothing."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patchkit.cli import main
from patchkit.errors import ConfigError
from patchkit.results.verify import Verified
from patchkit.upstream.access import Access
from patchkit.verbs.refresh import refresh_pin
from patchkit.verbs.verify import verify_checkout, verify_patch, verify_pins
from tests.git.upstream_tree import snapshot
from tests.small_store import ABORT, PIN, UPSTREAM, VERSION, write_store

TODAY = date(2026, 12, 1)
FOLDER = f"patches/{PIN}"
GUARD = """\
- id: X-1
  message: an aborted request is gone
  releases: ">=0.5.12"
  path: python/sglang/srt/abort.py
  scope: {scope}
  checks:
    - has: {{ kind: assignment, regex: "{regex}" }}
"""


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return write_store(tmp_path, tmp_path / "cache")


def store_files(root: Path) -> dict[str, tuple[str, int, bytes]]:
    return {path: entry for path, entry in snapshot(root).items() if not path.startswith("cache")}


def found(root: Path, access: Access) -> tuple[list[str], Verified]:
    """Return the rules that the pin breaks, and what was looked at."""
    _, verified = verify_pins(root, [PIN], access, TODAY).subjects
    return [finding.rule for finding in verified.findings if finding.rule != "PK803"], verified


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


def test_sound_store_has_no_finding_and_is_not_changed(tmp_path: Path, access: Access) -> None:
    before = store_files(tmp_path)
    rules, verified = found(tmp_path, access)
    assert rules == []
    assert (verified.topics, verified.hunks, verified.files) == (("abort-guards", "timeouts"), 2, 2)
    assert store_files(tmp_path) == before


@pytest.mark.parametrize(
    ("file", "edited", "rules"),
    [
        pytest.param(
            "timeouts.patch",
            ("+LIMIT_S = 600", "+LIMIT_S = 601"),
            ["PK304", "PK306", "PK802", "PK802"],
            id="edited by hand",
        ),
        pytest.param("timeouts.patch", ("-LIMIT_S = None", "-LIMIT_S = 1"), ["PK301", "PK306"], id="no place"),
        pytest.param("timeouts.patch", ("@@ -1 +1 @@", "@@ -1 +1,2 @@"), ["PK102", "PK306"], id="wrong counts"),
        pytest.param("sglang.patch", ("+LIMIT_S = 600", "+LIMIT_S = 601"), ["PK306", "PK802"], id="combined edited"),
        pytest.param("manifest.json", ('"scope": "abort"', '"scope": "other"'), ["PK401", "PK802"], id="another scope"),
        pytest.param("series", ("timeouts.patch\n", ""), ["PK306", "PK801", "PK802", "PK802"], id="not in the series"),
    ],
)
def test_broken_store(tmp_path: Path, access: Access, file: str, edited: tuple[str, str], rules: list[str]) -> None:
    edit(tmp_path / FOLDER / file, lambda text: text.replace(*edited))
    assert sorted(found(tmp_path, access)[0]) == rules


def test_finding_names_topic_patch_line_and_scope(tmp_path: Path, access: Access) -> None:
    edit(
        tmp_path / FOLDER / "abort-guards.patch",
        lambda text: text.replace("+    req.gone = True", "+    req.gone = it"),
    )
    refresh_pin(tmp_path, PIN, access)
    _, verified = found(tmp_path, access)
    finding = next(finding for finding in verified.findings if finding.rule == "PK602")
    assert (finding.topic, finding.patch_file, finding.patch_line) == (
        "abort-guards",
        f"{FOLDER}/abort-guards.patch",
        8,
    )
    assert (finding.path, finding.line, finding.scope) == (ABORT, 2, "abort")


@pytest.mark.parametrize(
    ("scope", "regex", "rules"),
    [
        pytest.param("abort", "gone", [], id="holds"),
        pytest.param("abort", "done", ["PK701"], id="fails"),
        pytest.param("abort_all", "gone", ["PK702"], id="drift"),
    ],
)
def test_guard(tmp_path: Path, access: Access, scope: str, regex: str, rules: list[str]) -> None:
    (tmp_path / "patches/guards").mkdir()
    (tmp_path / "patches/guards/abort-guards.yml").write_text(GUARD.format(scope=scope, regex=regex))
    assert found(tmp_path, access)[0] == rules


@pytest.mark.parametrize(
    ("until", "rules", "accepted"),
    [("2026-12-01", [], ["PK701"]), ("2026-11-30", ["PK701", "PK811"], [])],
    ids=["to the last day", "ended"],
)
def test_accepted_guard(tmp_path: Path, access: Access, until: str, rules: list[str], accepted: list[str]) -> None:
    (tmp_path / "patches/guards").mkdir()
    (tmp_path / "patches/guards/abort-guards.yml").write_text(GUARD.format(scope="abort", regex="done"))
    acceptance = f'[[accept]]\nrule = "PK701"\nguard = "X-1"\nreason = "upstream does it"\nuntil = {until}\n'
    edit(tmp_path / FOLDER / "pin.toml", lambda text: text + acceptance)
    left, verified = found(tmp_path, access)
    assert left == rules
    assert [each.finding.rule for each in verified.accepted] == accepted


@pytest.mark.parametrize(
    "acceptance",
    [
        'rule = "PK701"\nreason = "r"',
        'rule = "PK701"\nreason = "r"\nuntil = "2026-12-01"',
        'rule = "PK701"\nreason = " "\nuntil = 2026-12-01',
        'rule = "PK701"\nreason = "r"\nuntil = 2026-12-01\nfile = "x"',
    ],
    ids=["no end", "end in quotes", "no reason", "unknown word"],
)
def test_malformed_acceptance_is_refused(tmp_path: Path, access: Access, acceptance: str) -> None:
    edit(tmp_path / FOLDER / "pin.toml", lambda text: text + f"[[accept]]\n{acceptance}\n")
    with pytest.raises(ConfigError) as caught:
        found(tmp_path, access)
    assert caught.value.where == f"{FOLDER}/pin.toml"


def tree(folder: Path, abort: str, *, late: str = "LIMIT_S = 600\n") -> Path:
    """Write a checkout with these files."""
    for path, text in {**UPSTREAM, ABORT: abort, "python/sglang/srt/late.py": late}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


PATCHED = UPSTREAM[ABORT].replace("req.done", "req.gone")


@pytest.mark.parametrize(
    ("abort", "rules"),
    [
        pytest.param(PATCHED, [], id="patched"),
        pytest.param(UPSTREAM[ABORT], ["PK205"], id="not patched"),
        pytest.param(PATCHED + "# mine\n", ["PK205"], id="edited"),
    ],
)
def test_checkout(tmp_path: Path, access: Access, abort: str, rules: list[str]) -> None:
    (verified,) = verify_checkout(tmp_path, PIN, tree(tmp_path / "co", abort), access).subjects
    assert [finding.rule for finding in verified.findings if finding.rule != "PK803"] == rules


def test_checkout_with_a_foreign_edit_beside_the_series(tmp_path: Path, access: Access) -> None:
    checkout = tree(tmp_path / "co", PATCHED)
    (checkout / "python/sglang/version.py").write_text("mine\n")
    (verified,) = verify_checkout(tmp_path, PIN, checkout, access).subjects
    (finding,) = [finding for finding in verified.findings if finding.rule != "PK803"]
    assert (finding.rule, finding.path) == ("PK206", "python/sglang/version.py")


def test_patch_file_on_a_directory(tmp_path: Path, access: Access) -> None:
    patch = tmp_path / FOLDER / "abort-guards.patch"
    (verified,) = verify_patch(patch, str(tree(tmp_path / "co", UPSTREAM[ABORT])), access).subjects
    assert verified.findings == ()
    (verified,) = verify_patch(patch, str(tree(tmp_path / "other", PATCHED)), access).subjects
    assert "PK201" in [finding.rule for finding in verified.findings]


HELD = """\
- id: {id}
  message: the file says {word}
  releases: ">=0.5.12"
  path: python/sglang/srt/abort.py
  scope: abort
  checks:
    - has: {{regex: {word}}}
"""


@pytest.mark.parametrize(
    ("guards", "name", "rules", "not_run"),
    [
        pytest.param({"abort-guards": ["gone"]}, "abort-guards", [], (), id="its topic holds"),
        pytest.param({"abort-guards": ["gone", "late"]}, "abort-guards", ["PK701"], (), id="its topic does not"),
        pytest.param({"abort-guards": ["gone", "late"]}, "mine", ["PK701"], (), id="another name, in part the topic"),
        pytest.param({"other": ["done"]}, "mine", ["PK701"], (), id="it breaks what held"),
        pytest.param({"other": ["return"]}, "mine", [], (), id="what held holds"),
        pytest.param(
            {"other": ["late"]}, "mine", [], ("PK7xx of other: the patch has no part in it",), id="not its business"
        ),
    ],
)
def test_guards_of_a_patch_file(
    access: Access, guards: dict[str, list[str]], name: str, rules: list[str], not_run: tuple[str, ...]
) -> None:
    tmp_path = access.cache.parent
    (tmp_path / "patches/guards").mkdir()
    for topic, words in guards.items():
        text = "".join(HELD.format(id=f"X-{number}", word=word) for number, word in enumerate(words))
        (tmp_path / f"patches/guards/{topic}.yml").write_text(text)
    patch = (tmp_path / FOLDER / "abort-guards.patch").rename(tmp_path / f"{name}.patch")
    for upstream in (VERSION, str(tree(tmp_path / "co", UPSTREAM[ABORT]))):
        (verified,) = verify_patch(patch, upstream, access, tmp_path).subjects
        assert ([finding.rule for finding in verified.findings], verified.not_run) == (rules, not_run)


def test_patch_file_without_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path / "store", tmp_path / "xdg" / "patchkit")
    patch = (tmp_path / "store" / FOLDER / "abort-guards.patch").rename(tmp_path / "mine.patch")
    monkeypatch.chdir(tmp_path)
    arguments = ["--offline", "verify", "--patch", str(patch), "--upstream", VERSION]
    shown = CliRunner(env={"XDG_CACHE_HOME": str(tmp_path / "xdg")}).invoke(main, arguments, catch_exceptions=False)
    assert shown.exit_code == 0, shown.output


def invoke(root: Path, *arguments: str) -> Result:
    return CliRunner(env={"XDG_CACHE_HOME": str(root / "xdg")}).invoke(
        main, ["--root", str(root), "--offline", *arguments], catch_exceptions=False
    )


@pytest.mark.parametrize(("old", "new", "status"), [("", "", 0), ("+LIMIT_S = 600", "+LIMIT_S = 6", 4)], ids=["0", "4"])
def test_exit_status(tmp_path: Path, old: str, new: str, status: int) -> None:
    write_store(tmp_path, tmp_path / "xdg" / "patchkit")
    edit(tmp_path / FOLDER / "timeouts.patch", lambda text: text.replace(old, new) if old else text)
    shown = invoke(tmp_path, "verify", "--all", "--write", f"json={tmp_path}/out.json")
    assert shown.exit_code == status, shown.output
    assert json.loads((tmp_path / "out.json").read_text())["exit_code"] == status
    assert json.loads(invoke(tmp_path, "--json", "verify").stdout)["exit_code"] == status
