# Gatehouse. "make help" lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE   ?= $(HOME)/.cache/gatehouse
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO      ?= go
RUN     ?= .
ARGS    ?=

.PHONY: help
help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/gatehouse
	@command -v $(GO) >/dev/null || { echo "Gatehouse needs Go 1.26 or newer: https://go.dev/dl"; exit 1; }
	@command -v cc >/dev/null && command -v c++ >/dev/null || { echo "Gatehouse needs a C and a C++ compiler (parser and engine): apt-get install gcc g++"; exit 1; }
	@mkdir -p bin
	$(GO) build -ldflags '-X main.version=$(VERSION)' -o bin/gatehouse ./cmd/gatehouse

.PHONY: run
run: build ## Build, make the example lakehouse, start the server, show how to connect; ARGS="--listen …" for options
	@exec bin/gatehouse demo $(ARGS)

# The cluster's programs are built outside of the tree, once per version of their lock file.
ENGINE  := executors/ballista/engine
TARGET  := $(CACHE)/ballista-$(shell sha256sum $(ENGINE)/Cargo.lock | cut -c1-12)
PROFILE ?= release
PROGRAMS := $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

.PHONY: engine
engine: ## Build the cluster's programs, optimised; PROFILE=dev for tests
	@command -v cargo >/dev/null || { echo "The cluster needs Rust 1.94 or newer: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"; exit 1; }
	CARGO_TARGET_DIR=$(TARGET) cargo build --locked --manifest-path $(ENGINE)/Cargo.toml --profile $(PROFILE)

.PHONY: engine-test
engine-test: ## The cluster's programs, for tests, and their unit tests
	@$(MAKE) engine PROFILE=dev
	CARGO_TARGET_DIR=$(TARGET) cargo test --locked --workspace --manifest-path $(ENGINE)/Cargo.toml

.PHONY: cluster
cluster: build engine ## Run a scheduler and two executors on loopback; ARGS="--executors 4" for options
	@exec bin/gatehouse cluster --bin $(PROGRAMS) $(ARGS)

.PHONY: cluster-test
cluster-test: engine-test ## The cluster's programs and all tests of them, three processes each
	$(GO) test -timeout 30m ./executors/ballista/...

.PHONY: test
test: check programs unit policies ## Everything: checks, unit and flow tests with real clients and servers, seeded fuzz, Rego tests
# Seeded mutations and the fuzzers' seeds are among the unit tests. What a fuzzer finds by chance must not stop a build
# that has nothing to do with it: "make fuzz" is a job of its own.

TOOL := $(GO) tool -modfile=go.tools.mod

.PHONY: check
check: ## Formatting, vet, staticcheck
	@bad=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "$$bad"; echo "run: make format"; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck -checks inherit,-SA1019 ./... # SA1019: drivers still send what the protocol calls deprecated

.PHONY: format
format: ## Format all Go files
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

# Where there is Rust, all tests run on a cluster too, with the programs of this source. Without it those are skipped, each with its reason.
.PHONY: programs
programs:
	@if command -v cargo >/dev/null; then $(MAKE) engine-test; else echo "no cargo: tests of the cluster will be skipped (README.md)"; fi

# The embedded engine's tests run alone: beside others, one on the bound of its memory took minutes instead of seconds, and failed.
# The real clients (Python, Java, Node) and Keycloak are installed outside of the tree, once per version of their lists.
.PHONY: unit
unit: ## All Go tests: unit, flow, contract, real clients end to end, Keycloak
	@clients=$$(testdata/clients/install.sh "$(CACHE)"); export $$clients GATEHOUSE_KEYCLOAK=1; \
	failed=0; $(GO) test -timeout 40m -run '$(RUN)' ./executors/duckdb || failed=1; \
	$(GO) test -timeout 40m -p 2 -run '$(RUN)' $$($(GO) list ./... | grep -v '/executors/duckdb$$') || failed=1; \
	exit $$failed

.PHONY: policies
policies: build ## Rego tests of the example policy and of the skeleton, with OPA's own runner and coverage
	@for set in demo skeleton; do \
	  dir=$$(mktemp -d) && cp -r policies/entry policies/lib policies/schemas policies/$$set/. $$dir/ && \
	  bin/gatehouse policy test --coverage 90 $$dir && rm -rf $$dir || exit 1; \
	done

FUZZTIME ?= 10s

.PHONY: fuzz
fuzz: ## Every fuzz target for FUZZTIME (10s), guided by coverage
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$(cd "$$($(GO) list -f '{{.Dir}}' $$pkg)" && grep -ho '^func Fuzz[A-Za-z0-9_]*' *_test.go 2>/dev/null | sed 's/func //'); do \
	    echo "fuzz $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg >/tmp/gatehouse-fuzz.log 2>&1 || { cat /tmp/gatehouse-fuzz.log; exit 1; }; \
	  done; \
	done

.PHONY: bench
bench: build ## Speed, as ratios in one run (docs/performance.md)
	@clients=$$(testdata/clients/install.sh "$(CACHE)"); export $$clients; $(GO) run -tags duckdb_arrow ./cmd/bench

SF   ?= 1

.PHONY: bench-cluster
bench-cluster: build engine ## TPC-H at scale factor SF (1) on two executors of one core, against plain DataFusion and the embedded engine
	CARGO_TARGET_DIR=$(TARGET) cargo build --locked --manifest-path $(ENGINE)/Cargo.toml --profile $(PROFILE) --example plain
	$(GO) run -tags duckdb_arrow ./cmd/bench -cluster $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE)) -scale $(SF) $(ARGS)

N    ?= 20000
SEED ?= 1
FROM ?= 0
EXECUTOR ?= duckdb

.PHONY: prove
prove: $(if $(filter-out duckdb,$(EXECUTOR)),engine) ## N random statements of SEED from number FROM on twin databases: nothing hidden may show; EXECUTOR=ballista on a cluster
	$(GO) run ./cmd/prove -n $(N) -seed $(SEED) -from $(FROM) -executor $(EXECUTOR) -programs $(PROGRAMS)

.PHONY: timing
timing: ## Compare the times of questions that differ in what is hidden alone, 3000 pairs each
	$(GO) run ./cmd/prove -timing 3000

.PHONY: weaken
weaken: ## Take each barrier away, one by one: "make prove" has to find it
	GATEHOUSE_WEAKEN=all $(GO) test -count=1 -v -timeout 60m -run TestWeaknesses ./cmd/prove

.PHONY: mutate
mutate: ## Change the product in small ways, one at a time: a test has to fail; ARGS="-sample 50" for some of them
	nice -n 10 $(GO) run ./cmd/mutate -above . $(ARGS)

.PHONY: classes
classes: ## Probe every function and cast of the engine anew: executors/duckdb/classes/classes.tsv
	$(GO) test ./executors/duckdb/classes -run TestClasses -update -timeout 3h
	rm -f executors/duckdb/classes/classes.part

.PHONY: clean
clean: ## Remove what the build made (not the example lakehouse)
	rm -rf bin
