package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
)

// The bounds of idle agents.
const (
	idleGrowth = 1.10 // of the worker's memory, from the smaller number of agents to the larger
	idlePeak   = 1024 // MiB
	coldWake   = 150  // ms, p95
)

// idleTurns is how many turns an agent has made when it is left alone.
const idleTurns = 10

// measureIdle fills a server with agents, at first as many as the worker keeps in memory, and looks what they take when they
// have nothing to do. Then it wakes some that the worker has long forgotten.
func measureIdle(ctx context.Context, b *bench) error {
	if b.idle < 50 {
		return fmt.Errorf("-idle %d: at least 50 agents tell something", b.idle)
	}
	s, err := b.open(ctx, plan{file: true, voice: true, away: true, sync: store.SyncNone})
	if err != nil {
		return err
	}
	defer s.close()
	x := &crowded{site: s, most: b.idle, cached: min(1_000, b.idle/5), wakes: b.scale.wakes}
	if x.hand, err = s.worker(orders{Queue: queue, Cache: x.cached}); err != nil {
		return err
	}
	defer x.hand.dismiss()
	empty, err := x.weigh()
	if err != nil {
		return err
	}
	few, err := x.fill(ctx, 0, x.cached)
	if err != nil {
		return err
	}
	many, err := x.fill(ctx, x.cached, x.most)
	if err != nil {
		return err
	}
	added := float64(x.most - x.cached)
	b.add(fmt.Sprintf("memory of a worker that keeps %d agents, before the first", x.cached), empty.resident/mebi, "MiB")
	b.add(fmt.Sprintf("  with %d idle agents", x.cached), few.resident/mebi, "MiB")
	b.add(fmt.Sprintf("  with %d", x.most), many.resident/mebi, "MiB")
	b.atMost("  growth", many.resident/few.resident, "", idleGrowth)
	b.atMost("  most at any time", many.peak/mebi, "MiB", idlePeak)
	b.add("  of one that is kept", (few.resident-empty.resident)/float64(x.cached), "bytes")
	b.add(fmt.Sprintf("one idle agent of %d turns in the server's database", idleTurns), (many.database-few.database)/added, "bytes")
	b.add("  in the store", (many.store.bytes-few.store.bytes)/added, "bytes")
	b.add("  on the store's disk", (many.store.blocks-few.store.blocks)/added, "bytes")
	b.add("  objects in the store", (many.store.objects-few.store.objects)/added, "")
	return b.wake(ctx, x)
}

const mebi = 1 << 20

// crowded is a site with a worker in a process of its own and many agents.
type crowded struct {
	*site
	hand   *hand
	cached int // agents that the worker keeps in memory
	most   int // agents
	wakes  int // how many will be woken
	done   atomic.Int64
}

// sleeps tells whether an agent will be woken: they are spread over those that the worker has forgotten by then.
func (x *crowded) sleeps(n int) bool {
	forgotten := x.most - 2*x.cached
	return n < forgotten && n%max(1, forgotten/x.wakes) == 0
}

func idleID(n int) string { return fmt.Sprintf("idle-%d", n) }

// makers is how many agents are made at a time.
const makers = 32

// fill makes the agents from one number to another, and weighs everything when they are idle.
func (x *crowded) fill(ctx context.Context, from, to int) (weight, error) {
	var next atomic.Int64
	next.Store(int64(from))
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go x.tell(watching)
	err := beside(makers, func(int) error {
		for n := next.Add(1) - 1; n < int64(to); n = next.Add(1) - 1 {
			if err := x.grow(ctx, int(n)); err != nil {
				return err
			}
			x.done.Add(1)
		}
		return nil
	})
	if err != nil {
		return weight{}, err
	}
	return x.weigh()
}

// tell says on standard error how far it is.
func (x *crowded) tell(ctx context.Context) {
	begin, before := time.Now(), x.done.Load()
	for pause(ctx, 10*time.Second) == nil {
		made := x.done.Load()
		fmt.Fprintf(os.Stderr, "idle: %d of %d agents, %.0f turns/s\n", made, x.most, float64(idleTurns*(made-before))/time.Since(begin).Seconds())
	}
}

