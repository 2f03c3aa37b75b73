"""What every command has: options before or after its name, messages, exit codes, one JSON document."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from patchkit import errors
from patchkit.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def failing() -> Iterator[list[BaseException]]:
    """A command `fail` that raises what the test puts into the list."""
    causes: list[BaseException] = []

    @main.command("fail")
    def fail() -> None:
        raise causes[0]

    yield causes
    del main.commands["fail"]


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        pytest.param(errors.ConfigError("c"), 2, id="ConfigError"),
        pytest.param(errors.PatchError("p", rule="PK101"), 2, id="PatchError"),
        pytest.param(errors.ConflictError("c"), 3, id="ConflictError"),
        pytest.param(errors.VerifyError("v"), 4, id="VerifyError"),
        pytest.param(errors.SmokeError("s"), 5, id="SmokeError"),
        pytest.param(errors.CommandError("c"), 6, id="CommandError"),
        pytest.param(KeyboardInterrupt(), 130, id="KeyboardInterrupt"),
    ],
)
def test_each_failure_has_its_exit_code(failing: list[BaseException], cause: BaseException, code: int) -> None:
    failing.append(cause)
    result = CliRunner().invoke(main, ["fail"])
    assert (result.exit_code, result.stdout) == (code, "")


def test_message_has_its_fields_in_order(failing: list[BaseException]) -> None:
    failing.append(errors.ConflictError("it does not fit", hint="h", kept="k", found="f", where="one\ntwo"))
    result = CliRunner().invoke(main, ["fail"])
    assert result.stderr == ("error: it does not fit\n  where: one\n         two\n  found: f\n  kept:  k\n  hint:  h\n")


def test_message_can_always_be_printed(failing: list[BaseException]) -> None:
    failing.append(errors.ConfigError("bad name", where="caf\udce9\x1b[31m"))
    result = CliRunner().invoke(main, ["fail"])
    assert result.stderr == "error: bad name\n  where: caf\\xe9\\x1b[31m\n"


@pytest.mark.parametrize("arguments", [["--json", "fail"], ["fail", "--json"]], ids=["before", "after"])
def test_failure_is_one_json_document(failing: list[BaseException], arguments: list[str]) -> None:
    failing.append(errors.ConflictError("it does not fit", hint="h"))
    result = CliRunner().invoke(main, arguments)
    document = json.loads(result.stdout)
    assert (document["schema"], document["exit_code"], document["what"]) == ("patchkit/error/1", 3, "it does not fit")


def test_unforeseen_failure_shows_its_traceback(failing: list[BaseException]) -> None:
    failing.append(ZeroDivisionError("oops"))
    result = CliRunner().invoke(main, ["fail"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "ZeroDivisionError: oops" in result.stderr


@pytest.mark.parametrize(
    "cause",
    [
        pytest.param(FileNotFoundError(2, "No such file or directory", "/nosuch/page.html"), id="folder missing"),
        pytest.param(OSError(28, "No space left on device"), id="disk full"),
    ],
)
def test_disk_that_says_no_is_an_environment_error(failing: list[BaseException], cause: OSError) -> None:
    failing.append(cause)
    result = CliRunner().invoke(main, ["fail"])
    assert result.exit_code == 6
    assert str(cause.strerror) in result.stderr
    assert "Traceback" not in result.stderr


def test_page_in_a_missing_folder_is_no_traceback(tmp_path: Path) -> None:
    page = tmp_path / "missing/page.html"
    result = CliRunner().invoke(main, ["report", "--root", str(ROOT), "--html", str(page)])
    assert result.exit_code == 6
    assert "No such file or directory" in result.stderr


def test_outside_a_store_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["status", "--offline"])
    assert result.exit_code == 2
    assert "no patches/ here or above" in result.stderr


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and sub-command by its full name."""
    for name, command in main.commands.items():
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", found) for inner, found in command.commands.items())


