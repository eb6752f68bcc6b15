package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"

	sdk "go.temporal.io/sdk/worker"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/worker"
)

// beHand makes this program a hand: it holds its [orders], as JSON.
const beHand = "EVERTURN_BENCH_HAND"

// Orders say what a process of its own does for a measurement: it is a worker, or it only keeps a core busy.
type orders struct {
	Spin    bool
	Server  string
	Queue   string
	Store   string
	Sync    string
	Voice   string // URL
	Profile worker.Profile
	Cache   int // workflows in memory; 0 is the SDK's default
}

// A hand is such a process. It ends with this one.
type hand struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// hire starts a hand and waits until it works. Dismiss it in the end.
func hire(o orders) (*hand, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	h := &hand{cmd: exec.Command(self)}
	h.cmd.Env, h.cmd.Stderr = append(os.Environ(), beHand+"="+string(raw)), os.Stderr
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process for a worker: %w", err)
	}
	if err := h.answered(); err != nil {
		h.dismiss()
		return nil, err
	}
	return h, nil
}

// worker starts a worker of the site in a process of its own.
func (s *site) worker(o orders) (*hand, error) {
	o.Server, o.Store, o.Sync = s.server.Address, s.folder(), s.sync
	if s.voice != nil {
		o.Voice = s.voice.url
	}
	return hire(o)
}

func (h *hand) answered() error {
	if _, err := h.out.ReadString('\n'); err != nil {
		return errors.New("the process of a worker ended")
	}
	return nil
}

// tidy has the process give back to the system what memory it does not use.
func (h *hand) tidy() error {
	if _, err := fmt.Fprintln(h.in, "tidy"); err != nil {
		return err
	}
	return h.answered()
}

// dismiss kills the process, as kill -9 does.
func (h *hand) dismiss() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// serve is the program of a hand.
func serve(raw string) error {
	var o orders
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	if o.Spin {
		go func() {
			for {
				runtime.KeepAlive(o)
			}
		}()
	} else if err := o.work(context.Background()); err != nil {
		return err
	}
	fmt.Println("at work")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		debug.FreeOSMemory()
		fmt.Println("tidy")
	}
	return lines.Err() // whoever started this process has ended
}

// work starts the worker of a hand.
func (o orders) work(ctx context.Context) error {
	if o.Cache > 0 {
		sdk.SetStickyWorkflowCacheSize(o.Cache)
	}
	c, err := dial(o.Server)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, o.Store, store.Options{Sync: o.Sync})
	if err != nil {
		return err
	}
	models, err := providers(nil, o.Voice, &ear{})
	if err != nil {
		return err
	}
	w, err := worker.New(ctx, worker.Config{Client: c, TaskQueue: o.Queue, Store: s, Profile: o.Profile,
		Providers: models, Definitions: definitions(), Options: pollsOf()})
	if err != nil {
		return err
	}
	return w.Start()
}
