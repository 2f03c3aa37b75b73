"""What a Dockerfile does with patches: which it applies, in which order, how strictly, onto which image."""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patchkit.adopt.nouns import PatchFile

_VARIABLE = re.compile(r"\$\{(\w+)(?::?[-+][^}]*)?\}|\$(\w+)")
_APPLY = re.compile(r"(?<![\w./-])(?:git(?:\s+-C\s+\S+)?\s+(?:apply|am)|patch)(\s[^;&|]*)")
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;]+);\s*do\b(.*?)\bdone\b", re.DOTALL)
_TOLERANT = (
    (re.compile(r"\|\|\s*(true|:|echo)"), "a failure is ignored"),
    (re.compile(r"--reject\b"), "hunks that fail are left out"),
    (re.compile(r"(?:^|\s)(-C\s?[0-2]|-F\s?[1-9]|--fuzz)"), "context lines are ignored"),
    (re.compile(r"--(3way|ignore-whitespace|ignore-space-change|whitespace=fix)\b|(?:^|\s)(-3|-l)\b"), "it may merge"),
)


@dataclass(frozen=True, slots=True)
class Apply:
    """One place at which patches are applied.

    patterns: the file names or globs; a variable that only the build knows is "*". tolerance: why exit 0 proves
    nothing there; empty where it is strict.
    """

    line: int
    patterns: tuple[str, ...]
    tolerance: str


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """One Dockerfile. images: each FROM with its line. copied: the sources of COPY and ADD as globs."""

    shown: str
    images: tuple[tuple[int, str], ...]
    copied: tuple[str, ...]
    applies: tuple[Apply, ...]
    arguments: Mapping[str, str]

    def applied_at(self, file: PatchFile) -> tuple[int, int] | None:
        """Return where the file is applied: the number of the step and of the name in it; None where it is not."""
        if not any(_covers(source, file.path) for source in self.copied):
            return None
        for number, apply in enumerate(self.applies):
            for at, pattern in enumerate(apply.patterns):
                if fnmatch.fnmatchcase(file.name, pattern.rsplit("/", 1)[-1]):
                    return number, at
        return None


def read_dockerfile(text: str, *, shown: str) -> Dockerfile:
    """Read what matters for patches. What a shell would compute is not computed: a variable is "*"."""
    images: list[tuple[int, str]] = []
    copied: list[str] = []
    applies: list[Apply] = []
    arguments: dict[str, str] = {}
    for line, word, rest in _instructions(text):
        if word in ("ARG", "ENV"):
            name, _, value = rest.partition("=")
            arguments[name.strip()] = value.strip().strip("\"'")
        elif word == "FROM":
            images.append((line, _filled(rest.split()[0], arguments)))
        elif word in ("COPY", "ADD"):
            words = [part for part in rest.strip("[]").replace(",", " ").split() if not part.startswith("--")]
            copied += [_glob(source.strip("\"'")).removeprefix("./") for source in words[:-1]]
        elif word == "RUN":
            applies += _applies(line, rest)
    return Dockerfile(shown, tuple(images), tuple(copied), tuple(applies), arguments)


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, instruction, rest) with continuation lines joined and comments left out."""
    start, whole = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        if not whole:
            start = number
        whole += " " + line.strip().removesuffix("\\")
        if line.rstrip().endswith("\\"):
            continue
        word, _, rest = whole.strip().partition(" ")
        if word:
            yield start, word.upper(), rest.strip()
        whole = ""


def _applies(line: int, command: str) -> Iterator[Apply]:
    loops = {match[1]: match[2].split() for match in _LOOP.finditer(command)}
    for match in _APPLY.finditer(command):
        clause = re.split(r"&&|;", command[match.start() :])[0]
        tolerance = "; ".join(why for pattern, why in _TOLERANT if pattern.search(clause))
        names: list[str] = []
        for word in re.findall(r"[^\s<>]+", match[1]):
            bare = word.strip("\"'")
            variable = re.fullmatch(r"\$\{?(\w+)\}?", bare)
            if variable and variable[1] in loops:
                names += [_glob(pattern.strip("\"'")) for pattern in loops[variable[1]]]
            elif bare.endswith((".patch", ".diff")) or (bare.startswith("$") and not bare.startswith("$(")):
                names.append(_glob(bare))
        if names:
            yield Apply(line, tuple(names), tolerance)


def _glob(text: str) -> str:
    return _VARIABLE.sub("*", text)


def _filled(text: str, arguments: Mapping[str, str]) -> str:
    """Put the defaults of ARG into a text; a variable without one stays."""
    return _VARIABLE.sub(lambda match: arguments.get(match[1] or match[2], match[0]), text)


def _covers(source: str, path: str) -> bool:
    """Whether a COPY source, a glob, brings the path: the file itself or a folder above it."""
    parts = path.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    pattern = source.rstrip("/")
    return pattern in ("", ".") or any(fnmatch.fnmatchcase(each, pattern) for each in above)


def apply_order(dockerfiles: Sequence[Dockerfile], files: Sequence[PatchFile]) -> list[PatchFile] | None:
    """Return the files in the order in which the first Dockerfile that applies all of them does so."""
    for dockerfile in dockerfiles:
        places = {file: dockerfile.applied_at(file) for file in files}
        found = [(place, file.name, file) for file, place in places.items() if place is not None]
        if found and len(found) == len(files):
            return [file for _, _, file in sorted(found, key=lambda each: each[:2])]
    return None
