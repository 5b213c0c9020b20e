# Everything that a developer types. `make help` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO_TARGET_DIR ?= target
VENV_PYTHON := $(CARGO_TARGET_DIR)/venv/bin/python
export PYTHONPATH := scripts
export PYTHONUNBUFFERED := 1

.PHONY: help demo test test-rust test-python test-recorded record fresh keep-seed test-clients interleavings simulation overflow fuzz power-loss nightly soak growth lint fmt build
.NOTPARALLEL:

help: ## List these targets
	@echo "Pelorus. The targets:"
	@grep -hE '^[a-z-]+%?:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'
	@echo "Variables: DEMO_ROWS (5000000), DEMO_ONCE=1, BENCH_ROWS, BENCH_PEER_ROWS, BENCH_SECONDS, BENCH_SCALE, TESTS (folder or file for pytest), TEST_PROCESSES, NIGHTLY_SCALE (20), NIGHTLY_STRICT=1 (fail where something was left out), FUZZ_SECONDS (600), SECONDS (7200) of soak, MINUTES (30) of fresh, ONLY and MOST (500000) of growth"

demo: ## Load real flights into a private MariaDB and compare it with Pelorus
	@python3 scripts/setup.py demo
	@$(VENV_PYTHON) -m pelorus_tools.demo

test: ## The tests: formatting, tidy, Rust, SQL files, MariaDB and MySQL, Python clients
	@python3 scripts/setup.py test
	cargo fmt --all --check
	$(MAKE) --no-print-directory test-rust
	$(MAKE) --no-print-directory test-python

test-rust: ## The Rust tests (the tidy check is one of them), with real servers for those of links
	@python3 scripts/setup.py test
	cargo build --release --package pelorus-server
	cargo test --release --workspace --no-run
	$(VENV_PYTHON) -m pelorus_tools.with_servers $(VENV_PYTHON) -m pelorus_tools.rust_tests

TESTS ?= tests
# The tests mostly wait, so two processes share the files, each with servers of its own. What is a
# part is run by one.
TEST_PROCESSES ?= $(if $(filter tests,$(TESTS)),2,0)
test-python: ## The Python tests against real servers; TESTS=tests/test_links.py for a part
	@python3 scripts/setup.py test
	$(VENV_PYTHON) -m pytest -c tests/pytest.ini --rootdir tests -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --durations 15 $(TESTS)

# The statements of tests/native and tests/sql, whose results are in tests/recorded.
PYTEST := $(VENV_PYTHON) -m pytest -c tests/pytest.ini --rootdir tests
STATEMENTS := tests/test_native.py tests/test_sql.py
test-recorded: ## Native tables against recorded results of a MySQL; needs no MySQL and no MariaDB
	@python3 scripts/setup.py recorded
	cargo build --release --package pelorus-server
	PELORUS_SERVERS=recorded $(PYTEST) -n 0 $(STATEMENTS)

record: ## Record the results of a MySQL again (tests/recorded), after changes of tests/native or tests/sql
	@python3 scripts/setup.py test
	cargo build --release --package pelorus-server
	PELORUS_SERVERS=record $(PYTEST) -n 0 $(STATEMENTS) -k "same_as_mysql or same_answers"

MINUTES ?= 30
fresh: ## Every random test with new seeds for MINUTES (30); ONLY=random_queries for one, SEED=n for the same again
	@python3 scripts/setup.py test
	cargo build --release --package pelorus-server
	$(VENV_PYTHON) -m pelorus_tools.fresh $(MINUTES) $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

keep-seed: ## Record a seed that found something: TEST=random_queries SEED=1234 REASON="what it found"
	$(VENV_PYTHON) -m pelorus_tools.seeds $(TEST) $(SEED) "$(REASON)"

test-clients: ## The drivers of other languages (Java, Go, Node), and programs that others wrote
	@python3 scripts/setup.py clients
	cargo build --release --package pelorus-server
	$(VENV_PYTHON) tests/clients/run.py
	$(VENV_PYTHON) -m pytest -c tests/pytest.ini --rootdir tests --durations 25 tests/test_mirror_tools.py tests/test_third_party.py tests/clients

