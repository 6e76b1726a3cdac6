SHELL = /usr/bin/env bash
.SHELLFLAGS = -e -o pipefail -c

CARGO ?= cargo

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: tools ## All tests but those of a real node. Needs no root, installs nothing.
	@tests/levels unit golden projects control-plane

.PHONY: test-fast
test-fast: tools ## The tests that start no cluster and build no generated project: about 3 minutes.
	@tests/levels unit golden

.PHONY: test-e2e
test-e2e: tools ## The operator as a pod on the cluster of KUBECONFIG: memcached-sdk, kind-*, minikube, or E2E_CONTEXT.
	@tests/levels node

.PHONY: corpus
corpus: tools ## Read the custom resources of public operators: CORPUS names a folder of their repositories.
	@tests/levels corpus

.PHONY: corpus-compiled
corpus-compiled: tools ## Build public operators as they are, and ask them for their CRDs, an hour; CORPUS_ONLY=owner/name is one.
	$(CARGO) test --test it -- --ignored --nocapture corpus::unedited::the_compiled

.PHONY: differential
differential: tools ## 10,000 random custom resources, read and compiled, an hour; run again, it goes on after the last 500.
	@mkdir -p target/differential
	PROPERTY_RESOURCES=$${PROPERTY_RESOURCES:-10000} PROPERTY_RESULTS=$${PROPERTY_RESULTS:-target/differential/results.jsonl} \
	  $(CARGO) test --test it -- --nocapture property::random

.PHONY: explorer-differential
explorer-differential: tools ## 20,000 random requests to the API server in memory and to a real one; EXPLORER_REQUESTS and EXPLORER_SEED change it.
	EXPLORER_REQUESTS=$${EXPLORER_REQUESTS:-20000} $(CARGO) test --test it -- --nocapture explorer::answers

.PHONY: sim
sim: tools ## A million steps of the simulated leader election per seed; SIMULATION_STEPS and SIMULATION_SEED change it.
	SIMULATION_STEPS=$${SIMULATION_STEPS:-1000000} $(CARGO) test --test it -- --nocapture simulation::never

.PHONY: crash
crash: tools ## Kill commands that change a project 200 times, 20 minutes; CRASH_ROUNDS and CRASH_SEED change it.
	CRASH_ROUNDS=$${CRASH_ROUNDS:-200} $(CARGO) test --test it -- --nocapture crash::a_change_killed

.PHONY: chaos
chaos: tools ## 200 rounds of failures with three real replicas, an hour; run again, it goes on after the last ten rounds.
	@mkdir -p target/chaos
	CHAOS_ROUNDS=$${CHAOS_ROUNDS:-200} CHAOS_RESULTS=$${CHAOS_RESULTS:-target/chaos/results.jsonl} \
	  $(CARGO) test --test it -- --nocapture chaos::no_replica

.PHONY: soak
soak: tools ## 10,000 objects behind a proxy that fails, for about half an hour; SOAK_OBJECTS and SOAK_SEED change it.
	SOAK_OBJECTS=$${SOAK_OBJECTS:-10000} $(CARGO) test --test it -- --nocapture load::soak::nothing

.PHONY: bench-operator
bench-operator: tools ## Measure the operator with 1,000 objects beside the least that must be written; see docs/benchmarks.md.
	BENCH_OBJECTS=$${BENCH_OBJECTS:-1000} $(CARGO) test --test it -- --nocapture load::bench::

.PHONY: bench
bench: tools ## Measure generate, init and create api against controller-gen and a compiled crdgen.
	@tests/bench/run

# The API server takes the time, so the build is that of `cargo test`.
.PHONY: bench-explore
bench-explore: tools ## Measure crash trials and histories in memory beside a real API server, 6 minutes; see docs/benchmarks.md.
	$(CARGO) bench --profile dev --bench bench -- explore

.PHONY: fuzz
fuzz: tools ## 10,000,000 mutated inputs for each fuzz target, in the background for days; FUZZ_INPUTS changes it.
	@tests/fuzz/run

.PHONY: lint
lint: tools ## Check the format and run clippy; any warning fails.
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings

.PHONY: book
book: ## Build the book of docs/ in target/book; needs mdbook and mdbook-mermaid.
	@tests/book

.PHONY: freeze
freeze: ## Before a release: list the sums of its templates in templates/history; a test keeps their text from then on.
	FREEZE=1 $(CARGO) test --quiet --lib edition::tests::templates_of_releases_are_kept

.PHONY: samples
samples: tools ## Write all goldens anew, tests/samples among them; look at the difference.
	SNAPSHOTS=overwrite $(CARGO) test --quiet --lib
	SNAPSHOTS=overwrite tests/levels golden

# The targets of releases. Only for Linux there is C code: any compiler will do where nothing is linked.
TARGETS = x86_64-unknown-linux-musl aarch64-unknown-linux-musl x86_64-apple-darwin aarch64-apple-darwin x86_64-pc-windows-msvc

.PHONY: check-targets
check-targets: ## Check the code for every target that is released, after `rustup target add`.
	rustup target add $(TARGETS)
	TARGET_CC=cc TARGET_AR=ar $(CARGO) check --locked $(TARGETS:%=--target %)

.PHONY: dist
dist: ## The archive of a release for TARGET: the program, completions and man pages, in target/dist.
	@tests/dist $(TARGET)

.PHONY: answers
answers: tools ## Compile the fixtures with each release of kube and schemars anew, 15 minutes; look at the difference.
	SNAPSHOTS=overwrite $(CARGO) test --test it -- oracle::releases::this
	SNAPSHOTS=overwrite RELEASES=$${RELEASES:-all} $(CARGO) test --test it -- --nocapture oracle::releases::an_older
	SNAPSHOTS=overwrite $(CARGO) test --test it -- answers::

.PHONY: tools
tools:
	@tests/tools
