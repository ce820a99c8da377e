# Every target does the set-up it needs; `make help` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PYTHON ?= python3
BIN := .venv/bin
# Compiled modules are kept, whatever the shell says: each simulation imports them anew.
unexport PYTHONDONTWRITEBYTECODE
# Nothing multiplies large matrices: threads for that only wait, in each process, for 0.1 s.
export OPENBLAS_NUM_THREADS := 1
STAMP := .venv/.ready

.PHONY: help demo check test test-fast bench-tests search bench attack fuzz mutation netlist-mutants source-mutants formal deadlocks coverage fidelity docs site golden records lock setup clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(STAMP) ## make .venv and install what is needed
$(STAMP): pyproject.toml requirements.lock scripts/setup.sh
	@PYTHON="$(PYTHON)" bash scripts/setup.sh
	@touch $@

check: $(STAMP) ## format, lint, spelling and terms, long sentences, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/python -m docs.sentences
	$(BIN)/pyright

test: $(STAMP) ## all tests but those of large volume, which make bench has
	$(BIN)/pytest -n 2 --dist loadgroup

test-fast: $(STAMP) ## the tests of the edit loop
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow"

bench-tests: $(STAMP) ## all tests; print the slowest twenty, and simulator builds apart
	$(BIN)/pytest -n 2 --dist loadgroup --timings

search: $(STAMP) ## properties with ten times the examples, others in each run
	$(BIN)/pytest -n 2 --dist loadgroup -m "not sim" --hypothesis-profile=search $(or $(TESTS),tests/fred_hw tests/perfmodel tests/tracemodel tests/clustermodel tests/studies)

demo: $(STAMP) ## from a specification to a wafer, into build/demo
	@bash scripts/demo.sh

BENCHES := routing generator wafer scale report traces link switch mesh saturation endpoint plane sampled mesh_collectives schedules themis libra roce repurpose study explore synth demo tests
# All of them run, whatever one of them misses: it takes hours.
bench: $(STAMP) ## measure: routing, generator, wafer, report, traces, link, switch, mesh, the model against RTL, schedules, clock and area, time of the demo and of the tests; tests of large volume
	@missed=; for one in $(BENCHES); do \
	  echo "$(BIN)/python tests/bench/bench_$$one.py"; \
	  $(BIN)/python tests/bench/bench_$$one.py || missed="$$missed bench_$$one.py"; done; \
	  echo "$(BIN)/pytest -n 2 --dist loadgroup -m long"; \
	  $(BIN)/pytest -n 2 --dist loadgroup -m long || missed="$$missed pytest"; \
	  test -z "$$missed" || { echo "missed a goal, or failed:$$missed"; exit 1; }

attack: $(STAMP) ## attack the hardware with random legal work, and record it; SEED=, MINUTES= (30), or CASE= to repeat a failure
	$(BIN)/python -m testbench.campaigns.attack $(if $(CASE),--case $(CASE),--seed $(or $(SEED),1) --minutes $(or $(MINUTES),30) --record testbench/evidence/records/attacks.json)

fuzz: $(STAMP) ## feed readers and command line nonsense; SEED=, INPUTS=, MINUTES= (1,000,000 or 30 minutes)
	$(BIN)/python -m tests.fuzz.fuzz --seed $(or $(SEED),1) --inputs $(or $(INPUTS),1000000) --minutes $(or $(MINUTES),30)

# Both samples are drawn and recorded, whatever survives of the first one.
mutation: $(STAMP) ## make netlist-mutants, then source-mutants
	@missed=0; $(MAKE) netlist-mutants || missed=1; $(MAKE) source-mutants && exit $$missed

netlist-mutants: $(STAMP) ## change netlists of units, see whether their properties fail, and record it; SEED= (2 minutes)
	$(BIN)/python -m tests.mutation.netlists --seed $(or $(SEED),1) --record testbench/evidence/records/netlist-mutants.json

source-mutants: $(STAMP) ## change lines of the sources, see whether tests fail, and record it; SEED=, MUTANTS= (40 take 11 minutes)
	$(BIN)/python -m tests.mutation.sample --seed $(or $(SEED),1) --mutants $(or $(MUTANTS),40) --record testbench/evidence/records/source-mutants.json

formal: $(STAMP) ## prove properties of the hardware, and refute each for a mutant (at most 25 minutes)
	$(BIN)/fred formal --output build/formal/results.json

deadlocks: $(STAMP) ## search all short queues of descriptors on small fabrics for deadlocks, and record it (an hour)
	$(BIN)/python -m testbench.formal.descriptor_queues --record testbench/evidence/records/deadlocks.json

coverage: $(STAMP) ## measure coverage of the generated Verilog and of cover points, and record it; SEED= (15 minutes)
	$(BIN)/python -m testbench.coverage.measure --seed $(or $(SEED),1) --record testbench/evidence/records/coverage.json

fidelity: $(STAMP) ## print the experiments of docs/explanation/fidelity.md, wafer-model.md and congestion-control.md (9 minutes)
	$(BIN)/python docs/experiments/readings.py
	$(BIN)/python docs/experiments/sweeps.py
	$(BIN)/python docs/experiments/left_out.py
	$(BIN)/python docs/experiments/trains.py
	$(BIN)/python docs/experiments/packets.py

docs: $(STAMP) ## rewrite the pages and figures of docs that come from code
	$(BIN)/python -m docs.generate
	$(BIN)/python -m gen.registers >docs/reference/registers.md

site: $(STAMP) ## build the documentation site into build/site
	$(BIN)/python -m sphinx -q -W --keep-going -n -b html -d build/site-kept docs build/site
	@echo "open build/site/index.html"

golden: $(STAMP) ## rewrite the golden Verilog and the figures of the ideal protocol; review the difference
	$(BIN)/python tests/gen/golden/rewrite.py
	$(BIN)/python -m tests.studies.rewrite

records: $(STAMP) ## measure again each record whose design or inputs have changed (hours if all have)
	$(BIN)/fred records update --stale

lock: $(STAMP) ## rewrite requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-emit-index-url --no-emit-find-links --no-header --no-annotate pyproject.toml -o requirements.lock

clean: ## remove every output
	rm -rf build
