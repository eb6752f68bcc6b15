// Package driver decides: it is the agent's state machine, spec §3–§7 as code.
//
// [Driver.Handle] takes one [Input] and returns what was logged and the [Effect] values to carry out, in that order.
// All state is one plain value, [State]: rollover, queries, snapshots and tests look at the same struct. The package
// knows no workflow engine, clock, goroutine or I/O; inputs carry their time. A caller must feed inputs one at a time,
// carry out every effect, and answer each with the input that names its id. An answer nobody awaits any more is
// dropped.
//
//	           Born                 wake                     openTurn            propose
//	birth ───────────▶ idle ─────────────────▶ opening ───────────────▶ claiming ───────▶ step
//	                    ▲  ▲                     │  ▲                    ▲  ▲  │            │ │ │
//	                    │  └─ cancelled before ──┘  │ queue not empty    │  │  │ roll       │ │ └─ retry ─▶ retrying ─┐
//	                    │     turn/start            │                    │  │  ▼            │ │ ◀────── timer ────────┘
//	                    │                           │                    │  └ Resumed       │ └─ calls ──▶ tools
//	                    │         flushed           │      endTurn       │   owed, steered  ▼               │
//	                    └──────────────────────── draining ◀─────────────┴───────────────── stepOver ◀─────┘
//
// Two hooks lie on the way, if they are registered: starting, before the first opening, and stopping, between stepOver
// and the end of the turn, which leads back to claiming if somebody objected (hook.go). A maintenance task owns the idle
// phase: idle ─▶ maintaining ─▶ idle (maintain.go).
//
// A call of the phase tools goes through stages; a gate or a post gate of its own is an effect of its own (calls.go,
// approval.go):
//
//	waiting ─▶ gating ─▶ cleared ─▶ running ─▶ executed ─▶ posting ─▶ finished ─▶ committed
//	             │ └─▶ asking ─▲ │                ▲                      ▲
//	             │          │ granted             │ denied               │ faulty, or a cancel came first
//	             └──────────┴──────────────────────┴──────────────────────┘
//
// A body that hands its call to somebody outside leads from running back to asking (deferred.go); what they say is looked
// at by a worker, in checking, before it counts. The policy may answer in a person's place (policy.go).
//
// Any phase but birth and closed can be cancelled (cancel.go); disposal closes the agent from idle (dispose.go).
//
// The log has one writer at a time (log.go): normally the driver; while a Step or a maintenance task runs, the tail is
// lent to it and events that arise meanwhile wait for their seq.
package driver
