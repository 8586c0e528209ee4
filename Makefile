# Needs Python 3.11 or newer, pip and make; everything else goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: run test test-slow test-minimum check format bench clean help

help:            ## show what can be made
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## /\t/' | expand -t 16

# One stamp for each set of extras: a second call installs nothing.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "markovdro needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.core

$(VENV)/.check: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[check]'
	@touch $@ $(VENV)/.core

run: $(VENV)/.core  ## install, and show a worst case
	$(BIN)/python examples/quickstart.py

test: $(VENV)/.test  ## install, and run all tests but the slow ones
	$(BIN)/python -m pytest -n auto -m 'not slow'

test-slow: $(VENV)/.test  ## hold the statistical promises by seeded simulation
	$(BIN)/python -m pytest -n auto -m slow tests

test-minimum:    ## run the tests with the oldest dependencies that are allowed
	test -x .venv-minimum/bin/python || $(PYTHON) -m venv .venv-minimum
	.venv-minimum/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[test]' --constraint tests/minimum.txt
	.venv-minimum/bin/python -m pytest -n auto -m 'not slow' tests

check: $(VENV)/.check  ## lint, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.check  ## bring the sources into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.test  ## compare with other solvers; writes benchmarks/results.md
	$(BIN)/python -m benchmarks

clean:           ## remove what was made
	rm -rf $(VENV) .venv-minimum .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
