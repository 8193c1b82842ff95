# Gatehouse. "make help" lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE   ?= $(HOME)/.cache/gatehouse
VENV    := $(CACHE)/venv-$(shell sha256sum testdata/clients/python/requirements.txt 2>/dev/null | cut -c1-12)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO      ?= go
RUN     ?= .

.PHONY: help
help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/gatehouse
	@command -v $(GO) >/dev/null || { echo "Gatehouse needs Go 1.26 or newer: https://go.dev/dl"; exit 1; }
	@command -v cc >/dev/null || { echo "Gatehouse needs a C compiler (the SQL parser is C): apt-get install gcc g++"; exit 1; }
	@mkdir -p bin
	$(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/gatehouse ./cmd/gatehouse

.PHONY: run
run: build ## Build, make the example lakehouse, start the server, show how to connect
	@exec bin/gatehouse demo

.PHONY: test
test: check unit policies fuzz e2e ## Everything: checks, unit and flow tests, Rego tests, short fuzz, real clients

.PHONY: check
check: ## Formatting, vet, layout
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...

.PHONY: unit
unit: ## Unit, flow and contract tests
	$(GO) test -timeout 20m ./...

.PHONY: policies
policies: build ## Rego tests of policies/ with coverage
	bin/gatehouse policy test policies

.PHONY: clients
clients: ## Install the client programs that the end-to-end tests use (Python, Java, Node)
	testdata/clients/install.sh "$(CACHE)"

.PHONY: clean
clean: ## Remove what the build made (not the example lakehouse)
	rm -rf bin
