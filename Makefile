# Each target sets up what it needs in .venv; a bare machine needs only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test fuzz lint bench clean

demo: $(VENV)/.vision
	$(BIN)/python examples/segment_photograph.py --out demo-output

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not alone"
	$(BIN)/python -m pytest -m alone tests

SECONDS ?= 600
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --out fuzz-report.json

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(BIN)/preflow bench papers vision real --out bench-output

clean:
	rm -rf $(VENV) demo-output bench-output fuzz-report.json build dist

$(VENV)/.base:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "preflow needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.vision: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[vision]'
	touch $@

$(VENV)/.dev: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[dev,vision,networkx]'
	touch $@

$(VENV)/.bench: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[vision,bench]'
	touch $@
