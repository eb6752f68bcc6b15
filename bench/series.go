package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A series is how long things took, and what CPU time this process and the server used meanwhile.
type series struct {
	took        []time.Duration
	own, server time.Duration
}

// run makes some turns.
func (x *series) run(ctx context.Context, s *site, t turner, n int) error {
	own, server, err := s.cpu()
	if err != nil {
		return err
	}
	for range n {
		begin := time.Now()
		if err := t.turn(ctx); err != nil {
			return err
		}
		x.took = append(x.took, time.Since(begin))
	}
	ownNow, serverNow, err := s.cpu()
	x.own, x.server = x.own+ownNow-own, x.server+serverNow-server
	return err
}

func (x *series) n() float64 { return float64(len(x.took)) }

// quantile is the smallest value that is not less than a part q of all.
func (x *series) quantile(q float64) time.Duration { return quantile(x.took, q) }

func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// cpu is the CPU time that this process and the server have used.
func (s *site) cpu() (own, server time.Duration, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, fmt.Errorf("own CPU time: %w", err)
	}
	server, err = cpuOf(s.server.PID)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), server, err
}

// tick is the unit of CPU times in /proc.
const tick = 10 * time.Millisecond

// cpuOf reads the CPU time of another process. It needs Linux.
func cpuOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("CPU time of process %d: %q is not understood", pid, raw)
	}
	user, errUser := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	if errUser != nil || errSystem != nil {
		return 0, fmt.Errorf("CPU time of process %d: %q is not understood", pid, raw)
	}
	return time.Duration(user+system) * tick, nil
}
