# Everything a person does with this repository. Needs Python 3.11 or later, make, and a package index.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than cores: some tests wait for something else than the processor.
JOBS ?= 3
# Machines for which every locked package has a wheel: Linux with glibc 2.28 (Debian 10, RHEL 8) or later, and macOS.
MACHINES := x86_64-manylinux_2_28 aarch64-manylinux_2_28 aarch64-apple-darwin
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --custom-compile-command "make lock" pyproject.toml

.PHONY: help run test quick watch check style types layers guide console-check import-tests format bench release cluster survey crash mutants lot simulate month field-day openapi schema lock clean console

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk 'BEGIN {FS = ":.*## "} {printf "  make %-10s %s\n", $$1, $$2}'

run: $(VENV)/$(if $(FIELD),dev,server).stamp ## serve the sandbox with its own PostgreSQL on 127.0.0.1:8000 (FIELD=1 with simulated sites and a gateway)
	@echo "Building the console and the guide, where they have changed."
	@$(BIN)/python web/build.py & $(BIN)/python guide/build.py; wait
	@echo "Starting the service."
	@$(if $(FIELD),$(BIN)/gridloom gateway field &) exec $(BIN)/gridloom serve

console: $(VENV)/dev.stamp ## build the console, with what checks and tests it
	$(BIN)/python web/build.py --tools

# What Python compiles is kept, also where PYTHONDONTWRITEBYTECODE is set: a run of the tests starts some hundred processes.
test: $(VENV)/dev.stamp console ## run every test, on a real PostgreSQL (TESTS=tests/room for some; STANDBY=1 through a standby)
	$(if $(STANDBY)$(TESTS),,$(BIN)/python web/tools.py test)
	env -u PYTHONDONTWRITEBYTECODE $(if $(STANDBY),GRIDLOOM_TEST_STANDBY=1) $(BIN)/pytest -n $(JOBS) --dist loadscope $(TESTS)

quick: $(VENV)/dev.stamp ## run the pure tests and those of the rooms that changed since main, within a minute
	@$(BIN)/python -m tests.quick

feeds-stand-in: $(VENV)/dev.stamp ## serve made-up market data in the form of the public sources, and print the settings
	@$(BIN)/python -m tests.feeds.stand_in

watch: $(VENV)/dev.stamp ## run `make quick` again whenever a file is saved
	@$(BIN)/python -m tests.quick --watch

check: style types layers console-check guide ## format, lint, types, layers

style: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

layers: $(VENV)/dev.stamp
	$(BIN)/lint-imports --no-cache

console-check: $(VENV)/dev.stamp console
	$(BIN)/python web/tools.py check

# Each process of a run imports all tests: whoever did so before has left what Python compiles of them.
import-tests: $(VENV)/dev.stamp
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest --collect-only -qq > /dev/null || $(BIN)/pytest --collect-only -qq

guide: $(VENV)/dev.stamp ## build the guide from docs/, strictly
	$(BIN)/python guide/build.py

format: $(VENV)/dev.stamp console ## put the code into its usual shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python web/tools.py format

bench: $(VENV)/dev.stamp ## measure the product against its ceilings (BENCH=name for one; DATABASE_URL=… there)
	$(BIN)/python -m bench $(BENCH) $(if $(DATABASE_URL),--database '$(DATABASE_URL)')

cluster: $(VENV)/dev.stamp ## a primary, a synchronous standby and two services on this machine (PORT=8001)
	@exec $(BIN)/python -m bench.local_cluster $(if $(PORT),--port $(PORT))

survey: $(VENV)/dev.stamp ## live two simulated days, then drive every operation once (DATABASE_URL=… there; STANDBY=1 LAG=2s through a standby; CALLERS=4 at once)
	$(BIN)/python -m bench.api_coverage $(if $(DATABASE_URL),'$(DATABASE_URL)') $(if $(STANDBY),--standby,--days) $(if $(LAG),--lag $(LAG)) $(if $(CALLERS),--callers $(CALLERS)) $(if $(KEEP),--keep $(KEEP)survey)

crash: $(VENV)/dev.stamp ## kill -9 at random under load, and look for what is lost (DATABASE_URL=… there, its nodes on this machine included; STANDBY=1 with one; QUICK=1 for few; KEEP=citus_ keeps results)
	$(BIN)/python -m bench crash events_crash auctions_crash $(if $(DATABASE_URL),node_crash) --strict $(if $(QUICK),--quick) $(if $(STANDBY),--standby) $(if $(DATABASE_URL),--database '$(DATABASE_URL)') $(if $(KEEP),--keep $(KEEP))

