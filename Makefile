# Everything sets itself up on a fresh machine: a virtual environment in .venv, and the pinned versions in it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Idle threads that spin cost more than they give on few cores.
export OMP_WAIT_POLICY := passive

.PHONY: demo test check clean

demo: $(STAMP)  ## set up, then embed sentences with the bundled model; writes demo.html
	$(BIN)/elmokit demo

test: $(STAMP)  ## set up, then the tests
	$(BIN)/python -m pytest

check: $(STAMP)  ## lint, format, types, floors, tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest

clean:
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint constraints.txt
	touch $@
