# Everything that a developer types. `make help` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO_TARGET_DIR ?= target
VENV_PYTHON := $(CARGO_TARGET_DIR)/venv/bin/python
export PYTHONPATH := scripts
export PYTHONUNBUFFERED := 1

.PHONY: help demo test test-rust test-python test-clients lint fmt build
.NOTPARALLEL:

help: ## List these targets
	@echo "Pelorus. The targets:"
	@grep -hE '^[a-z-]+%?:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'
	@echo "Variables: DEMO_ROWS (5000000), DEMO_ONCE=1, BENCH_ROWS, BENCH_PEER_ROWS, BENCH_SECONDS, BENCH_SCALE, TESTS (folder or file for pytest)"

demo: ## Load real flights into a private MariaDB and compare it with Pelorus
	@python3 scripts/setup.py demo
	@$(VENV_PYTHON) -m pelorus_tools.demo

test: ## All tests: formatting, tidy, Rust, SQL files, MariaDB and MySQL, Python clients
	@python3 scripts/setup.py test
	cargo fmt --all --check
	$(MAKE) --no-print-directory test-rust
	$(MAKE) --no-print-directory test-python

test-rust: ## The Rust tests (the tidy check is one of them), with real servers for those of links
	@python3 scripts/setup.py test
	cargo build --release --package pelorus-server
	cargo test --release --workspace --no-run
	$(VENV_PYTHON) -m pelorus_tools.with_servers cargo test --release --workspace

TESTS ?= tests
test-python: ## The Python tests against real servers; TESTS=tests/test_links.py for a part
	@python3 scripts/setup.py test
	$(VENV_PYTHON) -m pytest -c tests/pytest.ini --rootdir tests $(TESTS)

test-clients: ## The drivers of other languages: Java, Go, Node
	@python3 scripts/setup.py clients
	cargo build --release --package pelorus-server
	$(VENV_PYTHON) tests/clients/run.py

bench-%: ## A benchmark with its peers: ontime, ingest, point, update, scan, sizes, allocator
	@python3 scripts/setup.py bench
	cargo build --release --package pelorus-server --package pelorus-bench
	$(CARGO_TARGET_DIR)/release/bench $*

lint: ## Formatting and clippy, warnings as errors
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings

fmt: ## Format the Rust code
	cargo fmt --all

build: ## The release binary
	cargo build --release --package pelorus-server
