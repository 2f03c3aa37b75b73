"""patchkit and git agree on accept or reject and on every byte, or patchkit refuses for a listed reason."""

import shutil
from pathlib import Path

import pytest

from patchkit import inimage
from patchkit.errors import ConfigError, ConflictError, PatchError, PatchkitError
from patchkit.patch.composing import Work
from patchkit.patch.hunks import ChangeKind, TopicPatch
from patchkit.patch.patchtext import read_patch, write_patch
from patchkit.patch.standing import id_of, is_stated
from patchkit.results.apply import Applied
from patchkit.verbs.apply import Wish, apply_work, stated_release
from tests.git.fuzz import Case, make_case, read_tree, run_git, write_tree

# What patchkit refuses although git applies it, by the words that it says so with.
STRICTER = {
    "equally well": "a tie, or a drift that points elsewhere: git takes the nearest, or the lower one",
    "above the hunk before it": "hunks out of order",
    "applied in part": "a look-alike of what the patch leaves behind: git would apply the rest",
    "nothing tells which": "could be applied and taken out: git would apply it twice",
    "no final line feed": "git takes a line for the file's last one, and joins it with the next",
    "its index line promises": "the result is not the one that the patch itself names",
}


def disagreement(case: Case, scratch: Path) -> str:
    """Return how patchkit and git disagree on the case; empty if they do not. The second word counts outcomes."""
    ours, gits = scratch / "ours", scratch / "gits"
    for folder in (ours, gits):
        folder.mkdir()
        write_tree(folder, case.target)
    before = read_tree(ours)
    outcome = run_patchkit(ours, case.patch)
    status = run_git(["apply", f"-p{outcome.strip}", "-"], gits, case.patch).returncode
    after_ours, after_gits = read_tree(ours), read_tree(gits)
    if outcome.error is not None:
        if after_ours != before or [path for path in ours.iterdir() if path.name == ".patchkit"]:
            return "refused, but the tree has changed"
        if status == 0 and after_gits != before and not is_listed(outcome.error):
            return f"git applies it, patchkit says: {outcome.error.what}; {outcome.error.found}"
        return ""
    if not outcome.changed:
        taken_out = run_git(["apply", f"-p{outcome.strip}", "-R", "--check", "-"], ours, case.patch)
        return "" if taken_out.returncode == 0 else "patchkit says already applied, git cannot take it out"
    if status != 0:
        return "patchkit applies it, git does not"
    if after_ours != after_gits:
        return "another result"
    return ""


class Outcome:
    """What patchkit did with a case."""

    error: PatchkitError | None = None
    changed = False
    strip = 1


def run_patchkit(folder: Path, raw: bytes) -> Outcome:
    outcome = Outcome()
    try:
        patch = read_patch(raw, name="x.patch")
        assert write_patch(patch) == raw, "not written as read"
        outcome.strip = max(section.strip for section in patch.files)
        work = Work("x.patch", (TopicPatch("x", patch),), ("x.patch",))
        result: Applied = apply_work(folder, work, Wish(), identify=stated_release)
    except PatchkitError as error:
        outcome.error = error
        return outcome
    outcome.changed = bool(result.files)
    shutil.rmtree(folder / ".patchkit", ignore_errors=True)
    return outcome


def is_listed(error: PatchkitError) -> bool:
    """Whether a refusal of what git takes has a reason that is documented."""
    if isinstance(error, PatchError):
        return bool(error.rule)
    assert isinstance(error, ConflictError | ConfigError)
    return any(words in f"{error.what}\n{error.where}\n{error.found}" for words in STRICTER)


def seeds(config: pytest.Config) -> range:
    first = int(config.getoption("--fuzz-seed"))
    return range(first, first + int(config.getoption("--fuzz-cases")))


def image_disagreement(case: Case, scratch: Path) -> str:
    """Return how the file that runs inside an image and git disagree; empty if they do not, or where it refuses.

    It proves the ids of each file before and after, so only results with the promised ids count as accepted.
    """
    try:
        sections = inimage.read_patch(case.patch)
    except inimage.RefusalError:
        return ""
    before = {name: content for name, (content, _) in case.target.items()}
    results = {path: inimage.apply_hunks(before.get(path, b""), hunks) for path, hunks in sections.items()}
    if any(placed.problem for _, hunks in results.values() for placed in hunks):
        return ""
    after = {path: content for path, (content, _) in results.items()}
    if not is_promised(case.patch, before, after):
        return ""
    scratch.mkdir()
    write_tree(scratch, case.target)
    if run_git(["apply", "-"], scratch, case.patch).returncode != 0:
        return "it applies, git does not"
    gits = read_tree(scratch)
    wrong = [path for path, content in after.items() if content != gits.get(path, (b"", False))[0]]
    return f"another result in {wrong}" if wrong else ""


def is_promised(raw: bytes, before: dict[str, bytes], after: dict[str, bytes]) -> bool:
    """Whether every file has the ids of its index line, before and after."""
    try:
        sections = read_patch(raw).files
    except PatchError:
        return False
    for section in sections:
        old = before.get(section.path)
        new = None if section.kind is ChangeKind.DELETE else after.get(section.path)
        if not (is_stated(id_of(old), section.preimage_id) and is_stated(id_of(new), section.postimage_id)):
            return False
    return True


@pytest.mark.slow
@pytest.mark.timeout(0)  # any number of cases may be asked for
def test_patchkit_the_file_inside_the_image_and_git_agree(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inimage, "PREFIX", "")  # the cases' files are not sglang's
    wrong = []
    applied = 0
    repository, scratch = tmp_path / "repository", tmp_path / "case"
    repository.mkdir()
    for seed in seeds(pytestconfig):
        scratch.mkdir()
        case = make_case(seed, repository)
        for found in (disagreement(case, scratch), image_disagreement(case, scratch / "image")):
            wrong += [f"seed {seed} ({', '.join(case.damages)}): {found}"] if found else []
        applied += (scratch / "image").exists()
        shutil.rmtree(scratch)
    assert not wrong, "\n".join(wrong[:50])
    assert applied * 200 > len(seeds(pytestconfig)), "the file inside the image has refused nearly everything"


@pytest.mark.parametrize(
    "seed",
    [
        126,
        243,
        1895,
        1982,
        2234,
        2788,
        3181,
        3417,
        3818,
        200047,
        300056,
        300684,
        301777,
        400351,
        400560,
        509055,
        7009126,
    ],
)
def test_cases_that_once_disagreed(seed: int, tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "case").mkdir()
    assert disagreement(make_case(seed, tmp_path / "repository"), tmp_path / "case") == ""
