package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A trap says what is to happen to the first worker that comes to a point. The points are what [traps.at] is called with:
// those of the activities, such as "chunk", and those of the store, the connection, the gates and the tools of the worker
// of this package, such as "create segments before".
type trap struct {
	Name  string // of its file, among those of a scene
	Point string
	In    string // what the key, session or tool must contain
	Skip  int    // how often each worker passes
	Do    deed
}

// A deed is what a trap does.
type deed string

const (
	die  deed = "kill -9"
	halt deed = "SIGSTOP"
	tear deed = "torn object" // half of the object is written, then the worker dies; only before a create
)

// The folders of a scene in which traps lie, and lie after they sprang.
const (
	trapsSet    = "traps"
	trapsSprung = "sprung"
)

// traps are a worker's view of them.
type traps struct {
	home   string
	mu     sync.Mutex
	passed map[string]int
}

// at is called at a point. It dies, or stands still, if a trap is set; it reports whether the caller is to tear an object.
func (x *traps) at(point, in string) (torn bool) {
	files, err := os.ReadDir(filepath.Join(x.home, trapsSet))
	if err != nil {
		return false
	}
	for _, f := range files {
		if t, ok := x.read(f.Name()); ok && t.Point == point && strings.Contains(in, t.In) && x.due(t) && x.take(t) {
			return x.spring(t)
		}
	}
	return false
}

func (x *traps) read(name string) (t trap, ok bool) {
	raw, err := os.ReadFile(filepath.Join(x.home, trapsSet, name))
	return t, err == nil && json.Unmarshal(raw, &t) == nil
}

// due counts how often a trap was passed.
func (x *traps) due(t trap) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.passed[t.Name]++
	return x.passed[t.Name] > t.Skip
}

// take makes a trap this worker's: of several one gets it.
func (x *traps) take(t trap) bool {
	from := filepath.Join(x.home, trapsSet, t.Name)
	claim := filepath.Join(x.home, fmt.Sprintf("claim-%s-%d", t.Name, os.Getpid()))
	if os.Rename(from, claim) != nil {
		return false
	}
	_ = os.WriteFile(claim, fmt.Append(nil, os.Getpid()), 0o600)
	return os.Rename(claim, filepath.Join(x.home, trapsSprung, t.Name)) == nil
}

func (x *traps) spring(t trap) (torn bool) {
	switch t.Do {
	case halt:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case tear:
		return true
	default:
		suicide()
	}
	return false
}

// suicide is kill -9 of the own process.
func suicide() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// set sets a trap.
func (s *scene) set(t trap) {
	s.t.Helper()
	raw, err := json.Marshal(t)
	require.NoError(s.t, err)
	temp := s.write("trap.tmp", string(raw))
	require.NoError(s.t, os.Rename(temp, s.path(filepath.Join(trapsSet, t.Name))))
}

// sprang waits until a worker came into a trap, and returns it when it is dead or stands still.
func (s *scene) sprang(t trap) *process {
	s.t.Helper()
	until(s.t, "a worker comes to "+t.Point, func() bool { return s.exists(filepath.Join(trapsSprung, t.Name)) })
	raw, err := os.ReadFile(s.path(filepath.Join(trapsSprung, t.Name)))
	require.NoError(s.t, err)
	x := s.withPID(string(raw))
	require.NotNil(s.t, x, "no worker %s", raw)
	until(s.t, "it has happened: "+string(t.Do), func() bool { return x.gone() || t.Do == halt && x.stands(s.t) })
	return x
}

// disarm takes a trap away into which nobody came; it reports false if somebody did.
func (s *scene) disarm(t trap) bool {
	s.t.Helper()
	err := os.Remove(s.path(filepath.Join(trapsSet, t.Name)))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(s.t, err)
	}
	return err == nil
}

// stands reports whether a process is stopped.
func (x *process) stands(t *testing.T) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", x.cmd.Process.Pid))
	if err != nil {
		return false
	}
	_, rest, found := strings.Cut(string(raw), ") ")
	require.True(t, found)
	return strings.HasPrefix(rest, "T")
}

func (s *scene) withPID(pid string) *process {
	for _, x := range s.workers {
		if fmt.Sprint(x.cmd.Process.Pid) == pid {
			return x
		}
	}
	return nil
}
