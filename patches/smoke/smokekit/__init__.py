"""What the smoke tests share: stubs, the release adapter, fakes, queues and one-rank groups.

Runs inside the image under test: standard library, pytest, torch and sglang, nothing of patchkit.
"""
