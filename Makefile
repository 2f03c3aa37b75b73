# Each target does all of its set-up on a fresh machine: Python 3.11 or later, git and make are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: run test lint nightly browser clean

run: $(VENV)/.ready  ## apply, verify, build and smoke the newest pin (ARGS="--engine venv" chooses the engine)
	$(BIN)/patchkit run --verbose $(ARGS)

test: $(VENV)/.ready  ## the fast tests (ARGS=--everything adds network, container, browser and slow ones)
	$(BIN)/python -m pytest $(ARGS)

nightly: $(VENV)/.ready  ## carry to the newest release and publish it as a branch and a tag (ARGS="--push origin")
	$(BIN)/patchkit nightly --verbose $(ARGS)

browser: $(VENV)/.ready  ## what the tests in Chromium need; installs Chromium as root on Debian where there is none
	command -v chromium || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,browser]'

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("patchkit needs Python 3.11 or later") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) out dist .pytest_cache .mypy_cache .ruff_cache