@pytest.mark.parametrize("name", main.commands)
def test_help_has_examples_that_parse_and_fits_a_terminal(name: str) -> None:
    help_text = CliRunner().invoke(main, [name, "--help"], prog_name="patchkit", terminal_width=80).stdout
    assert max(map(len, help_text.splitlines())) <= 80
    known = dict(commands())
    examples = [line.split("  ")[0].split() for line in help_text.replace("  patchkit", "patchkit").splitlines()]
    examples = [words[1:] for words in examples if words[:2] == ["patchkit", name]]
    assert examples, help_text
    for words in examples:
        full = " ".join(words[:2])
        command, rest = (known[full], words[2:]) if full in known else (known[name], words[1:])
        command.make_parser(click.Context(command)).parse_args(rest)


def test_help_imports_no_slow_module() -> None:
    program = "import sys; from patchkit.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"git", "unidiff", "jinja2", "ast_grep_py", "yaml", "patchkit.patch.patchtext"}


def test_every_module_of_commands_is_one_command_of_its_name() -> None:
    modules = {path.stem.rstrip("_") for path in (ROOT / "patchkit/commands").glob("[!_]*.py")}
    assert modules == set(main.commands)
    assert [command.name for command in main.commands.values()] == list(main.commands)


def test_command_that_is_named_is_the_only_one_loaded() -> None:
    program = (
        "import sys; from patchkit.cli import main\n"
        "main(['explain', 'PK101'], standalone_mode=False)\n"
        "print(*(name for name in sys.modules if name.startswith('patchkit.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "patchkit.commands.explain"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        pytest.param("verify v0.5.2", ["v0.5.20", "v0.5.23"], id="a pin"),
        pytest.param("edit v0.5.23 t", ["timeouts"], id="a topic"),
        pytest.param("explain PK105", ["PK105"], id="a rule"),
        pytest.param("apply --topic ab", ["abort-guards"], id="an option's value"),
    ],
)
def test_names_of_the_store_are_completed(typed: str, offered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    asked = {
        "_PATCHKIT_COMPLETE": "bash_complete",
        "COMP_WORDS": f"patchkit {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    result = CliRunner().invoke(main, [], env=asked, prog_name="patchkit")
    assert result.stdout.split() == [f"plain,{name}" for name in offered]


def test_names_are_completed_and_a_misspelt_one_is_corrected() -> None:
    asked = {"_PATCHKIT_COMPLETE": "bash_complete", "COMP_WORDS": "patchkit re", "COMP_CWORD": "1"}
    result = CliRunner().invoke(main, [], env=asked, prog_name="patchkit")
    assert result.stdout.split() == ["plain,rebase", "plain,refresh", "plain,report"]
    assert "Did you mean 'refresh'" in CliRunner().invoke(main, ["refersh"]).stderr


def test_explain_without_a_rule_and_with_an_unknown_one_lead_on() -> None:
    nothing, unknown = CliRunner().invoke(main, ["explain"]), CliRunner().invoke(main, ["explain", "PK199"])
    assert (nothing.exit_code, unknown.exit_code) == (2, 2)
    assert "PK101, PK102" in nothing.stderr
    assert "there is no rule PK199" in unknown.stderr
    assert "PK201" not in unknown.stderr
    assert unknown.stderr.endswith("hint:  patchkit explain PK101\n")


@pytest.mark.parametrize(
    "arguments",
    [["frobnicate"], ["verify", "--bogus"], ["apply", "/no/such"], ["--deadline", "soon", "status"]],
    ids=["command", "option", "path", "value"],
)
def test_usage_error_is_one_json_document(arguments: list[str]) -> None:
    ended = CliRunner().invoke(main, ["--json", *arguments])
    document = json.loads(ended.stdout)
    assert (ended.exit_code, document["schema"], document["exit_code"]) == (2, "patchkit/error/1", 2)
    assert document["what"]


def test_interruption_is_one_json_document(failing: list[BaseException]) -> None:
    failing.append(KeyboardInterrupt())
    ended = CliRunner().invoke(main, ["fail", "--json"])
    assert (ended.exit_code, json.loads(ended.stdout)["exit_code"]) == (130, 130)


@pytest.mark.parametrize("seconds", ["0", "-3", "nan", "inf", "1e300"])
def test_deadline_is_a_time(seconds: str) -> None:
    assert CliRunner().invoke(main, ["--deadline", seconds, "explain", "PK101"]).exit_code == 2


def test_closed_stdout_is_no_traceback() -> None:
    command = f"{sys.executable} -m patchkit explain PK101 >&-"
    ended = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