// grow makes an agent and all its turns: they are asked for at once, so that the agent makes one after the other by itself.
func (x *crowded) grow(ctx context.Context, n int) error {
	definition, text := plain, "hello"
	if x.sleeps(n) {
		definition, text = speaking, speech{Tokens: 1}.asked()
	}
	a, err := x.agents.Start(ctx, agents.CreateOptions{ID: idleID(n), Definition: definition})
	if err != nil {
		return err
	}
	for range idleTurns {
		if _, err := a.Followup(ctx, agents.Text(text)); err != nil {
			return err
		}
	}
	if err := a.WhenIdle(ctx); err != nil {
		return err
	}
	state, err := a.State(ctx)
	if err == nil && (state.Turn != idleTurns || state.LastError != nil) {
		err = fmt.Errorf("agent %s made %d turns, want %d, and has the error %v", a.ID(), state.Turn, idleTurns, state.LastError)
	}
	return err
}

// A weight is what everything takes, in bytes.
type weight struct {
	resident, peak float64 // of the worker
	database       float64 // of the server
	store          folder
}

func (x *crowded) weigh() (w weight, err error) {
	if err := x.hand.tidy(); err != nil {
		return w, err
	}
	resident, errResident := memoryOf(x.hand.cmd.Process.Pid, "VmRSS")
	peak, errPeak := memoryOf(x.hand.cmd.Process.Pid, "VmHWM")
	store, errStore := folderOf(x.folder())
	files, err := filepath.Glob(filepath.Join(x.home, "temporal.db*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil { // else the log was taken into the database just now
			w.database += float64(info.Size())
		}
	}
	w.resident, w.peak, w.store = resident, peak, store
	return w, errors.Join(errResident, errPeak, errStore, err)
}

// memoryOf reads a line of /proc/PID/status, such as VmRSS, in bytes. It needs Linux.
func memoryOf(pid int, line string) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	_, rest, _ := strings.Cut(string(raw), line+":")
	fields := strings.Fields(rest)
	if len(fields) < 2 || fields[1] != "kB" {
		return 0, fmt.Errorf("memory of process %d: there is no %s", pid, line)
	}
	n, err := strconv.Atoi(fields[0])
	return float64(n) * 1024, err
}

// A folder is what is in one, and what its files take on the disk.
type folder struct{ objects, bytes, blocks float64 }

func folderOf(path string) (f folder, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreGone(err)
		}
		f.objects++
		f.bytes += float64(info.Size())
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			f.blocks += 512 * float64(stat.Blocks)
		}
		return nil
	})
	return f, err
}

// ignoreGone takes a file that was deleted meanwhile for none.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// wake measures how long agents that the worker has forgotten take from the call of Followup until the model is asked, and how
// long the same ones take right after that.
func (b *bench) wake(ctx context.Context, x *crowded) error {
	var cold, warm []time.Duration
	for n := range x.most {
		if !x.sleeps(n) {
			continue
		}
		for i, took := range []*[]time.Duration{&cold, &warm} {
			d, err := x.wake(ctx, n, i)
			if err != nil {
				return err
			}
			*took = append(*took, d)
		}
	}
	b.add(fmt.Sprintf("wake of %d agents, not in memory, until the model is asked, p50", len(cold)), millis(quantile(cold, 0.5)), "ms")
	b.atMost("  p95", millis(quantile(cold, 0.95)), "ms", coldWake)
	b.add("  in memory, p50", millis(quantile(warm, 0.5)), "ms")
	b.add("  p95", millis(quantile(warm, 0.95)), "ms")
	return nil
}

func (x *crowded) wake(ctx context.Context, n, again int) (time.Duration, error) {
	a, err := x.agents.Get(ctx, idleID(n))
	if err != nil {
		return 0, err
	}
	of := fmt.Sprintf("%s/%d", a.ID(), again)
	begin := time.Now()
	if _, err := a.Followup(ctx, agents.Text(speech{Tokens: 1, Of: of}.asked())); err != nil {
		return 0, err
	}
	h, err := x.voice.wait(ctx, of, 1, asked)
	if err != nil {
		return 0, err
	}
	return h.asked.Sub(begin), a.WhenIdle(ctx)
}
