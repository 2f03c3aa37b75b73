"""A store with one small pin, two topics and their smoke tests; its upstream lies in the cache already."""

import hashlib
from pathlib import Path

from patchkit.patch.patchtext import blob_id
from patchkit.upstream.access import Access
from patchkit.upstream.objects import File
from patchkit.verbs.refresh import refresh_pin

PIN = "v0.5.12.post1"
VERSION = PIN[1:]
ABORT = "python/sglang/srt/abort.py"
UPSTREAM = {
    "python/sglang/__init__.py": "",
    "python/sglang/version.py": f'__version__ = "{VERSION}"\n',
    ABORT: "def abort(req):\n    req.done = True\n    return req\n",
    "python/sglang/srt/late.py": "LIMIT_S = None\n",
}
TOPICS = {
    "abort-guards": """\
diff --git a/python/sglang/srt/abort.py b/python/sglang/srt/abort.py
index {abort}..{gone} 100644
--- a/python/sglang/srt/abort.py
+++ b/python/sglang/srt/abort.py
@@ -1,3 +1,3 @@
 def abort(req):
-    req.done = True
+    req.gone = True
     return req
""",
    "timeouts": """\
diff --git a/python/sglang/srt/late.py b/python/sglang/srt/late.py
index {late}..{limit} 100644
--- a/python/sglang/srt/late.py
+++ b/python/sglang/srt/late.py
@@ -1 +1 @@
-LIMIT_S = None
+LIMIT_S = 600
""",
}
IDS = {
    "abort": blob_id(UPSTREAM[ABORT].encode()),
    "gone": blob_id(UPSTREAM[ABORT].replace("req.done", "req.gone").encode()),
    "late": blob_id(b"LIMIT_S = None\n"),
    "limit": blob_id(b"LIMIT_S = 600\n"),
}
CONFTEST = """\
import pytest
KINDS = {"fault": "fault", "regression": "regression"}

def pytest_collection_modifyitems(items):
    for item in items:
        kind = next(mark for mark in KINDS if item.get_closest_marker(mark))
        item.user_properties += [("topic", item.path.parent.name), ("kind", kind), ("fault", item.name[5:8])]

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call":
        error = call.excinfo and call.excinfo.value
        item.outcome = "ok" if error is None else "fault" if isinstance(error, AssertionError) else "drift"
    if call.when == "teardown":
        report.user_properties.append(("outcome", item.outcome))
    return report
"""
SMOKE = {
    "pytest.ini": "[pytest]\nmarkers =\n    fault\n    regression\n",
    "conftest.py": CONFTEST,
    "abort-guards/test_abort.py": """\
import types
import pytest
from sglang.srt.abort import abort

@pytest.mark.fault
def test_A_1_abort_marks_the_request_gone():
    assert vars(abort(types.SimpleNamespace())) == {"gone": True}

@pytest.mark.regression
def test_A_2_abort_returns_its_request():
    request = types.SimpleNamespace()
    assert abort(request) is request
""",
    "timeouts/test_late.py": """\
import pytest
from sglang.srt import late

@pytest.mark.fault
def test_T_1_there_is_a_limit():
    assert late.LIMIT_S == 600
""",
}


def write_store(root: Path, cache: Path) -> Access:
    """Write the store and put its upstream into the cache; nothing is downloaded."""
    access = Access(cache, offline=True, deadline_s=120)
    sha256 = hashlib.sha256(b"wheel").hexdigest()
    objects = access.objects
    ref = f"refs/patchkit/index/{VERSION}/{sha256}"
    objects.keep(ref, [(path, File(text.encode())) for path, text in UPSTREAM.items()], note="sglang.whl")
    tree = objects.tree_at(ref, "python/sglang")
    pin = (
        f'version = "{VERSION}"\ncommit = "{"5" * 40}"\ntree = "{tree}"\n'
        f'[distribution]\nfilename = "sglang.whl"\nsha256 = "{sha256}"\n'
    )
    topics = "".join(f'[{topic}]\ntitle = "{topic}"\nfault = "f"\nwhy = "w"\n' for topic in TOPICS)
    files = {
        "version.txt": "nightly-dev-20260101a\n",
        "patches/latest": f"{PIN}\n",
        "patches/topics.toml": topics,
        f"patches/{PIN}/pin.toml": pin,
        f"patches/{PIN}/series": "".join(f"{topic}.patch\n" for topic in TOPICS),
        **{f"patches/{PIN}/{topic}.patch": text.format(**IDS) for topic, text in TOPICS.items()},
        **{f"patches/smoke/{path}": text for path, text in SMOKE.items()},
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    refresh_pin(root, PIN, access)
    return access
