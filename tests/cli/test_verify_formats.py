"""Each format of verify's result is what its readers take."""

import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import jsonschema
import pytest
from click.testing import CliRunner
from fluidattacks_core import sarif as sarif_model

from patchkit.cli import main
from patchkit.model import Finding, Severity
from patchkit.render import render_as
from patchkit.render.json import text as render_json
from patchkit.render.sarif import fingerprint
from patchkit.results.verify import Accepted, Verified, Verify

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "verify.json"
ERROR = Finding(
    "PK501",
    Severity.ERROR,
    "Queue.release is defined twice | <in> one body, 100%",
    topic="abort-guards",
    path="python/sglang/srt/queue.py",
    line=120,
    scope="Queue.release",
    patch_file="patches/v0.5.16/abort-guards.patch",
    patch_line=40,
    found="lines 80 and 120",
    hint="drop the hunk",
)
WARNING = Finding("PK809", Severity.WARNING, "latest is old \udcff\x07", path="patches/latest")
SOUND = Verify((Verified("v0.5.16", ("abort-guards",), 9, 28, (), seconds=0.5),))
BROKEN = Verify(
    (
        Verified("store", ("abort-guards",), 0, 0, (WARNING,)),
        Verified(
            "v0.5.16",
            ("abort-guards",),
            9,
            28,
            (ERROR,),
            (Accepted(ERROR, "meant so, by two", "2027-01-31"),),
            ("sgl-kernel/x.py: outside",),
        ),
    )
)
RESULTS = pytest.mark.parametrize("result", [SOUND, BROKEN], ids=["sound", "broken"])


@RESULTS
def test_json_is_what_its_schema_says(result: Verify) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(render_json(result))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["exit_code"] == (4 if result is BROKEN else 0)


def test_schema_refuses_what_it_does_not_know() -> None:
    schema = json.loads(SCHEMA.read_text())
    document = json.loads(render_json(BROKEN))
    document["subjects"][1]["findings"][0]["severity"] = "bad"
    assert not jsonschema.Draft202012Validator(schema).is_valid(document)


@RESULTS
def test_sarif_is_valid(result: Verify) -> None:
    log = json.loads(render_as(result, "sarif"))
    sarif_model.SarifLog.model_validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])


def test_sarif_points_into_the_patch_file_and_marks_what_is_accepted() -> None:
    (run,) = json.loads(render_as(BROKEN, "sarif"))["runs"]
    _, error, accepted = run["results"]
    place = error["locations"][0]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "patches/v0.5.16/abort-guards.patch"},
        "region": {"startLine": 40},
    }
    assert "suppressions" not in error
    assert accepted["suppressions"][0]["justification"] == "meant so, by two (until 2027-01-31)"


def test_fingerprint_survives_moved_lines_and_tells_findings_apart() -> None:
    from dataclasses import replace

    moved = replace(ERROR, line=130, patch_line=44, found="lines 90 and 130")
    assert fingerprint(moved) == fingerprint(ERROR)
    assert fingerprint(replace(ERROR, scope="Queue.resume")) != fingerprint(ERROR)


@RESULTS
def test_junit_counts_families_that_fail(result: Verify) -> None:
    suites = fromstring(render_as(result, "junit"))
    assert [suite.get("name") for suite in suites] == [subject.name for subject in result.subjects]
    failures = [case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None]
    assert failures == (["PK5 single application: nothing is there twice"] if result is BROKEN else [])
    assert all(int(str(suite.get("tests"))) == len(suite.findall("testcase")) for suite in suites)


def test_github_annotations_stand_on_the_patch_line() -> None:
    assert render_as(BROKEN, "github").splitlines() == [
        "::error file=patches/v0.5.16/abort-guards.patch,line=40,title=PK501 abort-guards::Queue.release is defined "
        "twice | <in> one body, 100%25%0Awhere: python/sglang/srt/queue.py:120, Queue.release%0Alines 80 and 120%0A"
        "hint: drop the hunk",
        "::warning file=patches/latest,title=PK809::latest is old \\xff\\x07%0Awhere: patches/latest",
        "::notice title=PK501 accepted until 2027-01-31::Queue.release is defined twice | <in> one body, 100%25%0A"
        "meant so, by two",
    ]
    assert render_as(SOUND, "github") == ""


def test_markdown_escapes_what_would_break_its_table() -> None:
    text = render_as(BROKEN, "markdown")
    assert "| PK501 (error) | v0.5.16 | `patches/v0.5.16/abort-guards.patch:40`<br>" in text
    assert "twice \\| &lt;in> one body" in text
    assert "### Accepted" in text
    assert "- v0.5.16: sgl-kernel/x.py: outside" in text
    assert render_as(SOUND, "markdown").count("###") == 0


def test_text_names_rule_place_and_mend() -> None:
    assert render_as(BROKEN, "text").splitlines() == [
        "warning: PK809 latest is old \\xff\\x07",
        "  where: patches/latest",
        "error: PK501 Queue.release is defined twice | <in> one body, 100%",
        "  where: python/sglang/srt/queue.py:120, Queue.release",
        "  patch: patches/v0.5.16/abort-guards.patch:40",
        "  found: lines 80 and 120",
        "  hint:  drop the hunk",
        "accepted: PK501 Queue.release is defined twice | <in> one body, 100%",
        "  until 2027-01-31: meant so, by two",
        "store: 1 topic: 1 warning (0.00 s)",
        "v0.5.16: 1 topic, 28 hunks in 9 files: 1 error, 1 accepted (0.00 s)",
        "  not run: sgl-kernel/x.py: outside",
    ]


@pytest.mark.parametrize("name", ["PK502", "pk502"])
def test_explain_tells_rule_reason_and_mend(name: str) -> None:
    shown = CliRunner().invoke(main, ["explain", name])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("PK502: the same change is there twice\nfamily single application")
    assert "To mend: " in shown.stdout


def test_explain_names_the_rules_of_the_family() -> None:
    shown = CliRunner().invoke(main, ["explain", "PK599"])
    assert shown.exit_code == 2
    assert "there are PK501, PK502" in shown.stderr


@pytest.mark.parametrize("value", ["sarif", "nonsense=x", "sarif="])
def test_write_takes_a_format_and_a_file(value: str) -> None:
    shown = CliRunner().invoke(main, ["verify", "--write", value])
    assert shown.exit_code == 2
    assert "FORMAT=FILE" in shown.stderr
