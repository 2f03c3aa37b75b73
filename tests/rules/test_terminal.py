"""What a terminal shows: lines within its width, text that goes on below its column, verdicts in colour."""

import pytest

from patchkit.invocation import is_coloured
from patchkit.render.terminal import fit, paint


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        pytest.param("short", 10, "short", id="a line that fits stays"),
        pytest.param(
            "ab cd ef gh ij kl mn op qr st uv wx yz", 36, "ab cd ef gh ij kl mn op qr st uv wx\n  yz", id="text"
        ),
        pytest.param(
            "  found: one two three four five six seven",
            36,
            "  found: one two three four five six\n         seven",
            id="field",
        ),
        pytest.param(
            "ok   cache  one two three four five six seven eight",
            44,
            "ok   cache  one two three four five six\n            seven eight",
            id="the last column of a table",
        ),
        pytest.param("a" * 50 + " b", 40, "a" * 50 + "\n  b", id="a word that is too long stays whole"),
        pytest.param("a" * 50, 40, "a" * 50, id="nothing to break at"),
        pytest.param("x\n\ny\n", 40, "x\n\ny\n", id="line ends stay"),
    ],
)
def test_lines_are_broken_to_the_width(text: str, width: int, shown: str) -> None:
    assert fit(text, width) == shown


def test_no_word_is_lost_at_any_width() -> None:
    text = "verify  v0.5.23  " + " ".join(f"word{number}" for number in range(60))
    for width in range(30, 200):
        shown = fit(text, width)
        assert shown.split() == text.split()
        assert max(map(len, shown.split("\n"))) <= width


def test_verdicts_rule_ids_and_errors_are_coloured() -> None:
    assert paint("v0.5.23: 3 topics: verified (0.7 s)") == "v0.5.23: 3 topics: \x1b[32mverified\x1b[0m (0.7 s)"
    assert paint("error: no") == "\x1b[31merror:\x1b[0m no"
    assert paint("apply   failed  2 s") == "apply   \x1b[31mfailed\x1b[0m  2 s"
    assert paint("PK502 twice") == "\x1b[1mPK502\x1b[0m twice"


@pytest.mark.parametrize("text", ["the applied patch", "patches/ok/written.patch", "book  token"])
def test_other_words_are_not_coloured(text: str) -> None:
    assert paint(text) == text


@pytest.mark.parametrize(
    ("said", "environ", "is_terminal", "coloured"),
    [
        pytest.param("auto", {}, True, True, id="terminal"),
        pytest.param("auto", {}, False, False, id="pipe"),
        pytest.param("auto", {"NO_COLOR": "1"}, True, False, id="NO_COLOR"),
        pytest.param("auto", {"NO_COLOR": ""}, True, True, id="an empty NO_COLOR says nothing"),
        pytest.param("auto", {"TERM": "dumb"}, True, False, id="dumb terminal"),
        pytest.param("always", {"NO_COLOR": "1"}, False, True, id="asked for"),
        pytest.param("never", {}, True, False, id="asked not to"),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    said: str, environ: dict[str, str], is_terminal: bool, coloured: bool
) -> None:
    assert is_coloured(said, environ, is_terminal=is_terminal) is coloured
