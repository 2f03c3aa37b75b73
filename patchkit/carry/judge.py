"""Judge every carried edit before it may be called carried; what fails is suspect."""

from collections.abc import Sequence

from patchkit.carry.cases import Case
from patchkit.carry.follow import Library


def judge(cases: Sequence[Case], library: Library) -> None:
    """Mark the carried edits that fail a check as suspect, with the evidence."""