# Crates whose tests are random or sweep over crashes.
STORE_CRATES := $(addprefix --package pelorus-,env blockfile log index chunk store fsck)
# Their locks can be loom's.
LOOM_CRATES := blockfile log store
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/targets/*.rs)))
NIGHTLY_SCALE ?= 20
FUZZ_SECONDS ?= 600

interleavings: ## Small scenes of the store in every order of their threads
	cargo test --release --lib $(LOOM_CRATES:%=--package pelorus-%) --features "$(LOOM_CRATES:%=pelorus-%/loom)" interleavings

# All features of the workspace, so that nothing but the crates that have the locks is built again.
simulation: ## The store on a scheduler that seeds decide; PELORUS_SIMULATION_SEED=7 or 7..90 for some
	cargo test --release --workspace --features pelorus-store/shuttle --test simulation -- --nocapture

overflow: ## The tests of the store with overflow checks; builds its crates once more
	CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/checked cargo test --release $(STORE_CRATES)

growth: ## How time and memory grow with each element of the grammar, to 500,000; ONLY=joins for some
	@python3 scripts/setup.py test
	cargo build --release --package pelorus-server
	$(VENV_PYTHON) -m pelorus_tools.growth $(if $(ONLY),--only "$(ONLY)") $(if $(MOST),--most $(MOST))

SECONDS ?= 7200
soak: ## Mirrors under random changes and trouble for SECONDS on each server; SEED=n for the same again, SERVER=mysql for one
	@python3 scripts/setup.py test
	cargo build --release --package pelorus-server
	$(VENV_PYTHON) -m pelorus_tools.mirror_soak $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(SERVER),--server $(SERVER))

fuzz: ## Every fuzz target for FUZZ_SECONDS; needs cargo-fuzz and a nightly compiler
	@cargo +nightly fuzz --version
	set -e; for target in $(FUZZ_TARGETS); do cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS); done

power-loss: ## Every disk that a loss of power could leave on ext4, xfs, btrfs: POWER_IMAGES (100) each; needs root
	@python3 scripts/setup.py power
	cargo build --release --package pelorus-server
	$(VENV_PYTHON) -m pelorus_tools.power_loss

# What `make nightly` had to leave out here, a line for each.
LEFT_OUT := $(CARGO_TARGET_DIR)/nightly-left-out.txt

nightly: ## What takes hours: many more random cases, every crash of every recovery, planted bugs, fuzzing
	@mkdir -p $(CARGO_TARGET_DIR)
	@: > $(LEFT_OUT)
	PROPTEST_RNG_SEED=$$(date +%s) PELORUS_TEST_SCALE=$(NIGHTLY_SCALE) cargo test --release $(STORE_CRATES)
	$(MAKE) --no-print-directory overflow
	$(MAKE) --no-print-directory interleavings
	PELORUS_TEST_SCALE=$(NIGHTLY_SCALE) $(MAKE) --no-print-directory simulation
	cargo xtask planted
	$(MAKE) --no-print-directory lint
	@if cargo deny --version > /dev/null 2>&1; then \
		cargo deny check advisories bans sources licenses; \
	else \
		echo "advisories about other crates, since cargo-deny is missing" | tee -a $(LEFT_OUT); \
	fi
	@python3 scripts/setup.py test
	cargo build --release --package pelorus-server
	$(MAKE) --no-print-directory growth
	PELORUS_LONG=1 PELORUS_SOAK_SECONDS=300 $(VENV_PYTHON) -m pytest -c tests/pytest.ini --rootdir tests tests/test_mirror*.py
	@if [ "$$(id -u)" = 0 ]; then \
		export PELORUS_MARIADB=11.8; python3 scripts/setup.py test && \
		$(VENV_PYTHON) -m pytest -c tests/pytest.ini --rootdir tests tests/test_mirror*.py tests/test_links.py -k "not mysql" && \
		$(VENV_PYTHON) -m pelorus_tools.with_servers cargo test --release --package pelorus-link; \
	else \
		echo "MariaDB 11.8 and MySQL, since their folder trees take root" | tee -a $(LEFT_OUT); \
	fi
	@if [ "$$(id -u)" = 0 ] && [ -e /dev/fuse ] && [ -e /dev/loop-control ]; then \
		POWER_IMAGES=1000 $(MAKE) --no-print-directory power-loss; \
	else \
		echo "losses of power, since they take root, FUSE and loop devices" | tee -a $(LEFT_OUT); \
	fi
	@if cargo +nightly fuzz --version > /dev/null 2>&1; then \
		$(MAKE) --no-print-directory fuzz; \
	else \
		echo "fuzzing, since cargo-fuzz or a nightly compiler is missing" | tee -a $(LEFT_OUT); \
	fi
	$(VENV_PYTHON) -m pelorus_tools.fresh 120
	@if [ -s $(LEFT_OUT) ]; then \
		echo "nightly: what ran has passed. Left out were:"; sed 's/^/  /' $(LEFT_OUT); \
		[ "$(NIGHTLY_STRICT)" != 1 ]; \
	else \
		echo "nightly: everything ran, and has passed"; \
	fi

bench-%: ## A benchmark with its peers: ontime, mirror, ingest, point, update, recovery, scan, sizes, allocator
	@python3 scripts/setup.py bench
	cargo build --release --package pelorus-server --package pelorus-bench
	$(CARGO_TARGET_DIR)/release/bench $*

lint: ## Formatting, clippy and the pages of rustdoc, warnings as errors
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --workspace --document-private-items

fmt: ## Format the Rust code
	cargo fmt --all

build: ## The release binary
	cargo build --release --package pelorus-server
