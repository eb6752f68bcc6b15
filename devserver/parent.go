package main

import (
	"context"
	"os"
	"time"
)

// parentPoll is how often the parent is looked for. The kernel's own death signal is of no use here: it follows the
// thread that started us, and a parent written in Go may end that thread at any time.
const parentPoll = 200 * time.Millisecond

// untilParentEnds is cancelled when the process's parent is no longer the one with the given id; 0 stands for today's.
func untilParentEnds(ctx context.Context, parent int) context.Context {
	if parent == 0 {
		parent = os.Getppid()
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		tick := time.NewTicker(parentPoll)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx
}
