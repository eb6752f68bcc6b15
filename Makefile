# make run    a server, its UI, a worker and a chat, from nothing; flags go into ARGS="--port 7243"
# make test   every test, real processes included
# make check  formatting, vet, static analysis, workflow determinism, race tests
# make modes  the scenarios where agents move to a new run every few events, and where every workflow task replays its run
# make soak   random schedules for hours: ONLY=local|server|crashes|worlds for one kind, N=20000 for so many, FIRST=17 to begin there
# make chaos  processes killed, stopped, cut off and starved at every point, then N=300 random faults from SEED=1; ONLY=matrix|random, SYNC=full
# make mutation   breaks the code on purpose, a fault at a time, and shows that the tests find each: ARGS="-only latch" for some
# make record     after a deliberate change of the rules: writes the histories anew that must replay
# make bench  figures against their bounds: ARGS="-only turn,stream -json results.json" for some, ARGS=-small for a quick look
# make bench-history   bytes of workflow history, of long turns and in long conversations, against their bounds
# make help   this list

GO      ?= go
BIN     := $(CURDIR)/bin
SERVER  := $(BIN)/devserver

.PHONY: help run test unit server check modes soak chaos mutation record bench bench-history clean

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

# Tests that want the machine for themselves: a rolling restart under 64 agents, and a run of 50 MB.
ALONE = '^(TestARollingRestart|TestAFullRunIsLeft)$$'

test: server $(BIN)/starter
	EVERTURN_DEVSERVER=$(SERVER) $(GO) test -timeout 20m ./...
	EVERTURN_DEVSERVER=$(SERVER) $(GO) test -count 1 -timeout 10m -run $(ALONE) ./e2e -args -strikes
	cd devserver && $(GO) test -timeout 10m ./...

check: server
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) tool workflowcheck -config workflowcheck.config.yaml ./workflows/... ./internal/driver/... ./agents/inworkflow ./examples/order
	EVERTURN_DEVSERVER=$(SERVER) $(GO) test -race -short -timeout 20m ./...

modes: server
	EVERTURN_DEVSERVER=$(SERVER) $(GO) test -count 1 -timeout 20m -v -run '^(TestTinyLimits|TestNoCache)$$' ./conformance

# Schedules of the local engine and of a server against the reference model, simulated crashes, and larger worlds. Each
# says every minute up to which seed it is done, and ends with a line that counts what it met.
ONLY  ?= local crashes server worlds
N     ?=
FIRST ?= 1
SOAK  = $(GO) test -count 1 -timeout 0 -v -run
seeds = -first $(FIRST) -schedules $(or $(N),$(1))

soak: $(addprefix soak-,$(ONLY))

soak-local:
	$(SOAK) '^TestLocalSchedules$$' ./internal/explore -args $(call seeds,100000)

soak-crashes:
	$(SOAK) '^TestRandomSchedules$$' ./internal/local -args $(call seeds,1000000)

soak-server: server
	EVERTURN_DEVSERVER=$(SERVER) $(SOAK) '^TestServerSchedules$$' ./internal/explore -args $(call seeds,3000)

soak-worlds:
	$(SOAK) '^TestInterleavings$$' ./internal/explore -args -soak

bench: server
	EVERTURN_DEVSERVER=$(SERVER) $(GO) run ./bench $(ARGS)

bench-history: server
	EVERTURN_DEVSERVER=$(SERVER) $(GO) run ./bench -only history $(ARGS)

# Every row of the fault matrix, a rolling restart under 64 agents, a run of 50 MB, and random faults in rounds of ten, each from a seed of its own. See docs/faults.md.
SEED  ?= 1
SYNC  ?= normal
CHAOS  = EVERTURN_DEVSERVER=$(SERVER) $(GO) test -count 1 -timeout 0 -v ./e2e -run

chaos: $(if $(filter command line,$(origin ONLY)),$(addprefix chaos-,$(ONLY)),chaos-matrix chaos-random)

chaos-matrix: server
	$(CHAOS) '^(TestFaultMatrix|TestARollingRestart|TestAFullRunIsLeft)$$' -args -strikes -sync $(SYNC)

chaos-random: server
	$(CHAOS) '^TestRandomFaults$$' -args -faults $(or $(N),300) -first $(SEED)

mutation:
	$(GO) run ./internal/mutation $(ARGS)

# Which scenarios are kept is what the folder holds; an empty file C-012-1.json asks for one more.
record: server
	EVERTURN_DEVSERVER=$(SERVER) $(GO) test -count 1 -run '^TestServer$$' ./conformance -args -record

clean:
	rm -rf $(BIN)
