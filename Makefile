# `make test` and `make reproduce` need python3 (3.11 or later) with venv, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# Arguments for the command that a target runs: make reproduce ARGS=--update
ARGS ?=
# For each entry point that `make fuzz` searches.
SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help env test lint pytest reproduce fuzz soak lab benchmark lock clean

help:
	@echo 'make test       style, types, notebooks and tests'
	@echo 'make reproduce  every figure and table, from stored data   (ARGS=--update, ...)'
	@echo 'make benchmark  measure this machine into performances/local'
	@echo 'make lab        JupyterLab with the environment of the project'
	@echo 'make fuzz       search every entry point for SECONDS (60)   (ARGS=parties, ...)'
	@echo 'make soak       the long tests'
	@echo 'make lock       resolve requirements.lock again   (ARGS=--upgrade for newer versions)'
	@echo 'make clean      remove what the other targets made'

# Modules are compiled when first imported: most of what is installed never is.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	touch $(READY)

env: $(READY)

test: lint pytest

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --verify $(NOTEBOOKS))

pytest: $(READY)
	$(BIN)/pytest -n 2 $(ARGS)

reproduce: $(READY)
	$(BIN)/iot2 reproduce $(ARGS)

fuzz: $(READY)
	$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS) $(ARGS)

soak: $(READY)
	$(BIN)/pytest -m soak --timeout 0 $(ARGS)

lab: $(READY)
	JUPYTER_PREFER_ENV_PATH=1 $(BIN)/python -m jupyterlab $(ARGS)

benchmark: $(READY)
	$(BIN)/iot2 bench --platform local $(ARGS)

# uv alone resolves for every platform at once; it stays out of the environment.
build/uv/bin/uv:
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --disable-pip-version-check --quiet uv

lock: build/uv/bin/uv
	build/uv/bin/uv pip compile pyproject.toml --all-extras --group build \
		--universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command 'make lock' --quiet --output-file requirements.lock $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
