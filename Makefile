# Every target does the set-up it needs; `make help` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: help demo check test test-fast bench golden lock setup clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## make .venv and install what is needed
$(STAMP): pyproject.toml requirements.lock scripts/setup.sh
	@PYTHON="$(PYTHON)" bash scripts/setup.sh
	@touch $@

check: $(STAMP) ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

test: $(STAMP) ## all tests
	$(BIN)/pytest -n 2 --dist worksteal

test-fast: $(STAMP) ## the tests of the edit loop
	$(BIN)/pytest -n 2 -m "not slow"

lock: $(STAMP) ## rewrite requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-emit-index-url --no-emit-find-links --no-header --no-annotate pyproject.toml -o requirements.lock

clean: ## remove every output
	rm -rf build
