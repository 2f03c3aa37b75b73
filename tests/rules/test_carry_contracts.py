"""Does what a hunk calls still exist, and does it still take what it is given?"""

import pytest

from patchkit.carry.nouns import Cause
from tests.rules.carrying import PATH, carry

POOL = "python/sglang/srt/pool.py"
CALLER = "def stop(worker, request):\n    worker.halt(request.rid)\n    return True\n"
DEFINES = "class Pool:\n    def forget_request(self, {}):\n        self.held.clear()\n"


@pytest.mark.parametrize(
    ("parameters", "cause"),
    [
        pytest.param("rid", None, id="as before"),
        pytest.param("rid, force=False", None, id="one more that may be left out"),
        pytest.param("handle", Cause.SIGNATURE, id="another one"),
        pytest.param("rid, owner", Cause.SIGNATURE, id="one more that is required"),
    ],
)
def test_call_of_a_method_whose_parameters_changed_is_suspect(parameters: str, cause: Cause | None) -> None:
    patched = CALLER.replace("    return", "    worker.pool.forget_request(request.rid)\n    return")
    old = {PATH: CALLER, POOL: DEFINES.format("rid")}
    new = {PATH: "import os\n\n\n" + CALLER, POOL: DEFINES.format(parameters)}
    (decision,) = carry(old, {**old, PATH: patched}, new).decisions
    assert (decision.cause if decision.suspect else None) is cause


@pytest.mark.parametrize(
    ("inherited", "cause"),
    [
        pytest.param("forget_request", None, id="the base class still has it"),
        pytest.param("forget_all", Cause.STALE, id="no class has it any more"),
    ],
)
def test_call_of_an_inherited_method_that_is_gone_is_suspect(inherited: str, cause: Cause | None) -> None:
    patched = CALLER.replace("    return", "    worker.forget_request(request.rid)\n    return")
    old = {PATH: CALLER, POOL: DEFINES.format("rid")}
    new = {PATH: "import os\n\n\n" + CALLER, POOL: DEFINES.format("rid").replace("forget_request", inherited)}
    (decision,) = carry(old, {**old, PATH: patched}, new).decisions
    assert (decision.cause if decision.suspect else None) is cause
