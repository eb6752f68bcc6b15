package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/everturn/everturn/agents"
)

// streamers is how many agents answer at a time, in each profile.
const streamers = 4

// saturated has agents of both profiles answer while other processes keep every core busy. A worker that is slow is not dead:
// no activity may be given up.
func (b *bench) saturated(ctx context.Context) error {
	s, err := b.open(ctx, plan{file: true, voice: true, away: true})
	if err != nil {
		return err
	}
	defer s.close()
	for _, c := range cares {
		h, err := s.worker(orders{Queue: c.name, Profile: c.profile})
		if err != nil {
			return err
		}
		defer h.dismiss()
	}
	for range runtime.NumCPU() {
		h, err := hire(orders{Spin: true})
		if err != nil {
			return err
		}
		defer h.dismiss()
	}
	idle, all, err := ticks()
	if err != nil {
		return err
	}
	p := make([]patience, len(cares)*streamers)
	err = beside(len(p), func(i int) error {
		return p[i].stream(ctx, s, cares[i%len(cares)], i, b.saturate)
	})
	if err != nil {
		return err
	}
	idleNow, allNow, err := ticks()
	if err != nil {
		return err
	}
	b.atLeast(fmt.Sprintf("%s with every core busy", b.saturate), 100*(1-float64(idleNow-idle)/float64(allNow-all)), "%", 95)
	for k, c := range cares {
		var sum patience
		for i := k; i < len(p); i += len(cares) {
			sum.answers, sum.lost, sum.late = sum.answers+p[i].answers, sum.lost+p[i].lost, sum.late+p[i].late
		}
		b.add(fmt.Sprintf("  answers of %d agents, %s", streamers, c.name), float64(sum.answers), "")
		b.atMost("    attempts lost", float64(sum.lost), "", 0)
		b.add("    workflow tasks that came too late", float64(sum.late), "")
	}
	return nil
}

// A patience is how long an agent was borne with.
type patience struct {
	answers int
	lost    int // executions of activities that were given up
	late    int // workflow tasks that were given up
}

// stream has an agent answer again and again, a minute long if there is time for it.
func (p *patience) stream(ctx context.Context, s *site, c care, i int, long time.Duration) error {
	callers, err := s.callers(c.name)
	if err != nil {
		return err
	}
	a, err := callers.Create(ctx, agents.CreateOptions{ID: fmt.Sprintf("saturated-%d", i), Definition: speaking})
	if err != nil {
		return err
	}
	tokens := int(min(long/4, time.Minute) / tokenEvery)
	for end := time.Now().Add(long); time.Now().Before(end); p.answers++ {
		if err := speak(ctx, a, tokens); err != nil {
			return err
		}
	}
	return everyEvent(ctx, s.sdk, a.ID(), p.count)
}

func (p *patience) count(e *historypb.HistoryEvent) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED: // written when it has ended
		p.lost += int(e.GetActivityTaskStartedEventAttributes().GetAttempt()) - 1
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		p.lost++
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
		p.late++
	}
}

// ticks reads for how long the cores were idle, and in all, in some unit. It needs Linux.
func ticks() (idle, all int, err error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, fmt.Errorf("times of the cores: %q is not understood", line)
		}
		if i == 3 || i == 4 { // idle, and idle while something is read
			idle += n
		}
		all += n
	}
	return idle, all, nil
}
