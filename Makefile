# Each target sets up what it needs: on a fresh machine the first one makes .venv and installs Headway into it.

PYTHON ?= python3
PYTEST_ARGS ?=
WORK ?= runs/benchmarks
BIN := .venv/bin
# By path: a finder would lose to the clone's own directory where Python is started beside it.
EDITABLE := --config-settings editable_mode=compat -e
# One thread a worker: two workers of one thread are faster on two cores than two threads that wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: help test soak lint format demo benchmarks clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

test: .venv/installed ## Run the tests (make test PYTEST_ARGS="tests/unit -x")
	$(PYTEST) -n 2 --dist worksteal -m "not soak" $(PYTEST_ARGS)

soak: .venv/soak ## Run the tests that take long
	$(PYTEST) -m soak $(PYTEST_ARGS)

lint: .venv/installed ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed ## Put the code into the format that lint wants
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

demo: .venv/usable ## Train a small model on a phrasebook and look at what it learned
	$(BIN)/headway demo

benchmarks: .venv/installed ## Measure everything, beside other toolkits (make benchmarks DATA=...)
	@[ -n "$(DATA)" ] || { echo "make benchmarks: DATA is not given. Name the directory that has multi30k in it: make benchmarks DATA=data" >&2; exit 2; }
	$(BIN)/python benchmarks/all.py --data "$(DATA)" --work "$(WORK)" --only $(ONLY)

clean: ## Remove all that these targets made, but for runs/
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find headway tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/usable: pyproject.toml constraints.txt
	@echo "Installing Headway and what it needs into .venv; the first time this takes some minutes."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(EDITABLE) '.[report]'
	@touch $@

.venv/soak: .venv/installed
	@echo "Installing what only the long tests need: Marian's wheel, 600 MB."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(EDITABLE) '.[dev,report,soak]'
	@touch $@

.venv/installed: .venv/usable
	@echo "Installing what the tests and checks need."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(EDITABLE) '.[dev,report]'
	@touch $@
