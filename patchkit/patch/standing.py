"""How much of a series a set of files already has, told by the blob ids on the series' index lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.patch.hunks import BlobId, ChangeKind, FilePatch, TopicPatch, Verdict
from patchkit.patch.patchtext import blob_id

ABSENT = BlobId("0" * 40)  # what an index line says of a file that does not exist


class FileStanding(NamedTuple):
    """One file against its series.

    present: the id of its content; ABSENT where there is no such file.
    pristine, applied: what the series' first and last word on it is; empty where an index line is missing.
    after: after how many topics the file looks like this; empty for a file that the series does not know so.
    """

    path: str
    present: BlobId
    pristine: str
    applied: str
    after: frozenset[int]


class Standing(NamedTuple):
    """All files against their series. topics: how many are in; meaningful unless MIXED or UNKNOWN."""

    verdict: Verdict
    topics: int
    files: tuple[FileStanding, ...]

    @property
    def unknown(self) -> tuple[FileStanding, ...]:
        """The files that are in no state of the series."""
        return tuple(file for file in self.files if not file.after)


class _Touch(NamedTuple):
    """What the topic with this index says about one file: its stated ids before and after."""

    topic: int
    before: str
    after: str


def find_standing(
    series: Sequence[TopicPatch], files: Mapping[str, bytes | None], *, executable: Mapping[str, bool] | None = None
) -> Standing:
    """Return the one verdict for the whole series: PRISTINE, PARTLY, APPLIED, MIXED or UNKNOWN.

    A file alone cannot tell "pristine" from "applied" where a later topic changed it again; the series can.

    executable: decides only for a series that changes nothing but modes: wheels lose the executable bit.
    """
    touches = _touches(series)
    count = len(series)
    if not touches:
        done = _modes_are_set(series, executable or {})
        return Standing(Verdict.APPLIED if done else Verdict.PRISTINE, count if done else 0, ())
    stands = tuple(_stand(path, touches[path], files.get(path), count) for path in touches)
    common = frozenset(range(count + 1)).intersection(*(stand.after for stand in stands if stand.after))
    if any(not stand.after for stand in stands):
        return Standing(Verdict.UNKNOWN, 0, stands)
    if not common:
        return Standing(Verdict.MIXED, 0, stands)
    topics = max(common)
    verdict = Verdict.PRISTINE if topics == 0 else Verdict.APPLIED if topics == count else Verdict.PARTLY
    return Standing(verdict, topics, stands)


def is_stated(present: str, stated: str) -> bool:
    """Whether an index line's id, which may be abbreviated, names the present one."""
    if not stated.strip("0"):
        return bool(stated) and present == ABSENT
    return present.startswith(stated)


def id_of(content: bytes | None) -> BlobId:
    """Return the content's id; ABSENT for a file that does not exist."""
    return ABSENT if content is None else blob_id(content)


def series_paths(series: Iterable[TopicPatch]) -> list[str]:
    """Return every path that the series names, once, in its order."""
    sections = (section for topic in series for section in topic.patch.files)
    return list(dict.fromkeys(path for section in sections for path in (section.old_path, section.new_path)))


def _stand(path: str, touches: Sequence[_Touch], content: bytes | None, count: int) -> FileStanding:
    present = id_of(content)
    after = frozenset(
        topics for topics in range(count + 1) if any(is_stated(present, stated) for stated in _said(touches, topics))
    )
    return FileStanding(path, present, touches[0].before, touches[-1].after, after)


def _said(touches: Sequence[_Touch], topics: int) -> Iterator[str]:
    """Yield what the series says that the file's id is after so many topics."""
    earlier = [touch.after for touch in touches if touch.topic < topics]
    later = [touch.before for touch in touches if touch.topic >= topics]
    yield from earlier[-1:]
    yield from later[:1]


def _modes_are_set(series: Iterable[TopicPatch], executable: Mapping[str, bool]) -> bool:
    wanted = {section.path: section.new_mode == "100755" for topic in series for section in topic.patch.files}
    return all(executable.get(path) is value for path, value in wanted.items())


def _touches(series: Sequence[TopicPatch]) -> dict[str, list[_Touch]]:
    touches: dict[str, list[_Touch]] = {}
    for number, topic in enumerate(series):
        for section in topic.patch.files:
            for path, before, after in _changes(section):
                touches.setdefault(path, []).append(_Touch(number, before, after))
    return touches


def _changes(section: FilePatch) -> Iterator[tuple[str, str, str]]:
    """Yield each path of the section with its stated ids before and after."""
    before, after = section.preimage_id, section.postimage_id
    match section.kind:
        case ChangeKind.MODE:
            pass
        case ChangeKind.MODIFY:
            yield section.path, before, after
        case ChangeKind.CREATE:
            yield section.path, ABSENT, after
        case ChangeKind.DELETE:
            yield section.path, before, ABSENT
        case ChangeKind.RENAME:
            yield section.old_path, before, ABSENT
            yield section.new_path, ABSENT, after
        case ChangeKind.COPY:
            yield section.new_path, ABSENT, after
