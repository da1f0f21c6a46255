# A fresh machine needs Python 3.11 or newer, make and git; everything else comes into .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := pyproject.toml constraints.txt
CHECKED := sim protocols scenarios grpc_demo

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint types bench bench-smoke docs wheel clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/.ready ## run the first scenario: three failure detectors over five regions
	$(BIN)/splitbrain run detectors-five-regions

test: .venv/.ready ## run the tests, without the slow ones
	$(BIN)/python -m pytest -n auto -q -m "not slow"

test-all: .venv/.ready ## run every test, the slow ones too
	$(BIN)/python -m pytest -n auto -q

lint: .venv/.dev types ## style, formatting, spelling, types and who imports whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell

types: .venv/.dev ## check the types, also as a user's protocol sees them
	$(BIN)/mypy --strict $(CHECKED)
	$(BIN)/pyright tests/typing

bench: .venv/.ready ## measure and compare with the targets
	$(BIN)/python -m benchmarks

bench-smoke: .venv/.ready ## run each benchmark once, briefly
	$(BIN)/python -m benchmarks --smoke

docs: .venv/.docs ## build the documentation into docs/_build
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build

wheel: .venv/.dev ## build the wheel and the source archive into dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist

clean: ## remove what was built, and the environments
	rm -rf .venv .venv-interpreters build dist docs/_build .mypy_cache .ruff_cache .pytest_cache

.venv/.ready: $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "splitbrain needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>/dev/null || echo 'not to be found'); try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[plot,test,rich]'
	@touch $@

.venv/.dev: .venv/.ready
	$(PIP) -e '.[plot,test,rich,dev]'
	@touch $@

.venv/.docs: .venv/.ready
	$(PIP) -e '.[docs]'
	@touch $@
