# Every target sets up what it needs by itself; `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help demo test attack advisories lint fmt docs bench load memory chaos effects soak doctor

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Show Motorium at work on a virtual desktop
	@tools/setup packages
	@tools/demo --setup

test: ## Run every check and every test
	@tools/setup test
	@tools/test

attack: ## Attack Motorium as its tests do, and print what stopped each attack
	@tools/setup test
	@tools/attack

advisories: ## Look the dependencies up among known vulnerabilities; needs access to a git host
	@tools/setup test
	.tools/bin/cargo-deny --locked check advisories

lint: ## Run the checks that are no tests: format, clippy, dependencies, contracts, terms, scripts
	@tools/setup test
	@tools/test --lint

fmt: ## Bring Rust and the contracts into form
	@tools/setup test
	cargo fmt --all
	.tools/venv/bin/buf format --write

docs: ## Generate the configuration and API references again
	@tools/setup test
	cargo programs --quiet
	target/debug/motorium config --reference > docs/configuration.md.new
	mv docs/configuration.md.new docs/configuration.md
	tools/generate-api-reference

bench: ## Measure
	@tools/setup
	cargo measure --benches

load: ## Measure many tasks at once on one orchestrator, and on two
	@tools/setup test
	cargo measure --bench load

memory: ## Measure the memory of the services under each of their limits
	@tools/setup test
	cargo programs
	MOTORIUM_PROGRAMS=target/debug target/debug/memory-limits

chaos: ## Carry tasks through while everything that can break is broken
	@tools/setup test
	cargo programs
	MOTORIUM_PROGRAMS=target/debug target/debug/motorium-chaos

effects: ## Score the judgement of effects on films of real applications
	@tools/setup test
	cargo programs --quiet
	target/debug/motorium-effects

soak: ## Run for long what `make test` runs for seconds: damaged responses, pages that mislead, faults
	@tools/setup test
	MOTORIUM_FUZZ_SECONDS=600 cargo t --test planner fuzz
	MOTORIUM_MODEL_BOUND=2 cargo t --test model
	cargo programs
	MOTORIUM_CASES=200 MOTORIUM_PROGRAMS=$(CURDIR)/target/debug cargo t --test e2e misleading -- --nocapture
	TASKS=300 MOTORIUM_PROGRAMS=target/debug target/debug/motorium-chaos
	SOAK_SECONDS=3600 TASKS=100000 STORES=sqlite MOTORIUM_PROGRAMS=target/debug target/debug/motorium-chaos

doctor: ## Say what of this machine is ready for Motorium
	@tools/setup
	cargo run --quiet --package motorium -- doctor
