# Every target makes .venv itself; only Python >= 3.11 and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUTF8 := 1

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-all check format bench mini study clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ". Run: make PYTHON=/path/to/python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[all,dev]'
	@touch $@

venv: $(INSTALLED)  ## create .venv with everything the project uses

demo: $(INSTALLED)  ## build a small edition offline and score three retrievers on it
	$(BIN)/fashion-rq activate
	HF_HUB_OFFLINE=1 HF_EVALUATE_OFFLINE=1 $(BIN)/fashion-rq demo

test: $(INSTALLED)  ## the tests, a few minutes
	$(BIN)/python -m pytest -m "not slow"

test-all: $(INSTALLED)  ## the slow and the real-data tests
	$(BIN)/python -m pytest -m slow --durations=15

check: $(INSTALLED)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/typecheck.py

format: $(INSTALLED)  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED)  ## time our functions against public peers, as ratios
	$(BIN)/python -m pip install --quiet -c constraints.txt ranx ir-measures vector-quantize-pytorch
	for script in scripts/bench/*.py; do $(BIN)/python $$script || exit 1; done

mini: $(INSTALLED)  ## rebuild the embedded mini edition
	$(BIN)/python scripts/mini.py

study: $(INSTALLED)  ## studies over seeds and settings; results go to docs/
	for script in scripts/study/*.py; do $(BIN)/python $$script || exit 1; done

clean:  ## remove .venv and build leftovers
	rm -rf $(VENV) build dist *.egg-info out
