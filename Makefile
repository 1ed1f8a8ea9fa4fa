# `make demo` and `make test` set up everything they need in .venv; a second run finds it there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APP := $(VENV)/.app
DEV := $(VENV)/.dev
MINUTES ?= 60

.PHONY: help demo test test-long lint types doctest check bench clean

help:
	@echo "make demo   set up and run the main job on the paper's synthetic crowd"
	@echo "make test   set up and run the tests"
	@echo "make test-long MINUTES=60   the laws of the fair rule on random and adversarial instances"
	@echo "make check  lint, types, doctests and the law of imports"
	@echo "make bench  speed and memory, as ratios against peers in the same run"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; say which: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "setting up $(VENV); this takes a minute"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(APP): $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[app]' pandas
	@touch $@

$(DEV): $(APP)
	$(BIN)/python -m pip install --quiet --group test --group lint
	@touch $@

demo: $(APP)
	@$(BIN)/faircrowd demo

# Three processes on two cores: browsers and Spark wait a lot.
test: $(DEV)
	@$(BIN)/python -m pytest -n 3 --dist loadfile

test-long: $(DEV)
	$(BIN)/python tests/long/laws.py --minutes $(MINUTES)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

doctest: $(DEV)
	$(BIN)/python -m pytest --doctest-modules src
	$(BIN)/python -m pytest --doctest-glob='*.md' README.md docs

check: lint types doctest
	$(BIN)/python -m pytest tests/test_architecture.py

bench: $(DEV)
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/fair.py

clean:
	rm -rf $(VENV) faircrowd-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
