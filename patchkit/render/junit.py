"""verify as JUnit XML: one suite a series, one case a family of rules."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from patchkit.model import Severity
from patchkit.render import printable
from patchkit.render.verify import accepted_block, block
from patchkit.results.verify import Verified, Verify
from patchkit.rules.explained import FAMILIES


def text(result: Verify) -> str:
    """Return the document. A case fails when its family has an error; warnings and accepted ones are its output."""
    suites = Element("testsuites", name="patchkit verify")
    for subject in result.subjects:
        _suite(suites, subject)
    indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode")


def _suite(suites: Element, subject: Verified) -> None:
    suite = SubElement(suites, "testsuite", name=subject.name, time=f"{subject.seconds:.3f}")
    failures = 0
    for family, title in FAMILIES.items():
        case = SubElement(
            suite, "testcase", classname=f"patchkit.verify.{subject.name}", name=f"{family} {title}", time="0"
        )
        findings = [finding for finding in subject.findings if finding.rule.startswith(family)]
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        if errors:
            failures += 1
            failure = SubElement(case, "failure", type=errors[0].rule, message=_clean(errors[0].message))
            failure.text = _clean("\n".join(map(block, errors)))
        others = [block(finding) for finding in findings if finding.severity is not Severity.ERROR]
        others += [accepted_block(each) for each in subject.accepted if each.finding.rule.startswith(family)]
        if others:
            SubElement(case, "system-out").text = _clean("\n".join(others))
    suite.set("tests", str(len(FAMILIES)))
    suite.set("failures", str(failures))
    suite.set("errors", "0")


def _clean(words: str) -> str:
    """Return the text without what XML cannot hold."""
    return "".join(char for char in printable(words) if char >= " " or char in "\n\t")