mutants: $(VENV)/dev.stamp ## plant faults in a copy and see that the tests notice
	$(BIN)/python -m bench.mutation_tests

lot: $(VENV)/dev.stamp ## plant faults drawn by lot from all sources, and list what their rooms' tests miss (COUNT=40 SEED=… ONLY=/revenue/)
	$(BIN)/python -m bench.mutation_lot $(or $(COUNT),40) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

release: $(VENV)/dev.stamp ## build wheel, sdist, bill of materials and checksums, and prove the wheel (VERSION=0.2.0)
	$(BIN)/python deploy/release.py '$(VERSION)'

simulate: $(VENV)/dev.stamp ## live random lives of many users against an independent oracle (SECONDS=600 SEED=1 STEPS=300 JOBS=3)
	$(BIN)/python -m tests.simulation --jobs $(or $(JOBS),3) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(if $(STEPS),--steps $(STEPS))

month: $(VENV)/dev.stamp ## live through thirty days of dispatch with five seeds, and recompute them from the answers (SEEDS=5 DAYS=30)
	MONTH_SEEDS=$(or $(SEEDS),5) MONTH_DAYS=$(or $(DAYS),30) $(BIN)/pytest -s -m slow tests/delivery/test_service_month.py

field-day: $(VENV)/dev.stamp ## live a day of sites, gateway and broker with 20 kills and a lost line, and compare energies (PERIODS=96 KILLS=20)
	FIELD_PERIODS=$(or $(PERIODS),96) FIELD_KILLS=$(or $(KILLS),20) $(BIN)/pytest -s -m slow tests/gateway/test_field_day.py

openapi: $(VENV)/dev.stamp schema ## write anew what is generated: openapi.json from the declared operations, the SDK's types from it, and the schema
	$(BIN)/gridloom openapi > openapi.json.new && mv openapi.json.new openapi.json
	$(BIN)/python -m sdk.generate

schema: $(VENV)/dev.stamp ## write docs/schema/ anew from a migrated database: every table, its keys and who writes it
	$(BIN)/python guide/schema.py

lock: $(VENV)/uv.stamp ## resolve the dependencies anew, with hashes
	$(LOCK) --output-file requirements/client.lock
	$(LOCK) --extra server --output-file requirements/server.lock
	$(LOCK) --extra server --group build --output-file requirements/build.lock
	$(LOCK) --extra server --extra gateway --extra mcp --extra otel --group dev --output-file requirements/dev.lock
	@for lock in client server build dev; do for machine in $(MACHINES); do \
	  echo "Looking for wheels of requirements/$$lock.lock for $$machine."; \
	  $(BIN)/uv pip install --quiet --dry-run --target $(VENV)/none --python-platform $$machine --python-version 3.11 \
	    --only-binary :all: --require-hashes -r requirements/$$lock.lock || exit 1; \
	done; done

clean: ## remove the environment and the caches, never the data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

# uv installs a lock in a second or two; pip is what a bare machine has, and the fallback.
$(VENV)/uv.stamp: requirements/uv.lock
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed, and $(PYTHON) is %d.%d. Name another one: make PYTHON=python3.12 run" % sys.version_info[:2])'
	@echo "Making a Python environment in $(VENV)."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

define install
	@echo "Installing $$(grep -c '^[a-z].*==' $(1)) packages of $(1); the first time they are fetched from the package index."
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) || $(BIN)/python -m pip install --quiet --require-hashes -r $(1)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . || $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@echo "Compiling the service."
	@# Load the service once, so that what Python compiles of it is kept, also where PYTHONDONTWRITEBYTECODE is set.
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -c "import gridloom.commands.serving.supervisor, gridloom.commands.serving.serve, gridloom.app, gridloom.sandbox.simulator.__main__"
endef

$(VENV)/server.stamp: $(VENV)/uv.stamp requirements/build.lock pyproject.toml
	$(call install,requirements/build.lock)
	@touch $@

$(VENV)/dev.stamp: $(VENV)/uv.stamp requirements/dev.lock pyproject.toml
	$(call install,requirements/dev.lock)
	@touch $@ $(VENV)/server.stamp
