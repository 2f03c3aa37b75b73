"""A file cut into parts is the same file, and its parts say what the whole says."""

import pytest

from patchkit.source.parts import PartKind, cut_parts
from patchkit.source.scopes import parse_python, scopes

CLASS = b"""@dataclass
class Queue(
    Base,
):
    \"\"\"class Text:\"\"\"
    size: int = 0

    @property
    def first(self):
        def inner(): pass
        return inner
    # the end

    class Inner:
        def first(self): pass
    later = 1

    if size:
        def last(self): return 1

    else:
        async def last(self): return 2
    end = 3

last = 1
def after(): pass
"""
TEXTS = [
    pytest.param(CLASS, id="a class with decorators, inner classes and branches"),
    pytest.param(CLASS.replace(b"\n", b"\r\n"), id="lines that end in CR LF"),
    pytest.param(b'class A:\n    """\nclass B:\n    def c(self): pass\n"""\n    def d(self): pass\n', id="in a string"),
    pytest.param(b"class A: x = 1\nclass B:\n  def c(self): pass\n  def d(self): pass", id="other indentation"),
    pytest.param(b"if a:\n    def b(): pass\nelse:\n    def b(): pass\n", id="definitions in branches"),
    pytest.param(b"@a(\n    b,\n)\nclass D:\n    @e\n    @f\n    class G: pass\n    def h(self): pass\n", id="inner"),
    pytest.param(b"", id="nothing"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_parts_say_what_the_whole_says(text: bytes) -> None:
    assert scopes(text) == scopes(text, parse_python(text))


@pytest.mark.parametrize("text", TEXTS)
def test_parts_together_are_the_whole(text: bytes) -> None:
    parts = list(cut_parts(text))
    assert b"".join(part.text for part in parts) == text
    assert [part.at for part in parts] == [text[: text.index(part.text)].count(b"\n") for part in parts]


def test_a_class_is_cut_into_its_methods() -> None:
    kinds = [part.kind for part in cut_parts(CLASS)]
    assert kinds == [PartKind.HEAD, PartKind.BODY, PartKind.BODY, PartKind.PLAIN, PartKind.PLAIN]


def test_a_fault_in_one_part_is_the_file_s_fault() -> None:
    found = scopes(CLASS + b"def broken(:\n")
    assert (found.problem, found.problem_line) == ("invalid syntax", CLASS.count(b"\n") + 1)
