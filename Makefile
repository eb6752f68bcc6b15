# make run    a server, its UI, a worker and a chat, from nothing; flags go into ARGS="--port 7243"
# make test   every test, real processes included
# make check  formatting, vet, static analysis, workflow determinism, race tests
# make help   this list

GO      ?= go
BIN     := $(CURDIR)/bin
SERVER  := $(BIN)/devserver

.PHONY: help run test unit server check conformance bench clean

help:
	@sed -n 's/^# //p' Makefile

run:
	@$(GO) run ./cmd/starter dev $(ARGS)

# The embedded Temporal server. Its first build takes some minutes; Go's build cache keeps it.
server: $(SERVER)

$(SERVER): $(wildcard devserver/*.go devserver/internal/*/*.go) devserver/go.mod devserver/go.sum
	@echo "building the embedded Temporal server (some minutes the first time)"
	@mkdir -p $(BIN)
	@cd devserver && $(GO) build -ldflags "-s -w" -o $(SERVER) .

$(BIN)/starter: FORCE
	@mkdir -p $(BIN)
	@$(GO) build -o $(BIN)/starter ./cmd/starter

FORCE:

unit:
	$(GO) test ./...

test: server $(BIN)/starter
	EVERTURN_DEVSERVER=$(SERVER) $(GO) test -timeout 20m ./...
	cd devserver && $(GO) test -timeout 10m ./...

check: server
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) tool workflowcheck -config workflowcheck.config.yaml ./workflows/... ./internal/driver/...
	EVERTURN_DEVSERVER=$(SERVER) $(GO) test -race -short -timeout 20m ./...

clean:
	rm -rf $(BIN)
