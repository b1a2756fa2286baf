# Each target sets up what it needs in .venv; a bare machine needs only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: native wheel demo check check-fast test test-all record fuzz lint docs bench records-cpu records-gpu records-gpus clean

# Compiles the kernels ahead of time: four CPU minutes the first time, later what was edited.
# Without a C compiler it says so, and Numba compiles them on first use.
LIBRARY := $(BIN)/python native/build.py

demo: $(VENV)/.vision
	$(LIBRARY) --stars 2
	$(BIN)/python examples/segment_photograph.py --out demo-output

# Lint, types and the fast tests, in which kernels run as plain Python: nothing is compiled.
check: $(VENV)/.dev
	$(MAKE) --jobs 2 --output-sync lint check-fast

# Only the files with the mark are imported. Where kernels are plain Python, NumPy warns of each wrap-around.
FAST := $(shell grep -rl --include='test_*.py' 'pytestmark = pytest.mark.fast' tests)
check-fast: $(VENV)/.dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m "not slow" -W ignore::RuntimeWarning $(FAST)

PYTEST := $(BIN)/python -m pytest
SHARED := --numprocesses 2 --dist loadfile --no-loadscope-reorder

# Everything but the slow tests and those that keep all cores busy.
test: $(VENV)/.dev
	$(LIBRARY)
	$(PYTEST) $(SHARED) -m "not slow and not alone"

test-all: $(VENV)/.dev
	$(LIBRARY)
	$(PYTEST) $(SHARED) -m "not alone" $(RECORD)
	$(PYTEST) -m alone $(RECORD) tests

# Run all tests on a quiet machine and record the seconds of each: tests/support/tiers.py uses them.
record:
	$(MAKE) test-all RECORD=--record-seconds

SECONDS ?= 600
fuzz: $(VENV)/.dev
	$(LIBRARY)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --out fuzz-report.json

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, in docs/_build/html; a warning is an error. About two minutes, of which the examples take one.
docs: $(VENV)/.docs
	$(LIBRARY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html."

bench: $(VENV)/.bench
	$(LIBRARY)
	$(BIN)/python -m benchmarks papers vision real --out bench-output

# Measure the records of README and docs/performance again, in records-output; go on where a run was ended.
# `python -m benchmarks.renew take records-output` puts them into the place of the old ones; with a number of
# seconds, `python -m benchmarks.renew cpu records-output 450` does a part.
records-cpu records-gpu records-gpus: $(VENV)/.bench
	$(LIBRARY)
	$(BIN)/python -m benchmarks.renew $(@:records-%=%) records-output

native: $(VENV)/.dev
	$(LIBRARY)

# The wheel for this platform, in dist/.
wheel: $(VENV)/.dev
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf $(VENV) demo-output bench-output records-output fuzz-report.json build dist docs/_build docs/auto_gallery docs/generated docs/api/generated

$(VENV)/.base:
	@echo "setting up an environment in $(VENV): half a minute"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "preflow needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

$(VENV)/.vision: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[build,vision]'
	touch $@

$(VENV)/.dev: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet --group dev -e '.[build,vision,networkx]'
	touch $@

$(VENV)/.docs: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet --group docs -e '.[build]'
	touch $@

$(VENV)/.bench: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet --group bench -e '.[build,vision]'
	touch $@
