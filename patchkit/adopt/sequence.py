"""In which order the patches of a set apply, and what says so."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from patchkit.adopt.arrange import natural_key
from patchkit.adopt.dockerfile import Dockerfile, apply_order
from patchkit.adopt.nouns import Parsed
from patchkit.upstream.belonging import same_id

_NUMBER = re.compile(r"(\d{1,4})[-_.]")
_MAX_TRIED = 6  # patches; a set that no index line and no number orders is small


class OrderReason(StrEnum):
    """What the order of a set was taken from."""

    SINGLE = "single file"
    SERIES = "series file"
    DOCKERFILE = "Dockerfile"
    BLOBS = "blob ids"
    NUMBERS = "numbers"
    TRIED = "what applies"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class Order:
    """The patches in order, and why it is this one."""

    patches: tuple[Parsed, ...]
    reason: OrderReason


def order_patches(
    patches: Sequence[Parsed],
    *,
    listed: Sequence[str] = (),
    dockerfiles: Sequence[Dockerfile] = (),
    fits: Callable[[Sequence[Parsed]], bool] | None = None,
) -> Order:
    """Return the patches in the order that the best witness gives.

    Witnesses, best first: a series file, the Dockerfile, blob ids (one patch leaves what another expects), numbers
    in the names, trying. Where the first that speaks gives an order that does not apply, the next is asked.

    fits: whether an order applies to the pin; None where there is no pin to try on.
    """
    if len(patches) == 1:
        return Order(tuple(patches), OrderReason.SINGLE)
    by_name = tuple(sorted(patches, key=lambda parsed: natural_key(parsed.file.name)))
    answers = [
        (OrderReason.SERIES, _by_listing(by_name, listed)),
        (OrderReason.DOCKERFILE, _by_dockerfile(by_name, dockerfiles)),
        (OrderReason.BLOBS, _by_blobs(by_name)),
        (OrderReason.NUMBERS, by_name if all(_NUMBER.match(each.file.name) for each in by_name) else None),
        (OrderReason.NAMES, by_name),
    ]
    spoken = [Order(order, reason) for reason, order in answers if order is not None]
    if fits is None:
        return spoken[0]
    for answer in spoken:
        if fits(answer.patches):
            return answer
    tried = _by_trying(by_name, fits)
    return Order(tried, OrderReason.TRIED) if tried else spoken[0]


def _by_listing(patches: Sequence[Parsed], listed: Sequence[str]) -> tuple[Parsed, ...] | None:
    by_name = {parsed.file.name: parsed for parsed in patches}
    found = [by_name[name] for name in listed if name in by_name]
    return tuple(found) if found and len(found) == len(patches) else None


def _by_dockerfile(patches: Sequence[Parsed], dockerfiles: Sequence[Dockerfile]) -> tuple[Parsed, ...] | None:
    ordered = apply_order(dockerfiles, [parsed.file for parsed in patches])
    if ordered is None:
        return None
    by_file = {parsed.file: parsed for parsed in patches}
    return tuple(by_file[file] for file in ordered)


def _by_blobs(patches: Sequence[Parsed]) -> tuple[Parsed, ...] | None:
    """Put each patch after the one that leaves the blob it expects; None where no id says so, or they contradict."""
    leaves: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, parsed in enumerate(patches):
        for section in parsed.patch.files:
            if section.postimage_id.strip("0"):
                leaves[section.new_path].append((number, section.postimage_id))
    before: dict[int, set[int]] = {
        later: {
            former
            for section in parsed.patch.files
            for former, left in leaves[section.old_path]
            if former != later and same_id(left, section.preimage_id)
        }
        for later, parsed in enumerate(patches)
    }
    if not any(before.values()):
        return None
    ordered: list[int] = []
    while len(ordered) < len(patches):
        ready = [at for at in before if at not in ordered and before[at] <= set(ordered)]
        if not ready:
            return None
        ordered.append(ready[0])
    return tuple(patches[at] for at in ordered)


def _by_trying(patches: Sequence[Parsed], fits: Callable[[Sequence[Parsed]], bool]) -> tuple[Parsed, ...] | None:
    """Build an order one patch at a time: the first that fits behind those that are placed."""
    if len(patches) > _MAX_TRIED:
        return None
    placed: list[Parsed] = []
    left = list(patches)
    while left:
        for parsed in left:
            if fits([*placed, parsed]):
                placed.append(parsed)
                left.remove(parsed)
                break
        else:
            return None
    return tuple(placed)
