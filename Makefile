# Every target creates .venv and installs what it needs on its own.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all lint clean

demo: .venv/demo
	$(BIN)/python examples/figure2_problem.py

test: lint
	$(BIN)/pytest -m "not slow"

test-all: lint
	$(BIN)/pytest

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[progress]"
	touch $@

.venv/test: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache
