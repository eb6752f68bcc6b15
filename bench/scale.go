package main

import "time"

// A scale says how large the measurements are.
type scale struct {
	tokens []int // sizes of the conversation, growing
	turns  int   // ordinary ones, measured at each size
	long   job
	wide   []job

	blocks int // of turns and of the floor's, one by one
	many   int // agents at a time
	each   int // turns of each, in a round
	rounds int

	streams     int // of 50 tokens
	subscribers int
	minute      int // tokens of a long answer
	cancels     int
	folds       int

	racers int // agents whose turns are raced by steers
	races  int // in all, a multiple of racers

	kills    int // of workers, in each profile
	saturate time.Duration
	idle     int // agents
	wakes    int // of them
}

var full = scale{
	tokens: []int{1_000, 50_000, 200_000},
	turns:  20,
	long:   job{Steps: 100, Calls: 1, Bytes: 5 << 10},
	wide:   []job{{Steps: 100, Calls: 10, Bytes: 200}, {Steps: 1, Calls: 1000, Bytes: 200}, {Steps: 1000, Calls: 1, Bytes: 200}},

	blocks: 15,
	many:   64,
	each:   5,
	rounds: 2,

	streams:     30,
	subscribers: 200,
	minute:      int(time.Minute / tokenEvery),
	cancels:     100,
	folds:       30,

	racers: 64,
	races:  64 * 157, // more than 10,000

	kills:    20,
	saturate: 30 * time.Minute,
	idle:     20_000,
	wakes:    200,
}

// small is for a quick look, and for tests. The bounds are the same; a p99 of so few is their largest.
var small = scale{
	tokens: []int{500, 5_000, 20_000},
	turns:  3,
	long:   job{Steps: 10, Calls: 1, Bytes: 5 << 10},
	wide:   []job{{Steps: 4, Calls: 10, Bytes: 200}, {Steps: 1, Calls: 100, Bytes: 200}, {Steps: 20, Calls: 1, Bytes: 200}},

	blocks: 4,
	many:   16,
	each:   2,
	rounds: 1,

	streams:     5,
	subscribers: 200,
	minute:      int(30 * time.Second / tokenEvery),
	cancels:     20,
	folds:       5,

	racers: 20,
	races:  200,

	kills:    3,
	saturate: 20 * time.Second,
	idle:     500,
	wakes:    30,
}
