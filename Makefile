# Everything sets itself up on a fresh machine: a virtual environment in .venv with the pinned versions. Integrations with
# large packages (spaCy, Ray and others) have a second environment, so that those packages do not restrict the versions of
# the rest. The second environment also sees the packages of .venv, after its own.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CHECK_PYTHON := import sys; sys.version_info >= (3, 11, 4) or sys.exit('Python 3.11.4 or newer: make PYTHON=python3.12')
INTEGRATIONS := .venv-integrations
INTEGRATIONS_STAMP := $(INTEGRATIONS)/.installed
DOCS := .venv-docs
DOCS_STAMP := $(DOCS)/.installed
MIN_COVERAGE := 85

# On few cores, idle threads that spin cost more than they gain.
export OMP_WAIT_POLICY := passive

# Some machines forbid Python to keep compiled modules; then each test process would compile everything it imports.
export PYTHONDONTWRITEBYTECODE :=

# Python compiles modules when it imports them, and it imports few of the 36,000 modules in the three environments.
INSTALL := python -m pip install --quiet --no-compile

# uv needs less processor time than pip. pip installs torch, because pip's settings may name an index of CPU wheels. pip
# also replaces uv where only pip is set up to reach the network.
UV := $(BIN)/uv pip install --quiet
NEWER_PIP := python -m pip install --quiet --upgrade 'pip>=25.1'  # older versions do not support groups
PROJECT := --editable . --editable packages/elmokit-ko

# The tests run in as many processes as there are cores, each with one thread.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

PYTEST_INTEGRATIONS := OMP_NUM_THREADS=1 $(INTEGRATIONS)/bin/python -m pytest tests/large_integrations tests/test_shape_checks.py --numprocesses auto --dist loadfile

.PHONY: help demo test test-integrations docs format lint check coverage wheel-test clean
.DEFAULT_GOAL := help

help:  ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP)  ## embed sentences with the bundled model; writes demo.html
	$(BIN)/elmokit demo

test: $(STAMP)  ## run all tests
	$(PYTEST)

test-integrations: $(INTEGRATIONS_STAMP)  ## run the tests of integrations with large packages, in a separate environment
	$(PYTEST_INTEGRATIONS)

format: $(STAMP)  ## format the code, and fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lint: $(STAMP)  ## lint, format, types, dependency order
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	PATH="$(abspath $(BIN)):$$PATH" pyright --verifytypes elmokit --ignoreexternal
	$(BIN)/lint-imports

check: lint test  ## lint, format, types, dependency order, all tests

coverage: $(STAMP) $(INTEGRATIONS_STAMP)  ## both kinds of tests again, nearly twice as long: which lines of each file they run
	$(PYTEST) --cov --cov-report=
	$(PYTEST_INTEGRATIONS) --cov --cov-append --cov-report=
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
	rm -rf $(VENV) $(INTEGRATIONS) $(DOCS) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || { $(PYTHON) -c "$(CHECK_PYTHON)" && $(PYTHON) -m venv $(VENV); }
	$(BIN)/$(INSTALL) torch uv --constraint constraints.txt
	$(UV) --python $(BIN)/python --group dev $(PROJECT) --constraint constraints.txt || \
	  { $(BIN)/$(NEWER_PIP) && $(BIN)/$(INSTALL) --group dev $(PROJECT) --constraint constraints.txt; }
	touch $@

# Only the group `docs`: mkdocstrings reads the source, so neither elmokit nor torch has to be installed.
$(DOCS_STAMP): pyproject.toml constraints-docs.txt
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	mkdir -p build
	$(DOCS)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['docs'], sep='\n')" > build/docs-requirements.txt
	$(DOCS)/bin/$(INSTALL) --requirement build/docs-requirements.txt --constraint constraints-docs.txt
	touch $@

$(INTEGRATIONS_STAMP): $(STAMP) constraints-integrations.txt
	test -x $(INTEGRATIONS)/bin/python || $(PYTHON) -m venv $(INTEGRATIONS)
	realpath $(VENV)/lib/python*/site-packages > $$(realpath $(INTEGRATIONS)/lib/python*/site-packages)/venv.pth
	mkdir -p build
	grep -vxFf constraints.txt constraints-integrations.txt > build/integrations-requirements.txt
	$(UV) --python $(INTEGRATIONS)/bin/python --no-deps --requirement build/integrations-requirements.txt --editable . || \
	  { $(INTEGRATIONS)/bin/$(NEWER_PIP) && $(INTEGRATIONS)/bin/$(INSTALL) --group integrations --editable . --constraint constraints-integrations.txt; }
	touch $@
