# Two commands are all a newcomer needs: make demo, make test. Each installs what it needs into .venv first.
PYTHON ?= python3
BIN := .venv/bin
comma := ,
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: help demo test check bench clean

help:
	@echo "make demo    release an embedded population, verify it, compare learners, leave a page with plots"
	@echo "make test    run the tests, torch included (set SFUMATO_DATA to a folder of benchmark datasets to run those on real data)"
	@echo "make test-fast  the same without what takes seconds: for while you work"
	@echo "make test-spark  the tests on Spark, which they install; Java 17 must be there"
	@echo "make check   ruff, strict types, import contracts"
	@echo "make pages   figures of the pages, from benchmarks/results"
	@echo "make docs    guides, proofs, research and references as a site, under build/site"
	@echo "make bench   speed benchmarks, as JSON (installs torch and opacus)"

.venv/base: pyproject.toml constraints.txt
	@echo "installing into .venv: minutes the first time, nothing later"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) --editable .
	@touch $@

.venv/dev: .venv/base
	$(PIP) --editable '.[dev]'
	@touch $@

.venv/docs: .venv/base
	$(PIP) --editable '.[docs]'
	@touch $@

.venv/deep: .venv/dev
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[deep]'
	@touch $@

.venv/spark: .venv/dev
	$(PIP) --editable '.[spark]'
	@touch $@

# What CI needs, in one run of pip: each run takes half a minute to find out what goes with what.
.PHONY: install
install:
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.[$(EXTRAS)]'
	@touch .venv/base $(foreach extra,$(subst $(comma), ,$(EXTRAS)),.venv/$(extra))

demo: .venv/base
	$(BIN)/sfumato demo --force

# The slowest of them are named at the end by: make test TEST=--durations=40
test: .venv/deep
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(TEST)

# While working: all but what takes seconds. Under two minutes on two cores.
.PHONY: test-fast
test-fast: .venv/deep
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not slow" $(TEST)

# Of their own, because Spark is 400 MB and needs Java: minutes, most of them for the start of one session.
.PHONY: test-spark
test-spark: .venv/spark
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest tests/private/test_spark.py "tests/test_docs.py::test_the_blocks_of_a_page_run_in_order[on-spark.md]" $(TEST)

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Figures in README, guides and research pages, from the runs in benchmarks/results. A test says when a page is stale.
.PHONY: pages
pages: .venv/dev
	$(BIN)/python benchmarks/fill_pages.py
	$(BIN)/python benchmarks/draw_table_method.py
	$(BIN)/python benchmarks/write_coverage.py

# The pages as they lie in the repository, so that links between them work in both places.
PAGES := build/pages
.PHONY: docs
docs: .venv/docs
	$(BIN)/python -m sfumato.cli.manual > docs/cli.md
	rm -rf $(PAGES) && mkdir -p $(PAGES)/benchmarks
	cp -R *.md LICENSE CITATION.cff Makefile Containerfile docs examples $(PAGES)
	cp -R benchmarks/README.md benchmarks/results $(PAGES)/benchmarks
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "read it: build/site/index.html; with the search: python3 -m http.server --directory build/site"

bench: .venv/deep
	@for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv demo-release demo-report.html

# The utility table: hours for all of it, resumable. A part of it: make bench-utility BENCH="--only adult --seeds 2"
.PHONY: bench-utility
bench-utility: .venv/deep
	$(BIN)/python benchmarks/utility.py $(BENCH)

# The zoo: tables of many shapes, resumable. A part of it: make bench-zoo JOBS=16 BENCH="--only xor-2 --methods auto --as new"
.PHONY: bench-zoo
bench-zoo: .venv/dev
	$(BIN)/python benchmarks/run_zoo.py --jobs $(or $(JOBS),1) $(BENCH)

# Every mechanism on the same data, resumable. A part of it: make bench-mechanisms BENCH="--only mst --datasets adult"
.PHONY: bench-mechanisms
bench-mechanisms: .venv/deep
	$(BIN)/python benchmarks/mechanisms.py $(BENCH)

# What plan expects of a release, simulated anew: minutes on 16 cores. make expectations JOBS=16 BENCH=--fresh
.PHONY: expectations
expectations: .venv/dev
	$(BIN)/python benchmarks/simulate_expectations.py --jobs $(or $(JOBS),1) $(BENCH)

# An audit of every mechanism, resumable: what an attacker can prove. make bench-audits BENCH="--only dpmix --epsilons 1"
.PHONY: bench-audits
bench-audits: .venv/deep
	$(BIN)/python benchmarks/audits.py $(BENCH)

# 200 audits of correct mechanisms, none of which may raise an alarm: an hour, resumable.
.PHONY: bench-alarms
bench-alarms: .venv/deep
	$(BIN)/python benchmarks/audits.py --alarms 200

# Faults are put into the source one at a time, and somebody must notice: an hour, resumable. make mutants BENCH=--again
.PHONY: mutants
mutants: .venv/deep
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/mutants/run.py $(BENCH)

# How often doctor is wrong, resumable: an hour. make doctor-alarms BENCH="--seeds 5"
.PHONY: doctor-alarms
doctor-alarms: .venv/dev
	$(BIN)/python benchmarks/doctor_alarms.py $(BENCH)

# The studies under docs/studies at full size: hours without a GPU, resumable. A part: make studies STUDY=opacus BENCH="--minutes 30"
.PHONY: studies
studies: .venv/deep
	for study in $(or $(STUDY),dpmix-thesis opacus autoencoder threea local-iic); do \
	  $(BIN)/sfumato study $$study --out docs/studies $(BENCH) || exit 1; done
