"""What every test has: a sealed environment, and the options that ask for the network or an engine."""

from pathlib import Path

import pytest

ASKED_FOR = ("network", "container", "browser", "slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    for name in ASKED_FOR:
        parser.addoption(f"--{name}", action="store_true", help=f"run the tests marked {name}")
    parser.addoption("--fuzz-cases", type=int, default=2000, help="how many cases the apply fuzzer makes (2000)")
    parser.addoption("--fuzz-seed", type=int, default=0, help="the seed of its first case, and of the kills (0)")
    parser.addoption("--apply-kills", type=int, default=200, help="how often an apply, or its reverse, is killed (200)")
    parser.addoption("--night-kills", type=int, default=1, help="at how many points a real night is killed (1)")
    parser.addoption("--night-seed", type=int, default=0, help="the seed of these points (0)")
    parser.addoption(
        "--everything", action="store_true", help="run every test: network, container, browser and slow ones too"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for name in ASKED_FOR:
            if name in item.keywords and not (config.getoption(f"--{name}") or config.getoption("--everything")):
                item.add_marker(pytest.mark.skip(reason=f"not asked for: --{name}"))


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of its own: no user's git settings, dates, names, editor, prompts or locale reach a test."""
    home = tmp_path_factory.mktemp("home")
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A U Thor",
        "GIT_AUTHOR_EMAIL": "author@example.com",
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
        "GIT_COMMITTER_NAME": "C O Mitter",
        "GIT_COMMITTER_EMAIL": "committer@example.com",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "false",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }.items():
        monkeypatch.setenv(name, value)
    return home
