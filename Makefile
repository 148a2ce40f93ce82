# `make run` and `make test` are all one needs; both bring the clone up to date first, which takes a moment when it is.
# Python comes from the system; everything else is found or installed by console/setup.

PYTHON ?= python3
WORKERS ?= 2
SBOM ?= sbom.json
SETUP := $(PYTHON) -m console.setup --for
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Tests that prove the same as every day, at full size.
PROOFS := tests/jobs/approvals/test_machine.py tests/jobs/test_machine.py tests/guards/test_generated_requests.py \
	tests/guards/test_generated_page_requests.py tests/jobs/engine/test_predicates.py tests/jobs/engine/test_preview_soundness.py \
	tests/jobs/commands/restore/test_spark.py tests/jobs/engine/test_swaps.py \
	tests/console/test_full_disk.py
# Guards that read files alone: a second each, so they are asked first.
GUARDS := $(addprefix tests/guards/test_,$(addsuffix .py,addresses clocks docs generated_pages patience pictures readers rooms settings templates tracked_files))

.DEFAULT_GOAL := help
.PHONY: help run cluster setup test test-all ready weights test-fast check bench soak docs pages format lock compose-secrets audit-dependencies sbom wheel clean

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Start the whole console on this machine and print its address; Ctrl-C stops it
	@$(SETUP) run
	@$(PYTHON) -m console.setup.later & exec $(BIN)/python manage.py up

cluster: ## Start the parts of docker-compose.yml on this machine, a Spark cluster among them; Ctrl-C stops all
	@$(SETUP) test
	@exec $(BIN)/python manage.py cluster

setup: ## Find or install everything that running and testing need, and start nothing
	@$(SETUP) test

test: ## Run the gate: every light test, then the heavy ones that hold a promise (20 minutes on two cores)
	@$(SETUP) test
	@$(BIN)/python -m tests.gate --workers $(WORKERS)

test-all: ## Run all tests, clusters, HDFS, soaks and benches at their tiny size too; goes on where it was stopped
	@$(SETUP) test-all
	@$(BIN)/python -m tests.gate.whole

ready: ## Run .ci/run on HEAD in a clean clone beside two busy processes; keeps its test-results/gate.json
	@$(SETUP) test
	@$(BIN)/python -m tests.gate.ready

weights: ## Balance the processes of tests by what the last `make test` and `make test-all` have measured
	@$(BIN)/python -m tests.gate.weights

test-fast: ## Run the tests that need neither Spark nor a browser nor whole processes
	@$(SETUP) test
	@$(PYTEST) -n $(WORKERS) -m "not spark and not browser and not servers and not dear"

check: ## Check style, types, known holes, borders between the parts, guards that read files alone, and that no migration is missing
	@$(SETUP) check
	@$(PYTEST) -q -n 0 --durations 0 --durations-min 5 -p no:cacheprovider $(GUARDS)
	@$(BIN)/python -m tests.pictures.staleness
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/bandit -q -c pyproject.toml -r console jobs tables manage.py
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	bash -n .ci/run

bench: ## Measure speed at full size and print the figures of docs/benchmarks.md (long)
	@$(SETUP) bench
	@LEVEE_BENCH_SIZE=full $(PYTEST) tests/bench tests/cluster/test_benches.py -s --timeout 0

soak: ## Start, kill and stop Levee over and over at full size (long)
	@$(SETUP) bench
	@LEVEE_SOAK_SIZE=full $(PYTEST) tests/soak $(PROOFS) -s --timeout 0
	@LEVEE_SOAK_SIZE=full $(PYTEST) tests -m long -s --timeout 0

docs: ## Build the help and take the pictures of docs/ that are out of date; PICTURES=all takes every one
	@$(SETUP) test
	@$(BIN)/python -m tests.pictures $(PICTURES)
	@$(SETUP) test

pages: ## Write the pages of docs/ that are made from code: permissions, settings and features
	@$(SETUP) check
	@$(BIN)/python -m tests.guards.permission_tables
	@$(BIN)/python -m tests.guards.settings_page
	@$(BIN)/python -m tests.guards.feature_table

format: ## Put Python files into the house style
	@$(SETUP) check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## Refresh the locks of Python and front-end packages
	@$(SETUP) test
	@$(PYTHON) -m console.setup.lock

compose-secrets: ## Write .env with random secrets for docker-compose.yml, unless there is one
	@$(PYTHON) -m console.setup.compose_secrets

audit-dependencies: ## Compare the locked Python packages with published advisories; 2 when no source of them answers
	@$(SETUP) check
	@$(BIN)/python -m console.setup.advisories

sbom: ## Write a bill of materials (CycloneDX) of all that is locked to sbom.json, or to SBOM=FILE
	@$(SETUP) check
	@$(BIN)/python -m console.setup.bill_of_materials $(SBOM)

wheel: ## Build the command line as a wheel that needs no clone, into dist/
	@$(SETUP) check
	@rm -rf dist
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/*.whl

clean: ## Remove what set-up made; your data in .levee is kept
	rm -rf .venv .tools frontend/node_modules frontend/dist frontend/dist.part frontend/collected
	rm -rf dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis test-results
	@if [ -e .levee ]; then echo "Kept: .levee (tables' catalog, jobs, audit). To remove it as well: rm -rf .levee"; fi
