# Everything sets itself up on a fresh machine: a virtual environment in .venv, and the pinned versions in it. What needs
# large packages (spaCy, Ray and others) has another one, so that they decide nothing for the rest; it sees the packages
# of .venv behind its own.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOORS := .venv-doors
DOORS_STAMP := $(DOORS)/.installed
DOCS := .venv-docs
DOCS_STAMP := $(DOCS)/.installed
MIN_COVERAGE := 85

# Idle threads that spin cost more than they give on few cores.
export OMP_WAIT_POLICY := passive

# Some machines forbid Python to keep compiled modules: each process of the tests would compile what it imports.
export PYTHONDONTWRITEBYTECODE :=

# Python compiles what it imports: a small part of the 36,000 modules of the three environments.
INSTALL := python -m pip install --quiet --no-compile

# uv takes less of the processor than pip, which is for networks that are set up in pip's way only, and for torch, whose
# wheels for CPUs such settings may name.
UV := $(BIN)/uv pip install --quiet

# The tests run in as many processes as there are cores, each with one thread.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

PYTEST_DOORS := OMP_NUM_THREADS=1 $(DOORS)/bin/python -m pytest tests/doors tests/test_shape_checks.py --numprocesses auto --dist loadfile

.PHONY: help demo test test-doors docs format lint check coverage wheel-test clean
.DEFAULT_GOAL := help

help:  ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP)  ## embed sentences with the bundled model; writes demo.html
	$(BIN)/elmokit demo

test: $(STAMP)  ## run all tests
	$(PYTEST)

test-doors: $(DOORS_STAMP)  ## run the tests of integrations with large packages, in an environment of their own
	$(PYTEST_DOORS)

format: $(STAMP)  ## format the code, and fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lint: $(STAMP)  ## lint, format, types, floors
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports

check: lint test  ## lint, format, types, floors, all tests

coverage: $(STAMP) $(DOORS_STAMP)  ## both kinds of tests again, nearly twice as long: which lines of each file they run
	$(PYTEST) --cov --cov-report=
	$(PYTEST_DOORS) --cov --cov-append --cov-report=
	$(BIN)/python -m coverage json --quiet -o build/coverage.json
	$(BIN)/python tests/check_coverage.py build/coverage.json --at-least $(MIN_COVERAGE)

docs: $(DOCS_STAMP)  ## build the documentation as a site, build/site, strictly; needs no torch
	$(DOCS)/bin/mkdocs build --strict

wheel-test: $(STAMP)  ## build the wheel, install it elsewhere, run doctor and demo with it
	rm -rf build/wheel-test
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel-test .
	$(PYTHON) -m venv build/wheel-test/venv
	build/wheel-test/venv/bin/python -m pip install --quiet --constraint constraints.txt build/wheel-test/elmokit-*.whl
	cd build/wheel-test && venv/bin/elmokit doctor && venv/bin/elmokit demo

clean:  ## remove the virtual environment and all that was built
	rm -rf $(VENV) $(DOORS) $(DOCS) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/$(INSTALL) torch uv --constraint constraints.txt
	$(UV) --python $(BIN)/python --editable '.[dev]' --constraint constraints.txt || \
	  $(BIN)/$(INSTALL) --editable '.[dev]' --constraint constraints.txt
	touch $@

# The extra `docs` alone: mkdocstrings reads the source, so neither elmokit nor torch has to be installed.
$(DOCS_STAMP): pyproject.toml constraints-docs.txt
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	mkdir -p build
	$(DOCS)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['docs'], sep='\n')" > build/docs-requirements.txt
	$(DOCS)/bin/$(INSTALL) --requirement build/docs-requirements.txt --constraint constraints-docs.txt
	touch $@

$(DOORS_STAMP): $(STAMP) constraints-doors.txt
	test -x $(DOORS)/bin/python || $(PYTHON) -m venv $(DOORS)
	realpath $(VENV)/lib/python*/site-packages > $$(realpath $(DOORS)/lib/python*/site-packages)/venv.pth
	mkdir -p build
	grep -vxFf constraints.txt constraints-doors.txt > build/doors-requirements.txt
	$(UV) --python $(DOORS)/bin/python --no-deps --requirement build/doors-requirements.txt --editable . || \
	  $(DOORS)/bin/$(INSTALL) --editable '.[doors]' --constraint constraints-doors.txt
	touch $@
