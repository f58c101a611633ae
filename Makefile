# Every target makes its own environment in .venv, with nothing but python3 and its venv module.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format bench clean

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh samples/demo.sh

test: $(READY)
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check gradcli tests samples
	$(BIN)/ruff format --check gradcli tests
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix gradcli tests samples
	$(BIN)/ruff format gradcli tests

bench: $(READY)
	$(BIN)/python tests/bench.py

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)
