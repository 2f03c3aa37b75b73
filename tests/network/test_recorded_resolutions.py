"""What a person settled at the last bump is in the ledger: the bump made again stops for no conflict."""

from pathlib import Path

import pytest

from patchkit.upstream.access import Access
from patchkit.verbs.rebase import Wish, begin_rebase
from tests.real_night import CACHE, make_start

pytestmark = pytest.mark.network


def test_second_newest_pin_is_carried_to_the_newest_without_a_conflict(tmp_path: Path) -> None:
    start = make_start(tmp_path)
    told = begin_rebase(start.root, Access(CACHE, deadline_s=600), Wish(start.newest, accept_suspects=True))
    assert told.state == "written", told
    replayed = [text for topic in told.topics for hunk in topic.hunks for text in hunk.evidence if "recorded" in text]
    assert len(replayed) == len(list((start.root / "patches/ledger").glob("*.json"))), "no entry is left unused"
