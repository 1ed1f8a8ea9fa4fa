# `make demo` and `make test` set up everything they need in .venv; a second run finds it there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APP := $(VENV)/.app
DEV := $(VENV)/.dev
LOWEST := .venv-lowest
NEWEST := .venv-newest
LABEL_STUDIO_VENV := .venv-label-studio
LABEL_STUDIO_VERSION := 1.23.2
OTHER ?= python3.13
MEASURE := $(VENV)/.measure
AUDIT := $(VENV)/.audit
DOCS := $(VENV)/.docs
MINUTES ?= 60
SAMPLE ?= 1000
TESTS ?=
EXTRAS ?=
# Three processes on two cores, because browsers, Spark and commands wait a lot. tests/conftest.py orders the files.
PYTEST := -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# Without compiled files, every command that a test starts would compile numba and scipy anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test packages kernels test-lowest test-lowest-few test-platforms test-long coverage mutants advisories \
  lint types doctest doctest-src doctest-docs imports check docs docs-serve bench clean

help:
	@echo "make demo   set up and run the main job on the paper's synthetic crowd"
	@echo "make test   set up and run the tests"
	@echo "make test-lowest   run the tests with the lowest declared package versions; TESTS= runs some of them"
	@echo "make test-platforms   install Label Studio (1 GB, in $(LABEL_STUDIO_VENV)) and run the tests that need its server"
	@echo "make test-long MINUTES=60   check the properties of the fair rule on random and adversarial instances"
	@echo "make coverage   run the tests and measure which lines and branches they reach"
	@echo "make mutants SAMPLE=1000   make small changes to the code and see whether a test fails"
	@echo "make packages   build wheel and sdist, and use them in empty environments, one per extra"
	@echo "make advisories   look up known vulnerabilities of the installed packages"
	@echo "make docs   build the documentation site in build/site; make docs-serve also shows it"
	@echo "make check  run lint, type checks, doctests and the import rules"
	@echo "make bench  compare speed and memory with other packages, as ratios in the same run"

$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "setting up $(VENV); this takes a minute"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@touch $@

$(APP): $(VENV)/.uv pyproject.toml
	$(BIN)/uv pip install --quiet --python $(VENV) -e '.[app]' pandas
	@touch $@

$(DEV): $(APP)
	$(BIN)/uv pip install --quiet --python $(VENV) --group test --group lint
	@touch $@

demo: $(APP)
	@$(BIN)/faircrowd demo

test: $(DEV)
	@$(BIN)/python $(PYTEST) $(TESTS)

# uv can choose the lowest versions. They have no wheels for newer versions of Python.
$(LOWEST)/.made: pyproject.toml | $(VENV)/.uv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "the lowest versions need Python 3.11; name it, for example: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv --clear --without-pip $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct '.[app,stream,spark]' --group test
	@touch $@

# The package is installed, not linked: next to the sources are kernels compiled by another version of numba.
test-lowest: $(LOWEST)/.made
	@$(BIN)/uv pip install --quiet --python $(LOWEST) --no-deps --reinstall-package faircrowd .
	@$(LOWEST)/bin/python $(PYTEST) $(TESTS)

# A few of them, with kernels as plain Python because compiling them takes a minute. The exact limits of the gate would
# take two minutes as plain Python.
FEW := fair/test_kept.py audit/test_kept.py votes/test_frames.py votes/test_encode.py
test-lowest-few:
	@NUMBA_DISABLE_JIT=1 $(MAKE) test-lowest \
	  TESTS="-W ignore --deselect tests/audit/test_kept.py::test_gates $(FEW:%=tests/%)"

# Compiles most kernels once, before several processes would each do so. It also imports the files of all tests: they
# use kernels, and pytest keeps its version of them.
kernels: $(DEV)
	@$(BIN)/python -m pytest -k test_kept

# Another version of Python, for tests that compare results with it.
$(NEWEST)/.made: pyproject.toml | $(VENV)/.uv
	$(OTHER) -m venv --clear --without-pip $(NEWEST)
	$(BIN)/uv pip install --quiet --python $(NEWEST) -e '.[app]'
	@touch $@

# A real Label Studio: it is large, and its packages do not go with ours, so it has an environment of its own.
$(LABEL_STUDIO_VENV)/.made: | $(VENV)/.uv
	$(PYTHON) -m venv --clear --without-pip $(LABEL_STUDIO_VENV)
	$(BIN)/uv pip install --quiet --python $(LABEL_STUDIO_VENV) label-studio==$(LABEL_STUDIO_VERSION)
	@touch $@

test-platforms: $(DEV) $(LABEL_STUDIO_VENV)/.made
	@FAIRCROWD_SLOW=1 $(BIN)/python -m pytest -v tests/publish tests/serve

test-long: $(DEV)
	$(BIN)/python tests/long/properties.py --minutes $(MINUTES)

$(MEASURE): $(DEV)
	$(BIN)/uv pip install --quiet --python $(VENV) --group measure
	@touch $@

# Kernels are machine code, which is not measured, so some small tests run again with kernels as plain Python.
coverage: $(MEASURE)
	rm -f .coverage .coverage.*
	$(BIN)/coverage run $(PYTEST)
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -W ignore @tests/kernels.txt
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=95

mutants: $(MEASURE)
	$(BIN)/python tests/mutants/run.py --sample $(SAMPLE)

$(AUDIT): $(DEV)
	$(BIN)/uv pip install --quiet --python $(VENV) --group audit
	@touch $@

# EXTRAS= tries some of them: "bare" is faircrowd alone.
packages: $(DEV)
	@$(BIN)/python .ci/packages.py --uv $(BIN)/uv $(EXTRAS)

advisories: $(AUDIT)
	@$(BIN)/python .ci/advisories.py

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

doctest: doctest-src doctest-docs

doctest-src: $(DEV)
	$(BIN)/python -m pytest --doctest-modules src

# Every block of README and docs: commands and Python. make test runs them too.
doctest-docs: $(DEV)
	$(BIN)/python -m pytest tests/pages

$(DOCS): $(DEV)
	$(BIN)/uv pip install --quiet --python $(VENV) --group docs
	@touch $@

# Warnings are errors; notebooks are run; nothing is fetched.
docs: $(DOCS)
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/site
	@echo "build/site/index.html"

docs-serve: docs
	@echo "http://127.0.0.1:8000"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8000

imports: $(DEV)
	$(BIN)/python -m pytest tests/test_architecture.py

check: lint types doctest imports

bench: $(DEV)
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/fair.py

clean:
	rm -rf build docs/reference $(VENV) $(LOWEST) $(NEWEST) $(LABEL_STUDIO_VENV) faircrowd-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
